// What a video stream's pictures are: size, samples, colour meaning, orientation and time. Read on the way
// in, written on the way out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "media/ffmpeg.h"

extern "C" {
#include <libavutil/mastering_display_metadata.h>
}

namespace saccade::media {

struct VideoFormat {
  /// Never one of the deprecated "yuvj" forms: those become "yuv" with full range.
  AVPixelFormat pixel_format = AV_PIX_FMT_NONE;
  int width = 0, height = 0;       ///< as stored
  AVRational sample_aspect{0, 1};  ///< 0/1: unknown
  AVRational frame_rate{0, 1};     ///< nominal; for rate control and headers, never for timestamps
  AVRational time_base{1, 1};      ///< of the timestamps
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  AVFieldOrder field_order = AV_FIELD_UNKNOWN;
  std::optional<std::array<std::int32_t, 9>> display_matrix;
  std::optional<AVMasteringDisplayMetadata> mastering;  ///< of the display that HDR was made on
  std::optional<AVContentLightMetadata> light;          ///< how bright its pictures get
};

/// The eight ways a stored picture can be turned for display, angles clockwise; `other` is anything else
/// (shear, odd angle).
enum class Orientation : std::uint8_t {
  upright,
  clockwise_90,
  half_turn,
  clockwise_270,
  flip_horizontal,
  flip_vertical,
  transpose,
  transverse,
  other
};
/// Reads a display matrix; `other` for one that is no multiple of 90 degrees.
Orientation orientation_of(const std::array<std::int32_t, 9>& matrix) noexcept;

/// The format without its "yuvj" disguise; sets `range` to full where it had one.
AVPixelFormat without_jpeg_disguise(AVPixelFormat format, AVColorRange& range) noexcept;

/// A palette holds RGB colours with alpha. `pixel_format` is what such pictures are worth: rgba, or rgb24
/// where every colour of this picture's palette is opaque. Other formats stay.
AVPixelFormat without_palette(const AVFrame& picture) noexcept;

/// Format of the stream's pictures, completed from its first decoded frame (which knows better than the
/// container).
VideoFormat describe_video(AVFormatContext& input, const AVStream& stream, const AVFrame& first);

/// Whether a frame holds two fields, taken at two times, and says so.
inline bool is_interlaced(const VideoFormat& format) noexcept {
  return format.field_order == AV_FIELD_TT || format.field_order == AV_FIELD_BB;
}

}  // namespace saccade::media
