#include "media/convert.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace saccade::media {

namespace {

constexpr int kAlign = 64;

int coefficients(AVColorSpace matrix, int height) {
  switch (matrix) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return SWS_CS_ITU601;
    default:
      return height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601;
  }
}

bool is_rgb(AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  return d != nullptr && (d->flags & AV_PIX_FMT_FLAG_RGB) != 0;
}

bool has_palette(AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  return d != nullptr && (d->flags & AV_PIX_FMT_FLAG_PAL) != 0;
}

bool is_full_range(const VideoFormat& format) {
  return format.range == AVCOL_RANGE_JPEG || is_rgb(format.pixel_format);
}

/// Position of chroma in 1/256 of a luma sample, for swscale's options; -513 means its default.
void set_chroma_position(SwsContext* sws, const VideoFormat& format, const char* horizontal,
                         const char* vertical) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format.pixel_format);
  if (d == nullptr || (d->log2_chroma_w == 0 && d->log2_chroma_h == 0)) return;
  int x = 0, y = 0;
  // Untagged video has it on the left, as MPEG-2, H.264 and HEVC do.
  const AVChromaLocation where =
      format.chroma_location != AVCHROMA_LOC_UNSPECIFIED ? format.chroma_location : AVCHROMA_LOC_LEFT;
  if (avcodec_enum_to_chroma_pos(&x, &y, where) < 0) return;
  av_opt_set_int(sws, horizontal, d->log2_chroma_w != 0 ? x : -513, 0);
  av_opt_set_int(sws, vertical, d->log2_chroma_h != 0 ? y : -513, 0);
}

AVChromaLocation turned_chroma(AVChromaLocation where, Orientation orientation) {
  int x = 0, y = 0;
  if (where == AVCHROMA_LOC_UNSPECIFIED) where = AVCHROMA_LOC_LEFT;
  if (avcodec_enum_to_chroma_pos(&x, &y, where) < 0) return AVCHROMA_LOC_UNSPECIFIED;
  // In a 2x2 block, 0 is the first row or column, 256 the second.
  const auto flip = [](int v) { return 256 - v; };
  switch (orientation) {
    case Orientation::clockwise_90:
      return avcodec_chroma_pos_to_enum(flip(y), x);
    case Orientation::half_turn:
      return avcodec_chroma_pos_to_enum(flip(x), flip(y));
    case Orientation::clockwise_270:
      return avcodec_chroma_pos_to_enum(y, flip(x));
    case Orientation::flip_horizontal:
      return avcodec_chroma_pos_to_enum(flip(x), y);
    case Orientation::flip_vertical:
      return avcodec_chroma_pos_to_enum(x, flip(y));
    case Orientation::transpose:
      return avcodec_chroma_pos_to_enum(y, x);
    case Orientation::transverse:
      return avcodec_chroma_pos_to_enum(flip(y), flip(x));
    default:
      return where;
  }
}

bool swaps_sides(Orientation orientation) {
  return orientation == Orientation::clockwise_90 || orientation == Orientation::clockwise_270 ||
         orientation == Orientation::transpose || orientation == Orientation::transverse;
}

/// Where stored sample (0, 0) and its neighbours go, in steps of the target plane.
template <int kBytes>
void turn_plane(const std::uint8_t* from, std::ptrdiff_t from_stride, int width, int height,
                Orientation orientation, std::uint8_t* to, std::ptrdiff_t to_stride) {
  std::ptrdiff_t start = 0, step_x = kBytes, step_y = to_stride;  // of the target, for a step in the source
  const std::ptrdiff_t last_column =
      std::ptrdiff_t{kBytes} * ((swaps_sides(orientation) ? height : width) - 1);
  const std::ptrdiff_t last_row = to_stride * ((swaps_sides(orientation) ? width : height) - 1);
  switch (orientation) {
    case Orientation::clockwise_90:
      start = last_column, step_x = to_stride, step_y = -kBytes;
      break;
    case Orientation::half_turn:
      start = last_column + last_row, step_x = -kBytes, step_y = -to_stride;
      break;
    case Orientation::clockwise_270:
      start = last_row, step_x = -to_stride, step_y = kBytes;
      break;
    case Orientation::flip_horizontal:
      start = last_column, step_x = -kBytes;
      break;
    case Orientation::flip_vertical:
      start = last_row, step_y = -to_stride;
      break;
    case Orientation::transpose:
      step_x = to_stride, step_y = kBytes;
      break;
    case Orientation::transverse:
      start = last_column + last_row, step_x = -to_stride, step_y = -kBytes;
      break;
    default:
      break;
  }
  constexpr int kTile = 32;  // both sides of a tile stay in the first-level cache
  for (int ty = 0; ty < height; ty += kTile) {
    for (int tx = 0; tx < width; tx += kTile) {
      for (int y = ty; y < std::min(height, ty + kTile); ++y) {
        const std::uint8_t* row = from + y * from_stride;
        for (int x = tx; x < std::min(width, tx + kTile); ++x) {
          std::memcpy(to + start + x * step_x + y * step_y, row + x * kBytes, kBytes);
        }
      }
    }
  }
}

}  // namespace

