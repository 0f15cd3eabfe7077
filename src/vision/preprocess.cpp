#include "vision/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "saccade/error.h"
#include "vision/axis.h"
#include "vision/color.h"
#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

namespace {

// Network columns that a part covers when rows of the picture become columns of the network's input: enough
// to fill a cache line of the target.
constexpr int kColumnBlock = 16;

// Both directions of one component, in the stored picture's orientation.
struct Axes {
  LinearAxis x, y;
  BoxAxis box_x, box_y;
  bool is_box_x = false, is_box_y = false;
  int samples_x = 0;
};

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 15) / 16 * 16; }

double chroma_first(ChromaLocation location, bool vertical) noexcept {
  switch (location) {
    case ChromaLocation::left:
      return vertical ? 0.5 : 0.0;
    case ChromaLocation::center:
      return 0.5;
    case ChromaLocation::top_left:
      return 0.0;
    case ChromaLocation::top:
      return vertical ? 0.0 : 0.5;
    case ChromaLocation::bottom_left:
      return vertical ? 1.0 : 0.0;
    case ChromaLocation::bottom:
      return vertical ? 1.0 : 0.5;
  }
  return 0.5;
}

// The upright axis of `count` targets that runs along the stored picture's columns (vertical: rows).
AxisSpec axis_spec(const Geometry& g, const FormatInfo& info, const ColorSpec& color, bool chroma,
                   bool vertical) noexcept {
  const bool upright_vertical = vertical != swaps_axes(g.rotation);
  AxisSpec spec;
  spec.count = upright_vertical ? g.content.height : g.content.width;
  spec.extent = spec.full_extent = vertical ? g.stored_height : g.stored_width;
  spec.flip = vertical ? reverses_rows(g.rotation) : reverses_columns(g.rotation);
  spec.samples = spec.extent;
  if (chroma) {
    spec.shift = vertical ? info.shift_y : info.shift_x;
    spec.samples = vertical ? info.height_of(1, g.stored_height) : info.width_of(1, g.stored_width);
    if (spec.shift > 0) spec.first = chroma_first(color.chroma, vertical);
  }
  return spec;
}

Axes make_axes(const Geometry& g, const FormatInfo& info, const ColorSpec& color, ResizeRule rule,
               bool chroma) {
  Axes axes;
  const AxisSpec x = axis_spec(g, info, color, chroma, false), y = axis_spec(g, info, color, chroma, true);
  axes.samples_x = x.samples;
  axes.is_box_x = rule == ResizeRule::area && shrinks(x);
  axes.is_box_y = rule == ResizeRule::area && shrinks(y);
  if (axes.is_box_x)
    axes.box_x = make_box_axis(x);
  else
    axes.x = make_linear_axis(x, rule);
  if (axes.is_box_y)
    axes.box_y = make_box_axis(y);
  else
    axes.y = make_linear_axis(y, rule);
  return axes;
}

void require_usable(const InputSpec& input) {
  if (!std::isfinite(input.scale))
    throw Error(ErrorCode::invalid_argument, "input scale " + std::to_string(input.scale) + " is not finite");
  for (const float s : input.stddev) {
    if (!(std::abs(s) > 1e-30f) || !std::isfinite(s))
      throw Error(ErrorCode::invalid_argument,
                  "input deviation " + std::to_string(s) + ": must be finite and not 0");
  }
  for (const float m : input.mean)
    if (!std::isfinite(m))
      throw Error(ErrorCode::invalid_argument, "input mean " + std::to_string(m) + " is not finite");
}

}  // namespace

struct Preprocessor::Impl {
  PictureSpec picture;
  FormatInfo info;
  Geometry geometry;
  const PreprocessKernels* kernels;
  bool swapped;  // work rows become columns of the network's input
  int channels;
  bool interleaved;
  int work_width;  // samples of a work row: along the stored picture's columns
  Axes luma, chroma;
  ConvertRow convert{};  // everything but the pointers and the row's coverage
  std::array<float, 3> pad{};

