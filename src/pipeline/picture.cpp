#include "pipeline/picture.h"

#include <array>

namespace saccade::pipeline {

namespace {

using vision::PixelFormat;

struct Pair {
  AVPixelFormat ffmpeg;
  PixelFormat vision;
};
constexpr Pair kFormats[] = {
    {AV_PIX_FMT_GRAY8, PixelFormat::gray8},
    {AV_PIX_FMT_GRAY10LE, PixelFormat::gray10},
    {AV_PIX_FMT_GRAY12LE, PixelFormat::gray12},
    {AV_PIX_FMT_RGB24, PixelFormat::rgb24},
    {AV_PIX_FMT_BGR24, PixelFormat::bgr24},
    {AV_PIX_FMT_RGBA, PixelFormat::rgba},
    {AV_PIX_FMT_BGRA, PixelFormat::bgra},
    {AV_PIX_FMT_GBRP, PixelFormat::gbrp},
    {AV_PIX_FMT_GBRAP, PixelFormat::gbrap},
    {AV_PIX_FMT_YUV420P, PixelFormat::yuv420p},
    {AV_PIX_FMT_YUV422P, PixelFormat::yuv422p},
    {AV_PIX_FMT_YUV444P, PixelFormat::yuv444p},
    {AV_PIX_FMT_NV12, PixelFormat::nv12},
    {AV_PIX_FMT_YUV420P10LE, PixelFormat::yuv420p10},
    {AV_PIX_FMT_YUV422P10LE, PixelFormat::yuv422p10},
    {AV_PIX_FMT_YUV444P10LE, PixelFormat::yuv444p10},
    {AV_PIX_FMT_YUV420P12LE, PixelFormat::yuv420p12},
    {AV_PIX_FMT_YUV422P12LE, PixelFormat::yuv422p12},
    {AV_PIX_FMT_YUV444P12LE, PixelFormat::yuv444p12},
    {AV_PIX_FMT_YUVA420P, PixelFormat::yuva420p},
    {AV_PIX_FMT_YUVA422P, PixelFormat::yuva422p},
    {AV_PIX_FMT_YUVA444P, PixelFormat::yuva444p},
    {AV_PIX_FMT_YUVA420P10LE, PixelFormat::yuva420p10},
    {AV_PIX_FMT_YUVA422P10LE, PixelFormat::yuva422p10},
    {AV_PIX_FMT_YUVA444P10LE, PixelFormat::yuva444p10},
};
constexpr std::size_t kCount = std::size(kFormats);
static_assert(kCount == static_cast<std::size_t>(vision::kPixelFormatCount));

constexpr std::array<AVPixelFormat, kCount> kSupported = [] {
  std::array<AVPixelFormat, kCount> list{};
  for (std::size_t i = 0; i < kCount; ++i) list[i] = kFormats[i].ffmpeg;
  return list;
}();

constexpr int kHdWidth = 1280, kSdHeight = 576;

bool is_high_definition(const media::VideoFormat& format) {
  return format.width >= kHdWidth || format.height > kSdHeight;
}

const char* matrix_name(vision::Matrix matrix) {
  switch (matrix) {
    case vision::Matrix::bt601:
      return "BT.601";
    case vision::Matrix::bt709:
      return "BT.709";
    case vision::Matrix::bt2020nc:
      return "BT.2020";
    case vision::Matrix::smpte240m:
      return "SMPTE 240M";
    case vision::Matrix::fcc:
      return "FCC";
  }
  return "?";
}

template <class View, class Frame>
View make_view(Frame& frame, const vision::PictureSpec& spec) {
  View view;
  view.format = spec.format;
  view.width = frame.width;
  view.height = frame.height;
  for (std::size_t p = 0; p < 4; ++p) {
    view.planes[p] = frame.data[p];
    view.strides[p] = frame.linesize[p];
  }
  view.color = spec.color;
  return view;
}

}  // namespace

std::span<const AVPixelFormat> supported_formats() noexcept { return kSupported; }

PixelFormat to_vision(AVPixelFormat format) {
  for (const Pair& pair : kFormats) {
    if (pair.ffmpeg == format) return pair.vision;
  }
  const char* name = av_get_pix_fmt_name(format);
  throw Error(ErrorCode::internal,
              std::string("no effect works on pixel format ") + (name != nullptr ? name : "?"));
}

AVPixelFormat to_ffmpeg(PixelFormat format) {
  for (const Pair& pair : kFormats) {
    if (pair.vision == format) return pair.ffmpeg;
  }
  throw Error(ErrorCode::internal, "unknown pixel format");
}

vision::ColorSpec color_of(const media::VideoFormat& format) {
  vision::ColorSpec color;
  switch (format.matrix) {
    case AVCOL_SPC_BT709:
      color.matrix = vision::Matrix::bt709;
      break;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      color.matrix = vision::Matrix::bt601;
      break;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      color.matrix = vision::Matrix::bt2020nc;
      break;
    case AVCOL_SPC_SMPTE240M:
      color.matrix = vision::Matrix::smpte240m;
      break;
    case AVCOL_SPC_FCC:
      color.matrix = vision::Matrix::fcc;
      break;
    default:
      color.matrix = is_high_definition(format) ? vision::Matrix::bt709 : vision::Matrix::bt601;
  }
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format.pixel_format);
  const bool rgb = d != nullptr && (d->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  color.range = format.range == AVCOL_RANGE_JPEG || rgb ? vision::Range::full : vision::Range::limited;
  switch (format.chroma_location) {
    case AVCHROMA_LOC_CENTER:
      color.chroma = vision::ChromaLocation::center;
      break;
    case AVCHROMA_LOC_TOPLEFT:
      color.chroma = vision::ChromaLocation::top_left;
      break;
    case AVCHROMA_LOC_TOP:
      color.chroma = vision::ChromaLocation::top;
      break;
    case AVCHROMA_LOC_BOTTOMLEFT:
      color.chroma = vision::ChromaLocation::bottom_left;
      break;
    case AVCHROMA_LOC_BOTTOM:
      color.chroma = vision::ChromaLocation::bottom;
      break;
    default:
      color.chroma = vision::ChromaLocation::left;
  }
  return color;
}

namespace {

vision::ColorModel model_of(const media::VideoFormat& format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format.pixel_format);
  if (d == nullptr) return vision::ColorModel::yuv;
  if ((d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) return vision::ColorModel::rgb;
  return d->nb_components < 3 ? vision::ColorModel::gray : vision::ColorModel::yuv;
}

}  // namespace

media::VideoFormat format_of_later(const media::VideoFormat& first, const AVFrame& picture) {
  media::VideoFormat later = first;
  later.width = picture.width;
  later.height = picture.height;
  if (picture.color_range != AVCOL_RANGE_UNSPECIFIED) later.range = picture.color_range;
  if (picture.colorspace != AVCOL_SPC_UNSPECIFIED) later.matrix = picture.colorspace;
  later.pixel_format = media::without_jpeg_disguise(static_cast<AVPixelFormat>(picture.format), later.range);
  return later;
}

bool same_colors(const media::VideoFormat& first, const media::VideoFormat& later) {
  const vision::ColorModel model = model_of(later);
  if (model != model_of(first) || model == vision::ColorModel::rgb) return true;  // of other samples at most
  media::VideoFormat same_size = first;
  if (later.range != AVCOL_RANGE_UNSPECIFIED) same_size.range = later.range;
  if (later.matrix != AVCOL_SPC_UNSPECIFIED) same_size.matrix = later.matrix;
  const vision::ColorSpec before = color_of(first), now = color_of(same_size);
  return now.range == before.range && (model == vision::ColorModel::gray || now.matrix == before.matrix);
}

AVColorSpace matrix_of(const media::VideoFormat& format) {
  if (model_of(format) == vision::ColorModel::rgb) return AVCOL_SPC_RGB;
  switch (color_of(format).matrix) {
    case vision::Matrix::bt709:
      return AVCOL_SPC_BT709;
    case vision::Matrix::bt2020nc:
      return AVCOL_SPC_BT2020_NCL;
    case vision::Matrix::smpte240m:
      return AVCOL_SPC_SMPTE240M;
    case vision::Matrix::fcc:
      return AVCOL_SPC_FCC;
    case vision::Matrix::bt601:
      break;
  }
  return AVCOL_SPC_SMPTE170M;
}

vision::Rotation rotation_of(const media::VideoFormat& format) {
  if (!format.display_matrix) return vision::Rotation::none;
  switch (media::orientation_of(*format.display_matrix)) {
    case media::Orientation::clockwise_90:
      return vision::Rotation::clockwise_90;
    case media::Orientation::half_turn:
      return vision::Rotation::half_turn;
    case media::Orientation::clockwise_270:
      return vision::Rotation::clockwise_270;
    case media::Orientation::flip_horizontal:
      return vision::Rotation::flip_horizontal;
    case media::Orientation::flip_vertical:
      return vision::Rotation::flip_vertical;
    case media::Orientation::transpose:
      return vision::Rotation::transpose;
    case media::Orientation::transverse:
      return vision::Rotation::transverse;
    default:
      return vision::Rotation::none;
  }
}

vision::PictureSpec picture_spec(const media::VideoFormat& format) {
  vision::PictureSpec spec;
  spec.format = to_vision(format.pixel_format);
  spec.width = format.width;
  spec.height = format.height;
  spec.color = color_of(format);
  spec.rotation = rotation_of(format);
  spec.pixel_aspect =
      format.sample_aspect.num > 0 && format.sample_aspect.den > 0 ? av_q2d(format.sample_aspect) : 1.0;
  return spec;
}

std::string describe_color(const media::VideoFormat& format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format.pixel_format);
  if (d != nullptr && (d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) return "RGB";
  const vision::ColorSpec color = color_of(format);
  std::string text = matrix_name(color.matrix);
  if (format.matrix == AVCOL_SPC_UNSPECIFIED) text += " (assumed from the size: the input does not say)";
  text += color.range == vision::Range::full ? ", full range" : ", limited range";
  if (format.range == AVCOL_RANGE_UNSPECIFIED) text += " (assumed)";
  return text;
}

vision::ConstPictureView view_of(const AVFrame& frame, const vision::PictureSpec& spec) {
  return make_view<vision::ConstPictureView>(frame, spec);
}

vision::PictureView writable_view_of(AVFrame& frame, const vision::PictureSpec& spec) {
  return make_view<vision::PictureView>(frame, spec);
}

}  // namespace saccade::pipeline
