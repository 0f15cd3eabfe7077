// Single pictures: PNG and JPEG out. (In, they are a Source like any other; see Source::still.)
#pragma once

#include <string>

#include "media/ffmpeg.h"
#include "media/file_io.h"
#include "media/video_format.h"

namespace saccade::media {

enum class StillKind : std::uint8_t { png, jpeg };

/// The picture format that a file name asks for, by its extension. False if it is none.
bool parse_still(const std::string& file_name, StillKind& kind);

/// The pixel format to hand to `write_still` for a picture of that format, keeping depth, grey and (PNG)
/// alpha where possible.
AVPixelFormat still_format(StillKind kind, AVPixelFormat wanted, bool alpha);

/// Writes one picture (pixel format from still_format; for JPEG full range). `quality` is JPEG's, 1..100.
/// Throws Error(media | io).
void write_still(OutputFile& file, StillKind kind, const AVFrame& frame, int quality);

}  // namespace saccade::media