  const Axes& axes_of(int c) const noexcept { return info.is_chroma(c) ? chroma : luma; }
  std::size_t scratch_floats() const noexcept {
    const std::size_t components = 3 * padded(work_width);
    const std::size_t channel_rows =
        3 * padded(work_width) * static_cast<std::size_t>(swapped ? kColumnBlock : 1);
    return components + channel_rows + padded(std::max(luma.samples_x, chroma.samples_x));
  }

  void sample_component(const ConstPictureView& view, int c, int row, float* out,
                        float* source_row) const noexcept;
  void prefetch(const ConstPictureView& view, int row) const noexcept;
  void convert_row(const ConstPictureView& view, int row, float* scratch,
                   const std::array<float*, 3>& out) const noexcept;
  void write_row(const ConstPictureView& view, float* output, float* scratch, int row) const noexcept;
  void write_columns(const ConstPictureView& view, float* output, float* scratch, int block) const noexcept;
  void fill(float* output, int x, int y, int count) const noexcept;
  float* at(float* output, int channel, int x, int y) const noexcept {
    const std::ptrdiff_t pixel = static_cast<std::ptrdiff_t>(y) * geometry.network_width + x;
    const std::ptrdiff_t plane =
        static_cast<std::ptrdiff_t>(geometry.network_width) * geometry.network_height;
    return interleaved ? output + pixel * channels + channel : output + plane * channel + pixel;
  }
};

Preprocessor::Preprocessor(const PictureSpec& picture, const InputSpec& input, int network_width,
                           int network_height, Isa isa) {
  require_usable(input);
  auto impl = std::make_unique<Impl>();
  impl->picture = picture;
  impl->info = format_info(picture.format);
  impl->geometry = make_geometry(picture, input.fit, network_width, network_height);
  impl->kernels = &preprocess_kernels(isa);
  impl->swapped = swaps_axes(picture.rotation);
  impl->channels = input.order == ColorOrder::gray ? 1 : 3;
  impl->interleaved = input.layout == TensorLayout::nhwc && impl->channels > 1;
  impl->work_width = impl->swapped ? impl->geometry.content.height : impl->geometry.content.width;
  impl->luma = make_axes(impl->geometry, impl->info, picture.color, input.resize, false);
  impl->chroma =
      make_axes(impl->geometry, impl->info, picture.color, input.resize, impl->info.model == ColorModel::yuv);

  ConvertRow& convert = impl->convert;
  YuvToRgb to_rgb{};
  if (impl->info.model == ColorModel::rgb) {
    for (std::size_t c = 0; c < 3; ++c) to_rgb.m[c][c] = 255.0 / impl->info.max_value();
  } else {
    to_rgb = yuv_to_rgb(picture.color, impl->info.depth);
    if (impl->info.model == ColorModel::gray) {
      // Chroma is neutral: R = G = B = luma.
      const double luma = to_rgb.m[0][0];
      const double black = to_rgb.offset[0] + to_rgb.m[0][2] * std::ldexp(1.0, impl->info.depth - 1);
      for (std::size_t c = 0; c < 3; ++c) {
        to_rgb.m[c] = {luma, 0, 0};
        to_rgb.offset[c] = black;
      }
    }
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t from = input.order == ColorOrder::bgr ? 2 - c : c;
    for (std::size_t k = 0; k < 3; ++k) convert.matrix[c][k] = static_cast<float>(to_rgb.m[from][k]);
    convert.offset[c] = static_cast<float>(to_rgb.offset[from]);
    const double deviation = input.stddev[c];
    convert.scale[c] = static_cast<float>(input.scale / deviation);
    convert.bias[c] = static_cast<float>(-input.mean[c] / deviation);
    impl->pad[c] = input.pad_value * convert.scale[c] + convert.bias[c];
  }
  convert.to_byte = input.resize == ResizeRule::mediapipe;
  convert.gray = input.order == ColorOrder::gray;
  convert.coverage = impl->luma.x.coverage.empty() ? nullptr : impl->luma.x.coverage.data();
  convert.n = impl->work_width;
  impl_ = std::move(impl);
}

Preprocessor::~Preprocessor() = default;
Preprocessor::Preprocessor(Preprocessor&&) noexcept = default;
Preprocessor& Preprocessor::operator=(Preprocessor&&) noexcept = default;

