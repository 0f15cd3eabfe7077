// Views of pictures: which samples lie where, and what their numbers mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace saccade::vision {

/// How samples are stored. Samples of more than 8 bits are 16-bit little-endian words, value in the low bits.
enum class PixelFormat : std::uint8_t {
  gray8,
  gray10,
  gray12,
  rgb24,
  bgr24,
  rgba,
  bgra,
  gbrp,
  gbrap,  ///< planar RGB: planes G, B, R (, A)
  yuv420p,
  yuv422p,
  yuv444p,
  nv12,
  yuv420p10,
  yuv422p10,
  yuv444p10,
  yuv420p12,
  yuv422p12,
  yuv444p12,
  yuva420p,
  yuva422p,
  yuva444p,
  yuva420p10,
  yuva422p10,
  yuva444p10,
};
inline constexpr int kPixelFormatCount = static_cast<int>(PixelFormat::yuva444p10) + 1;

enum class Matrix : std::uint8_t { bt601, bt709, bt2020nc, smpte240m, fcc };
enum class Range : std::uint8_t { limited, full };
/// Where a chroma sample lies within its 2x2 (or 2x1) luma samples. Horizontally `left` shares the position
/// of the even luma column, vertically `top` that of the even row; `left` is the default of MPEG-2 and H.264,
/// `center` that of JPEG.
enum class ChromaLocation : std::uint8_t { left, center, top_left, top, bottom_left, bottom };

/// What the numbers mean. For RGB formats only `matrix` matters (where a colour has to become grey or YUV).
struct ColorSpec {
  Matrix matrix = Matrix::bt709;
  Range range = Range::limited;
  ChromaLocation chroma = ChromaLocation::left;
  bool operator==(const ColorSpec&) const = default;
};

enum class ColorModel : std::uint8_t { gray, rgb, yuv };

/// One colour component: sample i of a row is at index offset + i * step (in samples) of the row of `plane`.
struct Component {
  std::uint8_t plane = 0, offset = 0, step = 1;
};

/// Fixed facts about a format. Components are Y,U,V or R,G,B or grey, then alpha.
struct FormatInfo {
  const char* name;  ///< FFmpeg's name ("yuv420p10le")
  ColorModel model;
  std::uint8_t planes;
  std::uint8_t colors;            ///< colour components: 1 or 3
  bool alpha;                     ///< component number `colors` is alpha
  std::uint8_t depth;             ///< significant bits of a sample
  std::uint8_t shift_x, shift_y;  ///< log2 of the chroma subsampling
  std::array<Component, 4> component;
  int bytes() const noexcept { return depth > 8 ? 2 : 1; }  ///< of a sample
  int max_value() const noexcept { return (1 << depth) - 1; }
  /// Size in samples of component c of a picture of that width or height.
  int width_of(int c, int width) const noexcept {
    return is_chroma(c) ? (width + (1 << shift_x) - 1) >> shift_x : width;
  }
  int height_of(int c, int height) const noexcept {
    return is_chroma(c) ? (height + (1 << shift_y) - 1) >> shift_y : height;
  }
  bool is_chroma(int c) const noexcept { return model == ColorModel::yuv && (c == 1 || c == 2); }
};

const FormatInfo& format_info(PixelFormat format) noexcept;
/// The same layout with (or without) an alpha component of the same depth; `format` itself if there is none.
PixelFormat with_alpha(PixelFormat format) noexcept;
PixelFormat without_alpha(PixelFormat format) noexcept;

/// Pictures that may not be written. Rows start at planes[p] + y * strides[p] bytes; strides may be negative.
/// Planes must be aligned to their sample size; nothing outside the rows is read.
struct ConstPictureView {
  PixelFormat format = PixelFormat::gray8;
  int width = 0, height = 0;
  std::array<const std::uint8_t*, 4> planes{};
  std::array<std::ptrdiff_t, 4> strides{};
  ColorSpec color;
};

struct PictureView {
  PixelFormat format = PixelFormat::gray8;
  int width = 0, height = 0;
  std::array<std::uint8_t*, 4> planes{};
  std::array<std::ptrdiff_t, 4> strides{};
  ColorSpec color;
  operator ConstPictureView() const noexcept {
    return {format, width, height, {planes[0], planes[1], planes[2], planes[3]}, strides, color};
  }
};

/// How the stored picture must be turned to be upright. Angles are clockwise; the flips come from EXIF:
/// `transpose` swaps rows and columns, `transverse` does so along the other diagonal.
enum class Rotation : std::uint8_t {
  none,
  clockwise_90,
  half_turn,
  clockwise_270,
  flip_horizontal,
  flip_vertical,
  transpose,
  transverse
};

/// What does not change from one picture of a stream to the next.
struct PictureSpec {
  PixelFormat format = PixelFormat::yuv420p;
  int width = 0, height = 0;  ///< as stored
  ColorSpec color;
  Rotation rotation = Rotation::none;
  double pixel_aspect = 1;  ///< width / height of a stored pixel
};

/// One plane of single samples: an alpha plane (0 .. 2^depth - 1) or a class map (depth 8).
struct PlaneView {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;  ///< bytes
  int width = 0, height = 0;
  int depth = 8;  ///< above 8: 16-bit words
};
struct ConstPlaneView {
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0, height = 0;
  int depth = 8;
  ConstPlaneView() = default;
  ConstPlaneView(const PlaneView& v)
      : data(v.data), stride(v.stride), width(v.width), height(v.height), depth(v.depth) {}
};

/// A picture that owns its samples; rows start on 64-byte boundaries. Zeroed. Movable.
class Picture {
 public:
  Picture() = default;
  /// Throws Error(limit) if a side is not in 1..65536 or memory is refused.
  Picture(PixelFormat format, int width, int height, ColorSpec color = {});
  const PictureView& view() const noexcept { return view_; }
  bool empty() const noexcept { return storage_ == nullptr; }

 private:
  PictureView view_;
  std::shared_ptr<std::uint8_t> storage_;
};

/// An owned plane, rows on 64-byte boundaries, zeroed.
class Plane {
 public:
  Plane() = default;
  Plane(int width, int height, int depth = 8);
  const PlaneView& view() const noexcept { return view_; }

 private:
  PlaneView view_;
  std::shared_ptr<std::uint8_t> storage_;
};

/// Throws Error(invalid_argument) naming `what` if the view's format, size or planes do not fit `spec`.
void require_match(const ConstPictureView& view, const PictureSpec& spec, const char* what);

}  // namespace saccade::vision
