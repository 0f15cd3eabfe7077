#include "media/video_format.h"

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <cstring>

namespace saccade::media {

namespace {

/// FFmpeg's matrix maps stored (x, y) to displayed (a x + c y, b x + d y), y downwards, in 16.16 fixed point.
struct Turn {
  int a, b, c, d;
  Orientation orientation;
};
constexpr Turn kTurns[] = {
    {1, 0, 0, 1, Orientation::upright},          {0, 1, -1, 0, Orientation::clockwise_90},
    {-1, 0, 0, -1, Orientation::half_turn},      {0, -1, 1, 0, Orientation::clockwise_270},
    {-1, 0, 0, 1, Orientation::flip_horizontal}, {1, 0, 0, -1, Orientation::flip_vertical},
    {0, 1, 1, 0, Orientation::transpose},        {0, -1, -1, 0, Orientation::transverse},
};

int sign(std::int32_t v) { return (v > 0) - (v < 0); }

std::optional<std::array<std::int32_t, 9>> matrix_from(const void* data, std::size_t size) {
  if (data == nullptr || size < 9 * sizeof(std::int32_t)) return std::nullopt;
  std::array<std::int32_t, 9> matrix{};
  std::memcpy(matrix.data(), data, sizeof(matrix));
  return matrix;
}

/// What the picture says, else what the container says.
template <class T>
std::optional<T> side_data(const AVFrame& frame, AVFrameSideDataType of_frame, const AVStream& stream,
                           AVPacketSideDataType of_stream) {
  T value{};
  if (const AVFrameSideData* side = av_frame_get_side_data(&frame, of_frame);
      side != nullptr && side->size >= sizeof(T)) {
    std::memcpy(&value, side->data, sizeof(T));
    return value;
  }
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, of_stream, &size);
  if (data == nullptr || size < sizeof(T)) return std::nullopt;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

/// What FFmpeg passes on may be any number that a file holds, also one that the enumeration does not have:
/// then nothing is said.
template <class T>
T known(const T& told, T end, T unspecified) {
  int number = 0;
  static_assert(sizeof(T) == sizeof(number));
  std::memcpy(&number, &told, sizeof(number));
  return number >= 0 && number < static_cast<int>(end) ? static_cast<T>(number) : unspecified;
}

/// `primary` unless it is `unspecified`; `end`: the number of values.
template <class T>
T either(const T& primary, const T& fallback, T end, T unspecified) {
  const T first = known(primary, end, unspecified);
  return first != unspecified ? first : known(fallback, end, unspecified);
}

/// Codecs of pictures in files, not of video.
constexpr AVCodecID kPictureCodecs[] = {
    AV_CODEC_ID_PNG,      AV_CODEC_ID_APNG,      AV_CODEC_ID_BMP,         AV_CODEC_ID_TIFF,
    AV_CODEC_ID_PGM,      AV_CODEC_ID_PPM,       AV_CODEC_ID_PBM,         AV_CODEC_ID_PAM,
    AV_CODEC_ID_PFM,      AV_CODEC_ID_PHM,       AV_CODEC_ID_DPX,         AV_CODEC_ID_EXR,
    AV_CODEC_ID_SGI,      AV_CODEC_ID_TARGA,     AV_CODEC_ID_PCX,         AV_CODEC_ID_SUNRAST,
    AV_CODEC_ID_JPEG2000, AV_CODEC_ID_JPEGLS,    AV_CODEC_ID_LJPEG,       AV_CODEC_ID_MJPEG,
    AV_CODEC_ID_PSD,      AV_CODEC_ID_FITS,      AV_CODEC_ID_XWD,         AV_CODEC_ID_XBM,
    AV_CODEC_ID_XPM,      AV_CODEC_ID_XFACE,     AV_CODEC_ID_PICTOR,      AV_CODEC_ID_TARGA_Y216,
    AV_CODEC_ID_QOI,      AV_CODEC_ID_ALIAS_PIX, AV_CODEC_ID_BRENDER_PIX, AV_CODEC_ID_GEM,
    AV_CODEC_ID_CRI,      AV_CODEC_ID_PHOTOCD,   AV_CODEC_ID_GIF};

/// The range of samples that nothing says it of: grey of pictures is full. YUV of theirs may be either (TIFF,
/// WebP).
AVColorRange usual_range(AVCodecID codec, AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  const bool picture =
      std::find(std::begin(kPictureCodecs), std::end(kPictureCodecs), codec) != std::end(kPictureCodecs);
  return picture && d != nullptr && d->nb_components < 3 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
}

}  // namespace

Orientation orientation_of(const std::array<std::int32_t, 9>& m) noexcept {
  constexpr std::int32_t kOne = 1 << 16, kTolerance = 1 << 8;
  const std::int32_t linear[4] = {m[0], m[1], m[3], m[4]};
  int rounded[4];
  for (int i = 0; i < 4; ++i) {
    const std::int64_t size = std::abs(static_cast<std::int64_t>(linear[i]));
    if (size > kTolerance && std::abs(size - kOne) > kTolerance) return Orientation::other;
    rounded[i] = size > kTolerance ? sign(linear[i]) : 0;
  }
  for (const Turn& turn : kTurns) {
    if (turn.a == rounded[0] && turn.b == rounded[1] && turn.c == rounded[2] && turn.d == rounded[3])
      return turn.orientation;
  }
  return Orientation::other;
}

AVPixelFormat without_jpeg_disguise(AVPixelFormat format, AVColorRange& range) noexcept {
  AVPixelFormat plain = format;
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      plain = AV_PIX_FMT_YUV420P;
      break;
    case AV_PIX_FMT_YUVJ422P:
      plain = AV_PIX_FMT_YUV422P;
      break;
    case AV_PIX_FMT_YUVJ444P:
      plain = AV_PIX_FMT_YUV444P;
      break;
    case AV_PIX_FMT_YUVJ440P:
      plain = AV_PIX_FMT_YUV440P;
      break;
    case AV_PIX_FMT_YUVJ411P:
      plain = AV_PIX_FMT_YUV411P;
      break;
    default:
      return format;
  }
  range = AVCOL_RANGE_JPEG;
  return plain;
}