const Geometry& Preprocessor::geometry() const noexcept { return impl_->geometry; }
int Preprocessor::channels() const noexcept { return impl_->channels; }
std::int64_t Preprocessor::output_count() const noexcept {
  return static_cast<std::int64_t>(impl_->channels) * impl_->geometry.network_width *
         impl_->geometry.network_height;
}

int Preprocessor::parts() const noexcept {
  return impl_->swapped ? (impl_->geometry.network_width + kColumnBlock - 1) / kColumnBlock
                        : impl_->geometry.network_height;
}

void Preprocessor::run(const ConstPictureView& picture, float* output, Workspace& workspace) const {
  run_parts(picture, output, workspace, 0, parts());
}

void Preprocessor::run_parts(const ConstPictureView& picture, float* output, Workspace& workspace, int begin,
                             int end) const {
  require_match(picture, impl_->picture, "picture");
  auto* scratch = reinterpret_cast<float*>(workspace.reserve(impl_->scratch_floats() * sizeof(float)));
  for (int part = begin; part < end; ++part) {
    if (impl_->swapped)
      impl_->write_columns(picture, output, scratch, part);
    else
      impl_->write_row(picture, output, scratch, part);
  }
}

void Preprocessor::Impl::sample_component(const ConstPictureView& view, int c, int row, float* out,
                                          float* source_row) const noexcept {
  const Component& part = info.component[static_cast<std::size_t>(c)];
  const Axes& axes = axes_of(c);
  const std::ptrdiff_t stride = view.strides[part.plane];
  const std::uint8_t* plane = view.planes[part.plane] + part.offset * info.bytes();
  const auto j = static_cast<std::size_t>(row);
  const int n = work_width;

  if (!axes.is_box_x && !axes.is_box_y && !axes.x.single) {
    const std::uint8_t* row0 = plane + stride * axes.y.index[j];
    SampleRow a{row0,
                axes.y.single ? row0 : row0 + stride,
                axes.y.fraction[j],
                axes.x.index.data(),
                axes.x.weight.data(),
                n,
                part.step,
                out};
    if (info.bytes() == 2)
      kernels->sample_u16(a);
    else if (part.step == 1)
      kernels->sample_u8(a);
    else
      kernels->sample_step_u8(a);
    return;
  }

  // First down the columns into a row of floats, then along it.
  const auto accumulate = info.bytes() == 2 ? kernels->accumulate_u16 : kernels->accumulate_u8;
  std::fill_n(source_row, axes.samples_x, 0.0f);
  if (axes.is_box_y) {
    const std::uint8_t* source = plane + stride * axes.box_y.begin[j];
    for (std::int32_t k = axes.box_y.offset[j]; k < axes.box_y.offset[j + 1]; ++k, source += stride)
      accumulate(source, part.step, axes.box_y.weight[static_cast<std::size_t>(k)], source_row,
                 axes.samples_x);
  } else {
    const std::uint8_t* source = plane + stride * axes.y.index[j];
    accumulate(source, part.step, 1 - axes.y.fraction[j], source_row, axes.samples_x);
    if (!axes.y.single)
      accumulate(source + stride, part.step, axes.y.fraction[j], source_row, axes.samples_x);
  }
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (axes.is_box_x) {
      const float* p = source_row + axes.box_x.begin[k];
      float sum = 0;
      for (std::int32_t w = axes.box_x.offset[k]; w < axes.box_x.offset[k + 1]; ++w)
        sum += *p++ * axes.box_x.weight[static_cast<std::size_t>(w)];
      out[i] = sum;
    } else {
      const float* p = source_row + axes.x.index[k];
      out[i] = axes.x.single ? p[0] : p[0] + (p[1] - p[0]) * axes.x.fraction[k];
    }
  }
}

