#include "vision/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "saccade/error.h"
#include "vision/color.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/sampler.h"
#include "vision/scaler_rgb.h"

namespace saccade::vision {

namespace {

// Network columns that a part covers when rows of the picture become columns of the network's input: enough
// to fill a cache line of the target.
constexpr int kColumnBlock = 16;

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 15) / 16 * 16; }

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
  /// Where the rows [first, last) of the network's input go.
  struct Target {
    float* data;
    int first, last;
  };
  PictureSpec picture;
  FormatInfo info;
  Geometry geometry;
  const PreprocessKernels* kernels;
  bool swapped;  // work rows become columns of the network's input
  int channels;
  bool interleaved;
  int work_width;  // samples of a work row: along the stored picture's columns
  Sampler sampler;
  std::optional<ScalerRgb> scaler_rgb;  // the rule mediapipe on 4:2:0
  ConvertRow convert{};                 // everything but the pointers and the row's coverage
  std::array<float, 3> pad{};

  std::size_t scratch_floats() const noexcept {
    const std::size_t channel_rows =
        3 * padded(work_width) * static_cast<std::size_t>(swapped ? kColumnBlock : 1);
    const std::size_t scaler_floats = scaler_rgb ? scaler_rgb->scratch_bytes() / sizeof(float) : 0;
    return 3 * padded(work_width) + channel_rows + std::max(sampler.source_row_floats(), scaler_floats);
  }

  // Behind the component rows and what sampling needs.
  float* channel_rows(float* scratch) const noexcept {
    const std::size_t scaler_floats = scaler_rgb ? scaler_rgb->scratch_bytes() / sizeof(float) : 0;
    return scratch + 3 * padded(work_width) + std::max(sampler.source_row_floats(), scaler_floats);
  }

  void convert_row(const ConstPictureView& view, int row, float* scratch,
                   const std::array<float*, 3>& out) const noexcept;
  void write_row(const ConstPictureView& view, const Target& target, float* scratch, int row) const noexcept;
  void write_columns(const ConstPictureView& view, const Target& target, float* scratch,
                     int block) const noexcept;
  void fill(const Target& target, int x, int y, int count) const noexcept;
  float* at(const Target& target, int channel, int x, int y) const noexcept {
    const std::ptrdiff_t pixel = static_cast<std::ptrdiff_t>(y - target.first) * geometry.network_width + x;
    const std::ptrdiff_t plane =
        static_cast<std::ptrdiff_t>(geometry.network_width) * (target.last - target.first);
    return interleaved ? target.data + pixel * channels + channel : target.data + plane * channel + pixel;
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
  const Geometry& g = impl->geometry;
  const TargetAxis across{g.content.width, 0, 1, static_cast<double>(g.upright_width) / g.content.width, 0};
  const TargetAxis down{g.content.height, 0, 1, static_cast<double>(g.upright_height) / g.content.height, 0};
  impl->sampler = Sampler(picture, across, down, input.resize, *impl->kernels);
  impl->work_width = impl->sampler.width();

  ConvertRow& convert = impl->convert;
  YuvToRgb to_rgb = samples_to_rgb(picture.format, picture.color);
  if (input.resize == ResizeRule::mediapipe && ScalerRgb::handles(picture.format)) {
    impl->scaler_rgb.emplace(picture);
    to_rgb = samples_to_rgb(PixelFormat::rgb24, {});
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
  convert.coverage = impl->scaler_rgb ? nullptr : impl->sampler.coverage();
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
  const Impl::Target target{output, 0, impl_->geometry.network_height};
  for (int part = begin; part < end; ++part) {
    if (impl_->swapped)
      impl_->write_columns(picture, target, scratch, part);
    else
      impl_->write_row(picture, target, scratch, part);
  }
}

void Preprocessor::run_rows(const ConstPictureView& picture, float* output, Workspace& workspace, int first,
                            int last) const {
  require_match(picture, impl_->picture, "picture");
  if (first < 0 || last > impl_->geometry.network_height || first > last)
    throw Error(ErrorCode::invalid_argument, "rows " + std::to_string(first) + " to " + std::to_string(last) +
                                                 " of a network's input of " +
                                                 std::to_string(impl_->geometry.network_height));
  auto* scratch = reinterpret_cast<float*>(workspace.reserve(impl_->scratch_floats() * sizeof(float)));
  const Impl::Target target{output, first, last};
  if (impl_->swapped) {
    for (int part = 0; part < parts(); ++part) impl_->write_columns(picture, target, scratch, part);
    return;
  }
  for (int row = first; row < last; ++row) impl_->write_row(picture, target, scratch, row);
}

void Preprocessor::Impl::convert_row(const ConstPictureView& view, int row, float* scratch,
                                     const std::array<float*, 3>& out) const noexcept {
  const std::size_t pitch = padded(work_width);
  float* source_row = scratch + 3 * pitch;
  // A frame fresh from the decoder is rarely in the nearest cache, and the rows that are read lie too far
  // apart for the hardware to foresee them.
  sampler.prefetch(view, row + 1);
  ConvertRow a = convert;
  for (int c = 0; c < 3; ++c) {
    const auto k = static_cast<std::size_t>(c);
    a.in[k] = scratch + (c < info.colors ? k * pitch : 0);
    a.out[k] = out[k];
    if (c < info.colors && !scaler_rgb) sampler.sample(view, c, row, scratch + k * pitch, source_row);
  }
  a.row_coverage = scaler_rgb ? 1.0f : sampler.row_coverage(row);
  if (scaler_rgb)
    scaler_rgb->sample(view, sampler.luma_x(), sampler.luma_y(), row,
                       {scratch, scratch + pitch, scratch + 2 * pitch},
                       reinterpret_cast<std::uint8_t*>(source_row));
  kernels->convert(a);
}

void Preprocessor::Impl::fill(const Target& target, int x, int y, int count) const noexcept {
  for (int c = 0; c < channels; ++c) {
    float* p = at(target, c, x, y);
    const int step = interleaved ? channels : 1;
    for (int i = 0; i < count; ++i)
      p[static_cast<std::ptrdiff_t>(i) * step] = pad[static_cast<std::size_t>(c)];
  }
}

void Preprocessor::Impl::write_row(const ConstPictureView& view, const Target& target, float* scratch,
                                   int row) const noexcept {
  const Rect& content = geometry.content;
  if (row < content.y || row >= content.y + content.height) {
    fill(target, 0, row, geometry.network_width);
    return;
  }
  fill(target, 0, row, content.x);
  fill(target, content.x + content.width, row, geometry.network_width - content.x - content.width);
  const std::size_t pitch = padded(work_width);
  float* rows = channel_rows(scratch);
  std::array<float*, 3> channel_rows = {rows, rows + pitch, rows + 2 * pitch};
  if (!interleaved)
    for (int c = 0; c < channels; ++c)
      channel_rows[static_cast<std::size_t>(c)] = at(target, c, content.x, row);
  convert_row(view, row - content.y, scratch, channel_rows);
  if (interleaved)
    kernels->interleave3(channel_rows[0], channel_rows[1], channel_rows[2], at(target, 0, content.x, row),
                         work_width);
}

void Preprocessor::Impl::write_columns(const ConstPictureView& view, const Target& target, float* scratch,
                                       int block) const noexcept {
  const Rect& content = geometry.content;
  const int begin = block * kColumnBlock, end = std::min(begin + kColumnBlock, geometry.network_width);
  const int first = std::max(begin, content.x), last = std::min(end, content.x + content.width);
  for (int y = target.first; y < target.last; ++y) {
    const bool inside = y >= content.y && y < content.y + content.height && first < last;
    fill(target, begin, y, inside ? first - begin : end - begin);
    if (inside) fill(target, last, y, end - last);
  }
  const std::size_t pitch = padded(work_width);
  float* rows = channel_rows(scratch);
  for (int x = first; x < last; ++x) {
    float* p = rows + static_cast<std::size_t>(x - first) * 3 * pitch;
    convert_row(view, x - content.x, scratch, {p, p + pitch, p + 2 * pitch});
  }
  const int top = std::max(0, target.first - content.y),
            bottom = std::min(content.height, target.last - content.y);
  for (int y = top; y < bottom && first < last; ++y) {
    for (int c = 0; c < channels; ++c) {
      const float* p = rows + static_cast<std::size_t>(c) * pitch + y;
      float* q = at(target, c, first, content.y + y);
      const int step = interleaved ? channels : 1;
      for (int x = 0; x < last - first; ++x) q[x * step] = p[static_cast<std::size_t>(x) * 3 * pitch];
    }
  }
}

}  // namespace saccade::vision
