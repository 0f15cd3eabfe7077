// The orientation that a PNG, WebP or TIFF file's Exif data asks for; FFmpeg reads it of JPEG files only.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace saccade::media {

/// A display matrix as FFmpeg writes them, or nothing: no such file, no tag, or upright.
std::optional<std::array<std::int32_t, 9>> tagged_display_matrix(const std::filesystem::path& path);

/// The value of the tag in Exif data (a TIFF header and its first directory): 1 to 8, or 0 if there is none.
int exif_orientation(const std::uint8_t* data, std::size_t size) noexcept;

}  // namespace saccade::media
