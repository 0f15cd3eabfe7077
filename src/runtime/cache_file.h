// One file of the cache: a key, a head, blocks of bytes, and checksums over all of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/recipe.h"

namespace saccade::runtime {

/// What entries are of: compiled plans, what is known of model files, decisions about precision (which take
/// calibration), and what was found by trying: settings, times of kernels.
enum class CacheKind : std::uint8_t { plan, model, precision, tuning };
/// Of their files.
inline constexpr std::array<std::string_view, 4> kCacheExtensions = {".plan", ".model", ".precision",
                                                                     ".tuning"};
/// Names are so many hexadecimal digits and an extension.
inline constexpr std::size_t kCacheDigits = 32;

/// What was read. A file: magic, length and checksum of the head; the head; from the next page on the blocks,
/// each at a multiple of 64 bytes. The head starts with the key, and sizes and checksums of the blocks.
struct CacheFile {
  std::string key;
  std::vector<std::byte> bytes;               ///< what `head` lies in
  std::span<const std::byte> head;            ///< as it was kept
  std::vector<compiler::PackedBlock> blocks;  ///< large ones in pages of the file

  CacheFile() = default;
  CacheFile(CacheFile&&) = default;
  CacheFile& operator=(CacheFile&&) = default;
};

/// Nothing where there is no such file, where it is damaged, of another format or somebody else's. Every byte
/// has been checked. `mark_used` sets its time.
std::optional<CacheFile> read_cache_file(const std::filesystem::path& path, bool mark_used);

/// The bytes of a file, in pieces that refer to the arguments.
class CacheImage {
 public:
  CacheImage(std::string_view key, std::span<const std::byte> head,
             std::span<const compiler::PackedBlock> blocks);
  CacheImage(const CacheImage&) = delete;
  CacheImage& operator=(const CacheImage&) = delete;
  std::size_t size() const noexcept { return size_; }
  std::span<const std::span<const std::byte>> pieces() const noexcept { return pieces_; }

 private:
  std::vector<std::byte> front_, padding_;
  std::size_t size_ = 0;
  std::vector<std::span<const std::byte>> pieces_;
};

/// What a name in the folder is: an entry, what a process writes or has left unfinished, or nothing of the
/// cache's.
struct CacheName {
  enum class State : std::uint8_t { foreign, entry, unfinished } state = State::foreign;
  CacheKind kind = CacheKind::plan;
};
CacheName cache_name(std::string_view name);

/// Removes an unfinished file whose process is gone.
bool remove_if_abandoned(const std::filesystem::path& path) noexcept;

}  // namespace saccade::runtime
