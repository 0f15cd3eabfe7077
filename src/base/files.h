// Files as the rest of the program needs them: whole, mapped, or written beside their target and renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
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

/// Writes `content` beside `path` and renames it there, so that `path` is never half written. Throws
/// Error(io).
void write_file(const std::filesystem::path& path, std::span<const std::byte> content);

/// Whether two paths are one file (device and inode; follows links). False if either does not exist.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Where caches go: $SACCADE_CACHE_DIR, else $XDG_CACHE_HOME/saccade, else ~/.cache/saccade. Not created.
std::filesystem::path cache_directory();

}  // namespace saccade