// A frame fresh from the decoder is rarely in the nearest cache, and the rows that are read lie too far apart
// for the hardware to foresee them.
void Preprocessor::Impl::prefetch(const ConstPictureView& view, int row) const noexcept {
  for (int c = 0; c < info.colors; ++c) {
    const Axes& axes = axes_of(c);
    if (axes.is_box_y || row >= static_cast<int>(axes.y.index.size())) continue;
    const Component& part = info.component[static_cast<std::size_t>(c)];
    const std::ptrdiff_t stride = view.strides[part.plane];
    const std::uint8_t* p = view.planes[part.plane] + stride * axes.y.index[static_cast<std::size_t>(row)];
    const std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(axes.samples_x) * part.step * info.bytes();
    for (int k = 0; k < (axes.y.single ? 1 : 2); ++k, p += stride)
      for (std::ptrdiff_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
  }
}

void Preprocessor::Impl::convert_row(const ConstPictureView& view, int row, float* scratch,
                                     const std::array<float*, 3>& out) const noexcept {
  const std::size_t pitch = padded(work_width);
  float* source_row = scratch + 3 * pitch;
  prefetch(view, row + 1);
  ConvertRow a = convert;
  for (int c = 0; c < 3; ++c) {
    const auto k = static_cast<std::size_t>(c);
    a.in[k] = scratch + (c < info.colors ? k * pitch : 0);
    a.out[k] = out[k];
    if (c < info.colors) sample_component(view, c, row, scratch + k * pitch, source_row);
  }
  a.row_coverage = luma.y.coverage.empty() ? 1.0f : luma.y.coverage[static_cast<std::size_t>(row)];
  kernels->convert(a);
}

void Preprocessor::Impl::fill(float* output, int x, int y, int count) const noexcept {
  for (int c = 0; c < channels; ++c) {
    float* p = at(output, c, x, y);
    const int step = interleaved ? channels : 1;
    for (int i = 0; i < count; ++i)
      p[static_cast<std::ptrdiff_t>(i) * step] = pad[static_cast<std::size_t>(c)];
  }
}

void Preprocessor::Impl::write_row(const ConstPictureView& view, float* output, float* scratch,
                                   int row) const noexcept {
  const Rect& content = geometry.content;
  if (row < content.y || row >= content.y + content.height) {
    fill(output, 0, row, geometry.network_width);
    return;
  }
  fill(output, 0, row, content.x);
  fill(output, content.x + content.width, row, geometry.network_width - content.x - content.width);
  const std::size_t pitch = padded(work_width);
  float* rows = scratch + 3 * pitch + padded(std::max(luma.samples_x, chroma.samples_x));
  std::array<float*, 3> channel_rows = {rows, rows + pitch, rows + 2 * pitch};
  if (!interleaved)
    for (int c = 0; c < channels; ++c)
      channel_rows[static_cast<std::size_t>(c)] = at(output, c, content.x, row);
  convert_row(view, row - content.y, scratch, channel_rows);
  if (interleaved)
    kernels->interleave3(channel_rows[0], channel_rows[1], channel_rows[2], at(output, 0, content.x, row),
                         work_width);
}

void Preprocessor::Impl::write_columns(const ConstPictureView& view, float* output, float* scratch,
                                       int block) const noexcept {
  const Rect& content = geometry.content;
  const int begin = block * kColumnBlock, end = std::min(begin + kColumnBlock, geometry.network_width);
  const int first = std::max(begin, content.x), last = std::min(end, content.x + content.width);
  for (int y = 0; y < geometry.network_height; ++y) {
    const bool inside = y >= content.y && y < content.y + content.height && first < last;
    fill(output, begin, y, inside ? first - begin : end - begin);
    if (inside) fill(output, last, y, end - last);
  }
  const std::size_t pitch = padded(work_width);
  float* rows = scratch + 3 * pitch + padded(std::max(luma.samples_x, chroma.samples_x));
  for (int x = first; x < last; ++x) {
    float* p = rows + static_cast<std::size_t>(x - first) * 3 * pitch;
    convert_row(view, x - content.x, scratch, {p, p + pitch, p + 2 * pitch});
  }
  for (int y = 0; y < content.height && first < last; ++y) {
    for (int c = 0; c < channels; ++c) {
      const float* p = rows + static_cast<std::size_t>(c) * pitch + y;
      float* q = at(output, c, first, content.y + y);
      const int step = interleaved ? channels : 1;
      for (int x = 0; x < last - first; ++x) q[x * step] = p[static_cast<std::size_t>(x) * 3 * pitch];
    }
  }
}

}  // namespace saccade::vision
