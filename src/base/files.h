// Files as the rest of the program needs them: whole, mapped, or written beside their target and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace saccade {

/// A file mapped read-only. Copies of the owner keep the mapping alive. Throws Error(not_found | io), also
/// for directories.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
MappedFile map_file(const std::filesystem::path& path);

/// Takes whole pages of a part of a mapping out of this process's memory; what is read again comes from the
/// page cache. `part` must lie in a mapping that map_file made.
void release_pages(std::span<const std::byte> part) noexcept;

/// Whole content as text. Throws like map_file.
std::string read_text(const std::filesystem::path& path);

/// What a chain of links ends at, whether or not that exists.
std::filesystem::path behind_links(std::filesystem::path path);

/// Whether the path is a name of standard output ("-" is one), which may be led into a file.
bool is_standard_output(const std::filesystem::path& path) noexcept;

/// Writes `content` beside `path` (PATH.XXXXXX, locked by flock meanwhile) and renames it there, so that
/// `path` is never half written. A link stays a link: what it points to is replaced. Devices, pipes and
/// standard output are no files: they are written into and stay. Throws Error(not_found | io).
void write_file(const std::filesystem::path& path, std::span<const std::byte> content);
/// The same for content in several pieces, one behind the other.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

/// What changes when a file's content does: where it lies, its size, and the times of the last change of
/// content and of properties, in nanoseconds. The latter cannot be set by programs.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, modified = 0, changed = 0;
  bool operator==(const FileStamp&) const = default;
};
/// Nothing where there is no such regular file.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path) noexcept;

/// A file that something was read from, as it was just before.
struct SourceFile {
  std::filesystem::path path;
  FileStamp stamp;  ///< all zero: there was none
};
SourceFile stamped(std::filesystem::path path);
/// Whether each is still the file it was, in the same place.
bool unchanged(std::span<const SourceFile> sources) noexcept;

/// Whether two paths are one file (device and inode; follows links). False if either does not exist.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Makes a folder and what leads to it; whatever is made is for this user alone. Throws Error(io).
void create_own_directories(const std::filesystem::path& folder);

}  // namespace saccade
