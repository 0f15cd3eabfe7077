#include "vision/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "vision/color.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/sampler.h"

namespace saccade::vision {

namespace {

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 15) / 16 * 16; }

// A rotation as signs: stored x = xx * upright x + xy * upright y, and so on, about the middle.
struct Turn {
  int xx, xy, yx, yy;
  bool operator==(const Turn&) const = default;
};
constexpr std::array<Turn, 8> kTurns = {{
    {1, 0, 0, 1},    // none
    {0, 1, -1, 0},   // clockwise_90
    {-1, 0, 0, -1},  // half_turn
    {0, -1, 1, 0},   // clockwise_270
    {-1, 0, 0, 1},   // flip_horizontal
    {1, 0, 0, -1},   // flip_vertical
    {0, 1, 1, 0},    // transpose
    {0, -1, -1, 0},  // transverse
}};

// How the stored source must be turned to lie like the stored target.
Rotation relative_rotation(Rotation source, Rotation target) noexcept {
  const Turn& s = kTurns[static_cast<std::size_t>(source)];
  const Turn& t = kTurns[static_cast<std::size_t>(target)];
  // The inverse of a turn is its transpose.
  const Turn both = {s.xx * t.xx + s.xy * t.xy, s.xx * t.yx + s.xy * t.yy, s.yx * t.xx + s.yy * t.xy,
                     s.yx * t.yx + s.yy * t.yy};
  const auto found = std::find(kTurns.begin(), kTurns.end(), both);
  return static_cast<Rotation>(found - kTurns.begin());
}

// One direction: the target's samples `first` to `first + count` show `extent` luma samples of the source
// from `origin` on.
struct Placed {
  int first, count;
  double origin, extent;
};

// `shown` are lengths on a screen, so that their quotients are scales that can be compared between the
// directions.
std::pair<Placed, Placed> place(Placement placement, std::array<int, 2> source,
                                std::array<double, 2> shown_source, std::array<int, 2> target,
                                std::array<double, 2> shown_target) noexcept {
  std::array<Placed, 2> placed{};
  const std::array<double, 2> scale = {shown_target[0] / shown_source[0], shown_target[1] / shown_source[1]};
  for (std::size_t k = 0; k < 2; ++k) {
    placed[k] = {0, target[k], 0, static_cast<double>(source[k])};
    if (placement == Placement::cover) {
      placed[k].extent = source[k] * scale[k] / std::max(scale[0], scale[1]);
      placed[k].origin = (source[k] - placed[k].extent) / 2;
    } else if (placement == Placement::contain) {
      const double part = std::min(scale[0], scale[1]) / scale[k];
      placed[k].count = std::clamp(static_cast<int>(std::lround(target[k] * part)), 1, target[k]);
      placed[k].first = (target[k] - placed[k].count) / 2;
    }
  }
  return {placed[0], placed[1]};
}

// The components of the target that share a grid.
struct Part {
  std::vector<int> components;
  Sampler sampler;
  // Samples of the grid that show the source; the rest is black.
  int first_x = 0, end_x = 0, first_y = 0, end_y = 0;
};

// Grid samples whose luma position lies within [begin, end) of `length` pixels; at the picture's edge also
// those whose position lies beyond it.
std::pair<int, int> inside(const TargetAxis& axis, int begin, int end, int length) noexcept {
  int first = axis.count, last = 0;
  for (int i = 0; i < axis.count; ++i) {
    const double p = axis.first + i * axis.step;
    if ((begin > 0 && p < begin - 0.5) || (end < length && p >= end - 0.5)) continue;
    first = std::min(first, i);
    last = i + 1;
  }
  return {first, std::max(first, last)};
}

}  // namespace

struct Converter::Impl {
  PictureSpec source, target;
  FormatInfo info, target_info;
  Rotation turn;
  bool swapped;
  bool identical;  // nothing to do but copy
  bool direct;     // same colours: components go one to one
  const PreprocessKernels* kernels;
  std::vector<Part> parts;
  ConvertRow to_rgb{};
  YuvToRgb from_rgb{};
  std::array<float, 4> gain{}, bias{};  // of the direct way, by component
  std::array<int, 4> black{};

  void prepare_colors();
  void copy(const ConstPictureView& from, const PictureView& to) const noexcept;
  void run_part(const Part& part, const ConstPictureView& from, const PictureView& to,
                float* scratch) const noexcept;
  void store(const PictureView& to, int c, int row, int first, int end, const float* values) const noexcept;
  void fill_black(const Part& part, const PictureView& to) const noexcept;
  std::size_t scratch_floats() const noexcept;
};

