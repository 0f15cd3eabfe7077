// Single pictures: PNG, JPEG, WebP and TIFF out. (In, they are a Source like any other; see Source::still.)
#pragma once

#include <string>

#include "media/ffmpeg.h"
#include "media/file_io.h"
#include "media/video_format.h"

namespace saccade::media {

enum class StillKind : std::uint8_t { png, jpeg, webp, tiff };
const char* still_name(StillKind kind) noexcept;
/// By extension or name ("jpg", "tiff"), in any case. False if it is none.
bool parse_still_name(const std::string& name, StillKind& kind);
/// Whether pictures of this kind can be transparent: all but JPEG.
bool carries_alpha(StillKind kind) noexcept;

/// The picture format that a file name asks for, by its extension. False if it is none.
bool parse_still(const std::string& file_name, StillKind& kind);

/// The pixel format to hand to `write_still` for a picture of that format, keeping depth, grey and (PNG)
/// alpha where possible.
AVPixelFormat still_format(StillKind kind, AVPixelFormat wanted, bool alpha);

/// The bytes of a file with this picture (pixel format from still_format, or a grey one for PNG and TIFF:
/// monob, gray, gray16; for JPEG full range). `quality` is that of JPEG and WebP, 1..100; 100 makes WebP
/// lossless. Throws Error(media). Thread-safe.
PacketPtr encode_still(StillKind kind, const AVFrame& frame, int quality);

/// Writes one picture. Throws Error(media | io).
void write_still(OutputFile& file, StillKind kind, const AVFrame& frame, int quality);

}  // namespace saccade::media
