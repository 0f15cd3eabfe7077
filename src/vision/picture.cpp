#include "vision/picture.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "saccade/error.h"

namespace saccade::vision {

namespace {

constexpr Component planar(std::uint8_t plane) { return {plane, 0, 1}; }
constexpr Component packed(std::uint8_t offset, std::uint8_t step) { return {0, offset, step}; }

constexpr FormatInfo gray(const char* name, std::uint8_t depth) {
  return {name, ColorModel::gray, 1, 1, false, depth, 0, 0, {planar(0)}};
}
constexpr FormatInfo interleaved(const char* name, bool alpha, std::uint8_t r, std::uint8_t b) {
  const std::uint8_t step = alpha ? 4 : 3;
  return {name,
          ColorModel::rgb,
          1,
          3,
          alpha,
          8,
          0,
          0,
          {packed(r, step), packed(1, step), packed(b, step), packed(3, step)}};
}
constexpr FormatInfo planar_rgb(const char* name, bool alpha) {
  const std::uint8_t planes = alpha ? 4 : 3;
  return {name, ColorModel::rgb, planes, 3, alpha, 8, 0, 0, {planar(2), planar(0), planar(1), planar(3)}};
}
constexpr FormatInfo yuv(const char* name, bool alpha, std::uint8_t depth, std::uint8_t shift_x,
                         std::uint8_t shift_y) {
  const std::uint8_t planes = alpha ? 4 : 3;
  return {name,    ColorModel::yuv, planes,
          3,       alpha,           depth,
          shift_x, shift_y,         {planar(0), planar(1), planar(2), planar(3)}};
}

constexpr std::array<FormatInfo, kPixelFormatCount> kFormats = {{
    gray("gray", 8),
    gray("gray10le", 10),
    gray("gray12le", 12),
    interleaved("rgb24", false, 0, 2),
    interleaved("bgr24", false, 2, 0),
    interleaved("rgba", true, 0, 2),
    interleaved("bgra", true, 2, 0),
    planar_rgb("gbrp", false),
    planar_rgb("gbrap", true),
    yuv("yuv420p", false, 8, 1, 1),
    yuv("yuv422p", false, 8, 1, 0),
    yuv("yuv444p", false, 8, 0, 0),
    {"nv12", ColorModel::yuv, 2, 3, false, 8, 1, 1, {planar(0), Component{1, 0, 2}, Component{1, 1, 2}}},
    yuv("yuv420p10le", false, 10, 1, 1),
    yuv("yuv422p10le", false, 10, 1, 0),
    yuv("yuv444p10le", false, 10, 0, 0),
    yuv("yuv420p12le", false, 12, 1, 1),
    yuv("yuv422p12le", false, 12, 1, 0),
    yuv("yuv444p12le", false, 12, 0, 0),
    yuv("yuva420p", true, 8, 1, 1),
    yuv("yuva422p", true, 8, 1, 0),
    yuv("yuva444p", true, 8, 0, 0),
    yuv("yuva420p10le", true, 10, 1, 1),
    yuv("yuva422p10le", true, 10, 1, 0),
    yuv("yuva444p10le", true, 10, 0, 0),
}};

struct AlphaPair {
  PixelFormat opaque, alpha;
};
constexpr AlphaPair kAlphaPairs[] = {
    {PixelFormat::rgb24, PixelFormat::rgba},           {PixelFormat::bgr24, PixelFormat::bgra},
    {PixelFormat::gbrp, PixelFormat::gbrap},           {PixelFormat::yuv420p, PixelFormat::yuva420p},
    {PixelFormat::yuv422p, PixelFormat::yuva422p},     {PixelFormat::yuv444p, PixelFormat::yuva444p},
    {PixelFormat::yuv420p10, PixelFormat::yuva420p10}, {PixelFormat::yuv422p10, PixelFormat::yuva422p10},
    {PixelFormat::yuv444p10, PixelFormat::yuva444p10},
};

constexpr int kMaxSide = 65536;
constexpr std::size_t kAlignment = 64;
// Kernels may read (never write) a vector past the end of a row of our own planes.
constexpr std::size_t kTail = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void require_side(int width, int height) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    throw Error(ErrorCode::limit, "picture of " + std::to_string(width) + "x" + std::to_string(height) +
                                      " pixels: each side must be 1 to " + std::to_string(kMaxSide));
}

std::shared_ptr<std::uint8_t> allocate_zeroed(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, aligned(bytes));
  if (memory == nullptr)
    throw Error(ErrorCode::limit, "no memory for a picture of " + std::to_string(bytes) + " bytes");
  std::memset(memory, 0, bytes);
  return {static_cast<std::uint8_t*>(memory), std::free};
}