Converter::Converter(const PictureSpec& source, const PictureSpec& target, Placement placement, Isa isa) {
  make_geometry(source, Fit::stretch, 1, 1);  // check sizes and aspects
  make_geometry(target, Fit::stretch, 1, 1);
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  impl->target = target;
  impl->info = format_info(source.format);
  impl->target_info = format_info(target.format);
  impl->turn = relative_rotation(source.rotation, target.rotation);
  impl->swapped = swaps_axes(impl->turn);
  impl->kernels = &preprocess_kernels(isa);
  impl->prepare_colors();

  std::array<int, 2> size = {source.width, source.height};
  std::array<double, 2> shown = {source.width * source.pixel_aspect, static_cast<double>(source.height)};
  if (impl->swapped) {
    std::swap(size[0], size[1]);
    std::swap(shown[0], shown[1]);
  }
  const std::array<double, 2> shown_target = {target.width * target.pixel_aspect,
                                              static_cast<double>(target.height)};
  const auto [x, y] = place(placement, size, shown, {target.width, target.height}, shown_target);
  impl->identical = source.format == target.format && source.color == target.color &&
                    impl->turn == Rotation::none && source.width == target.width &&
                    source.height == target.height && x.count == target.width && y.count == target.height &&
                    x.origin == 0 && y.origin == 0;

  PictureSpec turned = source;
  turned.rotation = impl->turn;
  const FormatInfo& to = impl->target_info;
  const bool subsampled = to.model == ColorModel::yuv && (to.shift_x > 0 || to.shift_y > 0);
  for (const bool chroma : {false, true}) {
    Part part;
    for (int c = 0; c < to.colors + (to.alpha ? 1 : 0); ++c)
      if ((subsampled && to.is_chroma(c)) == chroma) part.components.push_back(c);
    if (part.components.empty()) continue;
    const auto axis = [&](bool vertical, const Placed& placed) {
      TargetAxis a;
      a.count =
          vertical ? to.height_of(chroma ? 1 : 0, target.height) : to.width_of(chroma ? 1 : 0, target.width);
      a.first = chroma ? first_chroma_position(to, target.color.chroma, vertical) : 0;
      a.step = chroma ? 1 << (vertical ? to.shift_y : to.shift_x) : 1;
      a.ratio = placed.extent / placed.count;
      a.origin = placed.origin - placed.first * a.ratio;
      return a;
    };
    const TargetAxis across = axis(false, x), down = axis(true, y);
    part.sampler = Sampler(turned, across, down, ResizeRule::area, *impl->kernels);
    std::tie(part.first_x, part.end_x) = inside(across, x.first, x.first + x.count, target.width);
    std::tie(part.first_y, part.end_y) = inside(down, y.first, y.first + y.count, target.height);
    impl->parts.push_back(std::move(part));
  }
  impl_ = std::move(impl);
}

Converter::~Converter() = default;
Converter::Converter(Converter&&) noexcept = default;
Converter& Converter::operator=(Converter&&) noexcept = default;

void Converter::Impl::prepare_colors() {
  const YuvToRgb in = samples_to_rgb(source.format, source.color);
  from_rgb = rgb_to_samples(target.format, target.color);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 3; ++k) to_rgb.matrix[c][k] = static_cast<float>(in.m[c][k]);
    to_rgb.offset[c] = static_cast<float>(in.offset[c]);
    to_rgb.scale[c] = 1;
    to_rgb.bias[c] = 0;
  }
  to_rgb.row_coverage = 1;
  const bool same_meaning = info.model == ColorModel::rgb ||
                            (source.color.range == target.color.range &&
                             (info.model == ColorModel::gray || source.color.matrix == target.color.matrix));
  direct = info.model == target_info.model && same_meaning;
  // One after the other the two transforms only scale and shift each component then.
  for (std::size_t c = 0; direct && c < info.colors; ++c) {
    double scale = 0, shift = from_rgb.offset[c];
    for (std::size_t k = 0; k < 3; ++k) {
      scale += from_rgb.m[c][k] * in.m[k][c];
      shift += from_rgb.m[c][k] * in.offset[k];
    }
    gain[c] = static_cast<float>(scale);
    bias[c] = static_cast<float>(shift);
  }
  const std::array<int, 3> dark = color_samples({0, 0, 0}, target.format, target.color);
  std::copy(dark.begin(), dark.end(), black.begin());
  if (target_info.alpha) {
    black[target_info.colors] = target_info.max_value();
    gain[target_info.colors] =
        static_cast<float>(target_info.max_value()) / static_cast<float>(info.max_value());
    bias[target_info.colors] = 0;
  }
}

std::size_t Converter::Impl::scratch_floats() const noexcept {
  std::size_t widest = 0, source_row = 0;
  for (const Part& part : parts) {
    widest = std::max(widest, padded(part.sampler.width()));
    source_row = std::max(source_row, part.sampler.source_row_floats());
  }
  return 6 * widest + source_row;
}

void Converter::run(const ConstPictureView& source, const PictureView& target, Workspace& workspace) const {
  require_match(source, impl_->source, "source");
  require_match(target, impl_->target, "target");
  if (impl_->identical) return impl_->copy(source, target);
  auto* scratch = reinterpret_cast<float*>(workspace.reserve(impl_->scratch_floats() * sizeof(float)));
  for (const Part& part : impl_->parts) {
    impl_->fill_black(part, target);
    impl_->run_part(part, source, target, scratch);
  }
}

