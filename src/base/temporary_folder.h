// A folder for what is only needed for a while.
#pragma once

#include <filesystem>
#include <string_view>

namespace saccade {

/// A new folder with a name of its own, for this user alone; it goes with its owner, and all that is in it.
class TemporaryFolder {
 public:
  /// `parent`/`stem` and six letters more. Throws Error(io).
  TemporaryFolder(const std::filesystem::path& parent, std::string_view stem);
  /// In the system's folder for such things ($TMPDIR).
  explicit TemporaryFolder(std::string_view stem);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace saccade
