// Many files that appear together: pictures of a video, one by one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "media/file_io.h"

namespace saccade::media {

/// Where numbered files go: "FOLDER/STEM_000001.EXT" for a folder, or a pattern with one "%d" or "%0Nd" in
/// the name of the file. Numbers start at 1.
struct FilePattern {
  std::filesystem::path folder;
  std::string before, after;  ///< of the number, in the file's name
  int digits = 6;             ///< at least, filled with zeros

  std::string name(std::int64_t number) const;
  bool matches(const std::string& name) const;
};
/// Throws Error(invalid_argument) for a name without exactly one number, or with one in a folder's name.
FilePattern parse_pattern(const std::filesystem::path& pattern);

/// Files are written into a hidden folder beside (for a new folder) or inside the target; commit() moves them
/// to their names. Without commit() nothing remains. Not thread-safe.
class OutputFolder {
 public:
  /// Throws Error(invalid_argument) if the folder exists, is not empty and `overwrite` is not set; Error(io)
  /// if it cannot be made.
  OutputFolder(FilePattern pattern, OutputFileOptions options);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Throws as the constructor does, without touching anything.
  static void require_free(const FilePattern& pattern, const OutputFileOptions& options);

  /// Throws Error(io).
  void write(std::int64_t number, std::string_view content);
  std::int64_t bytes_written() const noexcept { return written_; }
  /// Throws Error(io), or Error(invalid_argument) if a file of that name is there and may not be replaced.
  void commit();
  /// After commit(): how many files with names of the pattern were there before and stay, as they have
  /// numbers that this output does not.
  std::int64_t older_files() const;
  /// Names of the pattern, for messages: "in/clip_*.png".
  std::string names() const;
  /// The files so far as they are, in "FOLDER.partial"; returns that name.
  std::filesystem::path commit_partial();

 private:
  void move_into(const std::filesystem::path& folder);
  bool is_protected(const std::filesystem::path& file) const;

  FilePattern pattern_;
  OutputFileOptions options_;
  bool fresh_ = false;  ///< the folder did not exist
  std::filesystem::path temporary_;
  std::shared_ptr<const int> lock_;  ///< descriptor of `temporary_`, which is locked as long as it is open
  std::vector<std::string> names_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> protected_;  ///< device and inode: there may be many
  std::int64_t written_ = 0;
};

}  // namespace saccade::media
