// A folder for results that may be new.
#pragma once

#include <filesystem>
#include <vector>

namespace saccade::cli {

/// Makes a folder and those that lead to it; what it made goes again at its end where nothing lies in it.
class MadeFolder {
 public:
  MadeFolder() = default;
  /// Throws Error(io).
  explicit MadeFolder(const std::filesystem::path& folder);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  ///< the innermost first
};

}  // namespace saccade::cli