// Bytes of a row of plane p: the largest component in it, times its step.
std::size_t row_bytes(const FormatInfo& info, int plane, int width) {
  std::size_t bytes = 0;
  for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c) {
    const Component& part = info.component[static_cast<std::size_t>(c)];
    if (part.plane != plane) continue;
    bytes = static_cast<std::size_t>(info.width_of(c, width)) * part.step *
            static_cast<std::size_t>(info.bytes());
  }
  return bytes;
}

int plane_height(const FormatInfo& info, int plane, int height) {
  for (int c = 0; c < info.colors; ++c)
    if (info.component[static_cast<std::size_t>(c)].plane == plane) return info.height_of(c, height);
  return height;
}

}  // namespace

const FormatInfo& format_info(PixelFormat format) noexcept {
  return kFormats[static_cast<std::size_t>(format)];
}

PixelFormat with_alpha(PixelFormat format) noexcept {
  for (const AlphaPair& pair : kAlphaPairs)
    if (pair.opaque == format) return pair.alpha;
  return format;
}

PixelFormat without_alpha(PixelFormat format) noexcept {
  for (const AlphaPair& pair : kAlphaPairs)
    if (pair.alpha == format) return pair.opaque;
  return format;
}

Picture::Picture(PixelFormat format, int width, int height, ColorSpec color) {
  require_side(width, height);
  const FormatInfo& info = format_info(format);
  view_.format = format;
  view_.width = width;
  view_.height = height;
  view_.color = color;
  std::array<std::size_t, 4> offset{};
  std::size_t total = 0;
  for (std::size_t p = 0; p < info.planes; ++p) {
    const std::size_t stride = aligned(row_bytes(info, static_cast<int>(p), width));
    view_.strides[p] = static_cast<std::ptrdiff_t>(stride);
    offset[p] = total;
    total += stride * static_cast<std::size_t>(plane_height(info, static_cast<int>(p), height));
  }
  storage_ = allocate_zeroed(total + kTail);
  for (std::size_t p = 0; p < info.planes; ++p) view_.planes[p] = storage_.get() + offset[p];
}

Plane::Plane(int width, int height, int depth) {
  require_side(width, height);
  const std::size_t stride = aligned(static_cast<std::size_t>(width) * (depth > 8 ? 2 : 1));
  storage_ = allocate_zeroed(stride * static_cast<std::size_t>(height) + kTail);
  view_ = {storage_.get(), static_cast<std::ptrdiff_t>(stride), width, height, depth};
}

void require_match(const ConstPictureView& view, const PictureSpec& spec, const char* what) {
  const FormatInfo& info = format_info(spec.format);
  if (view.format != spec.format || view.width != spec.width || view.height != spec.height) {
    throw Error(ErrorCode::invalid_argument,
                std::string(what) + " is " + format_info(view.format).name + " " +
                    std::to_string(view.width) + "x" + std::to_string(view.height) + ", expected " +
                    info.name + " " + std::to_string(spec.width) + "x" + std::to_string(spec.height));
  }
  for (std::size_t p = 0; p < info.planes; ++p) {
    const auto need = static_cast<std::ptrdiff_t>(row_bytes(info, static_cast<int>(p), spec.width));
    if (view.planes[p] == nullptr || std::abs(view.strides[p]) < need) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(what) + ": plane " + std::to_string(p) + " is missing or its stride of " +
                      std::to_string(view.strides[p]) + " bytes is below the row's " + std::to_string(need));
    }
  }
}

}  // namespace saccade::vision