AVPixelFormat without_palette(const AVFrame& picture) noexcept {
  const auto format = static_cast<AVPixelFormat>(picture.format);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr || (d->flags & AV_PIX_FMT_FLAG_PAL) == 0) return format;
  const std::uint8_t* colors = picture.data[1];
  for (int i = 0; colors != nullptr && i < AVPALETTE_COUNT; ++i) {
    std::uint32_t argb = 0;
    std::memcpy(&argb, colors + 4 * i, sizeof(argb));
    if ((argb >> 24) != 0xff) return AV_PIX_FMT_RGBA;
  }
  return AV_PIX_FMT_RGB24;
}

VideoFormat describe_video(AVFormatContext& input, const AVStream& stream, const AVFrame& first) {
  const AVCodecParameters& declared = *stream.codecpar;
  VideoFormat format;
  format.width = first.width;
  format.height = first.height;
  format.range = either(first.color_range, declared.color_range, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED);
  format.pixel_format = without_jpeg_disguise(static_cast<AVPixelFormat>(first.format), format.range);
  if (format.range == AVCOL_RANGE_UNSPECIFIED)
    format.range = usual_range(declared.codec_id, format.pixel_format);
  format.matrix = either(first.colorspace, declared.color_space, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED);
  format.primaries =
      either(first.color_primaries, declared.color_primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED);
  format.transfer = either(first.color_trc, declared.color_trc, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED);
  format.chroma_location =
      either(first.chroma_location, declared.chroma_location, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED);
  // The container's aspect wins over the codec's, as players do it.
  format.sample_aspect =
      av_guess_sample_aspect_ratio(&input, const_cast<AVStream*>(&stream), const_cast<AVFrame*>(&first));
  if (format.sample_aspect.num <= 0 || format.sample_aspect.den <= 0) format.sample_aspect = {0, 1};
  format.frame_rate = av_guess_frame_rate(&input, const_cast<AVStream*>(&stream), nullptr);
  format.time_base = stream.time_base;
  if (first.interlaced_frame != 0) {
    // The head of the stream wins over a picture: encoders get the latter wrong more easily.
    const bool told = declared.field_order == AV_FIELD_TT || declared.field_order == AV_FIELD_BB;
    format.field_order = told ? declared.field_order : first.top_field_first != 0 ? AV_FIELD_TT : AV_FIELD_BB;
  } else {
    format.field_order = AV_FIELD_PROGRESSIVE;
  }
  format.mastering = side_data<AVMasteringDisplayMetadata>(first, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
                                                           stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA);
  format.light = side_data<AVContentLightMetadata>(first, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, stream,
                                                   AV_PKT_DATA_CONTENT_LIGHT_LEVEL);
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  format.display_matrix = matrix_from(data, size);
  if (!format.display_matrix) {  // pictures carry it on the frame (EXIF), H.264 and HEVC may too
    if (const AVFrameSideData* side = av_frame_get_side_data(&first, AV_FRAME_DATA_DISPLAYMATRIX);
        side != nullptr) {
      format.display_matrix = matrix_from(side->data, side->size);
    }
  }
  if (format.display_matrix && orientation_of(*format.display_matrix) == Orientation::upright)
    format.display_matrix.reset();
  return format;
}

}  // namespace saccade::media