FramePool::FramePool(AVPixelFormat format, int width, int height)
    : format_(format), width_(width), height_(height) {
  check(av_image_check_size2(static_cast<unsigned>(width), static_cast<unsigned>(height), INT64_MAX, format,
                             0, nullptr),
        "picture size");
  // Decoders and encoders may read a little beyond the width; a multiple of the alignment leaves room for
  // that.
  check(av_image_fill_linesizes(linesize_, format, FFALIGN(width, kAlign)), "picture size");
  std::ptrdiff_t wide[4];
  for (int i = 0; i < 4; ++i) wide[i] = linesize_[i] = FFALIGN(linesize_[i], kAlign);
  std::size_t sizes[4] = {};
  check(av_image_fill_plane_sizes(sizes, format, FFALIGN(height, 2), wide), "picture size");
  std::size_t total = kAlign;
  for (int i = 0; i < 4; ++i) {
    offset_[i] = total - kAlign;
    total += (sizes[i] + kAlign - 1) / kAlign * kAlign;
    if (sizes[i] == 0) linesize_[i] = 0;
  }
  pool_ = make_picture_pool(total);
}

FramePool::~FramePool() = default;

FramePtr FramePool::get() {
  FramePtr frame = make_frame();
  frame->format = format_;
  frame->width = width_;
  frame->height = height_;
  frame->buf[0] = av_buffer_pool_get(pool_.get());
  if (frame->buf[0] == nullptr)
    throw Error(ErrorCode::limit, fmt::format("out of memory for a {}x{} picture", width_, height_));
  const auto base = reinterpret_cast<std::uintptr_t>(frame->buf[0]->data);
  std::uint8_t* start = frame->buf[0]->data + ((kAlign - base % kAlign) % kAlign);
  for (int i = 0; i < 4; ++i) {
    frame->linesize[i] = linesize_[i];
    frame->data[i] = linesize_[i] != 0 ? start + offset_[i] : nullptr;
  }
  return frame;
}

void FrameConverter::SwsDeleter::operator()(SwsContext* context) const noexcept { sws_freeContext(context); }

FrameConverter::FrameConverter(const VideoFormat& source, const VideoFormat& to) : to_(to) {
  capture_log();
  VideoFormat from = source;
  if (has_palette(source.pixel_format) && !is_rgb(to.pixel_format)) {
    // swscale makes YUV of a palette's colours by one fixed matrix.
    from.pixel_format = AV_PIX_FMT_RGBA;
    from.matrix = AVCOL_SPC_RGB;
    from.range = AVCOL_RANGE_JPEG;
    unpack_ = std::make_unique<FrameConverter>(source, from);
    unpacked_ = std::make_unique<FramePool>(from.pixel_format, from.width, from.height);
  }
  sws_.reset(sws_alloc_context());
  if (!sws_) throw Error(ErrorCode::limit, "out of memory for a conversion");
  SwsContext* sws = sws_.get();
  const bool same_size = from.width == to.width && from.height == to.height;
  av_opt_set_int(sws, "srcw", from.width, 0);
  av_opt_set_int(sws, "srch", from.height, 0);
  av_opt_set_int(sws, "src_format", from.pixel_format, 0);
  av_opt_set_int(sws, "dstw", to.width, 0);
  av_opt_set_int(sws, "dsth", to.height, 0);
  av_opt_set_int(sws, "dst_format", to.pixel_format, 0);
  av_opt_set_int(sws, "sws_flags",
                 (same_size ? SWS_BILINEAR : SWS_BICUBIC) | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP |
                     SWS_ACCURATE_RND | SWS_BITEXACT,
                 0);
  set_chroma_position(sws, from, "src_h_chr_pos", "src_v_chr_pos");
  set_chroma_position(sws, to, "dst_h_chr_pos", "dst_v_chr_pos");
  const int matrix_from = coefficients(from.matrix, from.height);
  const int matrix_to = is_rgb(to.pixel_format) || is_rgb(from.pixel_format)
                            ? coefficients(is_rgb(from.pixel_format) ? to.matrix : from.matrix, from.height)
                            : coefficients(to.matrix, from.height);
  sws_setColorspaceDetails(sws, sws_getCoefficients(is_rgb(from.pixel_format) ? matrix_to : matrix_from),
                           is_full_range(from) ? 1 : 0, sws_getCoefficients(matrix_to),
                           is_full_range(to) ? 1 : 0, 0, 1 << 16, 1 << 16);
  const int code = sws_init_context(sws, nullptr, nullptr);
  if (code < 0) {
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot convert {}x{} {} to {}x{} {}", from.width, from.height,
                            av_get_pix_fmt_name(from.pixel_format), to.width, to.height,
                            av_get_pix_fmt_name(to.pixel_format)));
  }
}

