// Containers whose headers make FFmpeg take memory for as much as they claim, told by a few bytes as they are
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace saccade::media {

/// Texts in RIFF files (AVI, WAV), lists of key frames in FLV files, indices in MXF files.
class ClaimWatch {
 public:
  /// Reads up to so many bytes from a place in the file; fewer at its end.
  using ReadAt = std::function<std::size_t(std::int64_t offset, std::span<std::byte> bytes)>;

  /// `size` is the file's, -1 for a pipe, for which `read_at` is not called.
  ClaimWatch(std::int64_t size, ReadAt read_at) : size_(size), read_at_(std::move(read_at)) {}

  /// Bytes that were read from a place. Returns what they claim that cannot be, or "".
  std::string look(std::int64_t at, std::span<const std::byte> bytes);

 private:
  enum class Kind { unknown, none, riff, flv, mxf };
  void recognise(std::span<const std::byte> bytes);
  std::string search(std::int64_t at, std::span<const std::byte> bytes) const;
  std::string check(std::int64_t at, std::span<const std::byte> found) const;
  std::string check_mxf(std::span<const std::byte> segment) const;

  std::int64_t size_;
  ReadAt read_at_;
  Kind kind_ = Kind::unknown;
  std::int64_t tail_end_ = -1;   ///< where the last bytes ended
  std::vector<std::byte> tail_;  ///< the last of them
};

}  // namespace saccade::media
