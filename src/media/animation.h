// Animated pictures (GIF, APNG, WebP): what FFmpeg's demuxers keep to themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "media/ffmpeg.h"

namespace saccade::media {

struct Animation {
  int pictures = 0;  ///< at most 2 are counted: one is a still picture
  int plays = 1;     ///< how often it is shown; 0: without end
};
/// Reads the head of a GIF or an APNG; nothing for other files, and for what is no regular file.
std::optional<Animation> read_animation(const std::filesystem::path& path);

/// Whether files of this container are animated pictures.
bool is_animation(const AVOutputFormat& container);

/// How the container's muxer writes `plays`: its option "loop" or "plays". Call before the header.
void set_plays(const AVOutputFormat& container, int plays, Dictionary& options);
/// Makes an animated WebP last so long: the encoder makes up how long its last picture stays.
void set_webp_length(std::span<std::uint8_t> file, std::int64_t milliseconds);
/// How long the last picture stays, in seconds. Call before the trailer; other containers ignore it.
void set_last_delay(AVFormatContext& output, double seconds);

}  // namespace saccade::media