FrameConverter::~FrameConverter() = default;
FrameConverter::FrameConverter(FrameConverter&&) noexcept = default;
FrameConverter& FrameConverter::operator=(FrameConverter&&) noexcept = default;

void FrameConverter::run(const AVFrame& from, AVFrame& to) const {
  if (unpack_) {
    const FramePtr colors = unpacked_->get();
    unpack_->run(from, *colors);
    scale(*colors, to);
  } else {
    scale(from, to);
  }
}

void FrameConverter::scale(const AVFrame& from, AVFrame& to) const {
  const int code = sws_scale(sws_.get(), from.data, from.linesize, 0, from.height, to.data, to.linesize);
  if (code < 0) throw_ffmpeg(code, "converting a picture");
  check(av_frame_copy_props(&to, &from), "converting a picture");
  tag_frame(to, to_);
}

bool can_turn(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr ||
      (d->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM)) != 0)
    return false;
  if (d->log2_chroma_w != d->log2_chroma_h) return false;
  // Planar, or packed without subsampling: every plane consists of whole pixels.
  return (d->flags & AV_PIX_FMT_FLAG_PLANAR) != 0 || d->log2_chroma_w == 0;
}

VideoFormat upright_format(const VideoFormat& format) {
  VideoFormat upright = format;
  if (!format.display_matrix) return upright;
  const Orientation orientation = orientation_of(*format.display_matrix);
  upright.display_matrix.reset();
  if (orientation == Orientation::other) return upright;
  if (!can_turn(format.pixel_format)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("pictures in {} cannot be turned", av_get_pix_fmt_name(format.pixel_format)));
  }
  if (swaps_sides(orientation)) {
    std::swap(upright.width, upright.height);
    if (format.sample_aspect.num > 0) upright.sample_aspect = av_inv_q(format.sample_aspect);
  }
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format.pixel_format);
  if (d->log2_chroma_w != 0) upright.chroma_location = turned_chroma(format.chroma_location, orientation);
  return upright;
}

void turn_upright(const AVFrame& from, Orientation orientation, AVFrame& to) {
  const auto format = static_cast<AVPixelFormat>(from.format);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  int pixel_bytes[4] = {};
  av_image_fill_max_pixsteps(pixel_bytes, nullptr, d);
  for (int p = 0; p < av_pix_fmt_count_planes(format); ++p) {
    const bool chroma = (p == 1 || p == 2) && (d->flags & AV_PIX_FMT_FLAG_RGB) == 0;
    const int width = chroma ? AV_CEIL_RSHIFT(from.width, d->log2_chroma_w) : from.width;
    const int height = chroma ? AV_CEIL_RSHIFT(from.height, d->log2_chroma_h) : from.height;
    const auto turn = [&](auto size) {
      turn_plane<decltype(size)::value>(from.data[p], from.linesize[p], width, height, orientation,
                                        to.data[p], to.linesize[p]);
    };
    switch (pixel_bytes[p]) {
      case 1:
        turn(std::integral_constant<int, 1>{});
        break;
      case 2:
        turn(std::integral_constant<int, 2>{});
        break;
      case 3:
        turn(std::integral_constant<int, 3>{});
        break;
      case 4:
        turn(std::integral_constant<int, 4>{});
        break;
      case 6:
        turn(std::integral_constant<int, 6>{});
        break;
      case 8:
        turn(std::integral_constant<int, 8>{});
        break;
      default:
        throw Error(ErrorCode::unsupported, fmt::format("pictures in {} cannot be turned", d->name));
    }
  }
  check(av_frame_copy_props(&to, &from), "turning a picture");
  av_frame_remove_side_data(&to, AV_FRAME_DATA_DISPLAYMATRIX);
}

void tag_frame(AVFrame& frame, const VideoFormat& format) {
  frame.format = format.pixel_format;
  frame.colorspace = format.matrix;
  frame.color_range = format.range;
  frame.color_primaries = format.primaries;
  frame.color_trc = format.transfer;
  frame.chroma_location = format.chroma_location;
  frame.sample_aspect_ratio = format.sample_aspect;
}

}  // namespace saccade::media
