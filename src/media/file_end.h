// Files that end before what they hold does, where FFmpeg says nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace saccade::media {

/// Bytes from an offset of a file on: fewer at its end.
using ReadAt = std::function<std::size_t(std::int64_t offset, std::span<std::byte> bytes)>;

/// Bytes that a Matroska or WebM file of this size lacks, as the sizes of its elements say; 0: it is whole,
/// or nothing tells.
std::int64_t missing_matroska_bytes(std::int64_t size, const ReadAt& read_at);

/// Whether a JPEG picture has its end.
bool jpeg_is_whole(std::span<const std::uint8_t> data) noexcept;

}  // namespace saccade::media