void Converter::Impl::copy(const ConstPictureView& from, const PictureView& to) const noexcept {
  for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c) {
    const Component& part = info.component[static_cast<std::size_t>(c)];
    // Interleaved components come with the first of their plane.
    if (part.offset != 0) continue;
    const auto bytes = static_cast<std::size_t>(info.width_of(c, from.width)) * part.step *
                       static_cast<std::size_t>(info.bytes());
    for (int y = 0; y < info.height_of(c, from.height); ++y)
      std::memcpy(to.planes[part.plane] + to.strides[part.plane] * y,
                  from.planes[part.plane] + from.strides[part.plane] * y, bytes);
  }
}

// Values of work row `row`, samples first to end of it, rounded to the component's samples.
void Converter::Impl::store(const PictureView& to, int c, int row, int first, int end,
                            const float* values) const noexcept {
  const Component& part = target_info.component[static_cast<std::size_t>(c)];
  const std::ptrdiff_t stride = to.strides[part.plane];
  const std::ptrdiff_t pixel = part.step * target_info.bytes();
  const std::ptrdiff_t along = swapped ? stride : pixel, across = swapped ? pixel : stride;
  std::uint8_t* p = to.planes[part.plane] + part.offset * target_info.bytes() + across * row;
  const auto top = static_cast<float>(target_info.max_value());
  for (int i = first; i < end; ++i) {
    const auto v = static_cast<std::uint16_t>(std::clamp(values[i], 0.0f, top) + 0.5f);
    if (target_info.bytes() == 2)
      std::memcpy(p + along * i, &v, 2);
    else
      p[along * i] = static_cast<std::uint8_t>(v);
  }
}

void Converter::Impl::run_part(const Part& part, const ConstPictureView& from, const PictureView& to,
                               float* scratch) const noexcept {
  const int n = part.sampler.width();
  const std::size_t pitch = padded(n);
  float* source_row = scratch + 6 * pitch;
  const int first = swapped ? part.first_y : part.first_x, end = swapped ? part.end_y : part.end_x;
  const int first_row = swapped ? part.first_x : part.first_y, end_row = swapped ? part.end_x : part.end_y;
  for (int row = first_row; row < end_row; ++row) {
    if (!direct) {
      ConvertRow a = to_rgb;
      for (int c = 0; c < 3; ++c) {
        const auto k = static_cast<std::size_t>(c);
        a.in[k] = scratch + (c < info.colors ? k * pitch : 0);
        a.out[k] = scratch + (3 + k) * pitch;
        if (c < info.colors) part.sampler.sample(from, c, row, scratch + k * pitch, source_row);
      }
      a.n = n;
      kernels->convert(a);
    }
    for (const int c : part.components) {
      const auto k = static_cast<std::size_t>(c);
      float* values = scratch;
      if (c == target_info.colors && !info.alpha) continue;  // stays opaque
      if (direct || c == target_info.colors) {
        part.sampler.sample(from, c == target_info.colors ? info.colors : c, row, values, source_row);
        for (int i = 0; i < n; ++i) values[i] = values[i] * gain[k] + bias[k];
      } else {
        const float m0 = static_cast<float>(from_rgb.m[k][0]), m1 = static_cast<float>(from_rgb.m[k][1]),
                    m2 = static_cast<float>(from_rgb.m[k][2]);
        const float offset = static_cast<float>(from_rgb.offset[k]);
        const float* r = scratch + 3 * pitch;
        const float* g = r + pitch;
        const float* b = g + pitch;
        for (int i = 0; i < n; ++i) values[i] = m0 * r[i] + m1 * g[i] + m2 * b[i] + offset;
      }
      store(to, c, row, first, end, values);
    }
  }
}

// Bars, and the alpha of what has none.
void Converter::Impl::fill_black(const Part& part, const PictureView& to) const noexcept {
  for (const int c : part.components) {
    const Component& component = target_info.component[static_cast<std::size_t>(c)];
    const bool all = c == target_info.colors && !info.alpha;
    const int width = target_info.width_of(c, to.width), height = target_info.height_of(c, to.height);
    const auto value = static_cast<std::uint16_t>(black[static_cast<std::size_t>(c)]);
    for (int y = 0; y < height; ++y) {
      const bool bar = all || y < part.first_y || y >= part.end_y;
      std::uint8_t* row = to.planes[component.plane] + to.strides[component.plane] * y +
                          component.offset * target_info.bytes();
      for (int x = 0; x < width; ++x) {
        if (!bar && x == part.first_x) x = part.end_x;
        if (x >= width) break;
        if (target_info.bytes() == 2)
          std::memcpy(row + 2 * x * component.step, &value, 2);
        else
          row[x * component.step] = static_cast<std::uint8_t>(value);
      }
    }
  }
}

}  // namespace saccade::vision
