// Pages of a TIFF file: FFmpeg reads the first.
#pragma once

#include <cstdint>
#include <span>

namespace saccade::media {

/// How many there are, small versions of others (thumbnails) left aside; 1 for what is no TIFF.
int count_tiff_pages(std::span<const std::uint8_t> file) noexcept;

}  // namespace saccade::media
