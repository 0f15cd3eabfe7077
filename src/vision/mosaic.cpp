#include "vision/mosaic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "saccade/error.h"
#include "vision/foreground.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/network_rows.h"
#include "vision/workspace.h"

namespace saccade::vision {

namespace {

constexpr std::uint8_t kNoClassHere = 255;
constexpr int kFinishedBlock = 256;  // pixels: those of 21 channels fit the first-level cache

template <class T>
void read_numbers(const T* in, std::ptrdiff_t step, int n, float* out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(class_index(in[i * step]));
}

}  // namespace

/// Rows of the whole result as they are being made: a ring of them, each with all channels, one after the
/// other.
struct Mosaic::State::Data {
  std::vector<float> rows;
  int base = 0;                             ///< the first row that is not finished
  std::vector<float> lerped, planes, wide;  ///< a row of a part's result on its way
  std::vector<float> band;                  ///< finished rows by channel, as the mapper takes them
  std::vector<float> lead;
  std::vector<std::uint8_t> strip;  ///< classes of the rows at hand
  int next_class_row = 0;
  Workspace workspace;
  std::vector<float> mask;
  std::vector<std::uint8_t> classes;
};

struct Mosaic::Impl {
  PartsAxis across, down;
  OutputSpec spec, result;
  OutputLayout layout;
  const MosaicKernels* kernels;
  const MaskKernels* class_kernels;
  bool interleaved, numbers;  ///< numbers: of classes, as the network's output
  int channels;               ///< of the rows: those that count
  int channel;                ///< the first of them in the network's output
  int capacity;               ///< rows at hand, the finished one included
  std::optional<Foreground> foreground;
  bool mask, class_map;
  int enlargement = 1;                ///< of classes, where the result is coarser than the picture
  std::optional<ClassMapper> mapper;  ///< of the rows at hand, where classes are enlarged
  Spread spread_x, spread_y;          ///< of a part's result, where it must be enlarged

  std::size_t width() const noexcept { return static_cast<std::size_t>(across.out); }
  std::size_t row_values() const noexcept { return static_cast<std::size_t>(channels) * width(); }
  /// All channels of a row.
  float* row(State::Data& d, int number) const noexcept {
    return d.rows.data() + static_cast<std::size_t>(number % capacity) * row_values();
  }
  int band_rows() const noexcept { return capacity + 1; }  ///< with one behind the last
  int class_width() const noexcept { return across.out * enlargement; }
  int class_height() const noexcept { return down.out * enlargement; }
  struct Planes {
    const float* values;
    std::ptrdiff_t step;  ///< from one channel to the next
  };
  Planes part_row(const float* output, int r, const Part& x, State::Data& d) const noexcept;
  void read_row_of_numbers(const void* output, int r, const Part& x, float* to) const noexcept;
  void finish(int r, State::Data& d) const noexcept;
  void upsampled_classes(int done, State::Data& d) const;
};

Mosaic::Mosaic(PartsAxis across, PartsAxis down, const OutputSpec& spec, const OutputLayout& layout,
               const std::vector<int>& classes, bool class_map, bool mask, Isa isa) {
  auto impl = std::make_unique<Impl>();
  impl->across = std::move(across);
  impl->down = std::move(down);
  impl->spec = spec;
  impl->layout = layout;
  impl->kernels = &mosaic_kernels(isa);
  impl->class_kernels = &mask_kernels(isa);
  impl->interleaved = spec.layout == TensorLayout::nhwc;
  impl->numbers = !can_average(spec);
  const bool one_counts = !has_classes(spec, layout) && spec.foreground_channel >= 0;
  impl->channels = one_counts ? 1 : layout.channels;
  impl->channel = one_counts ? spec.foreground_channel : 0;
  impl->capacity = impl->down.part_out + 1;
  impl->mask = mask;
  impl->class_map = class_map;
  if (class_map && !has_classes(spec, layout))
    throw Error(ErrorCode::unsupported, "the model's output carries no classes: it has one foreground only");
  const PartsAxis& x = impl->across;
  const PartsAxis& y = impl->down;
  if ((!x.enlarged && layout.width != x.part_out) || (!y.enlarged && layout.height != y.part_out))
    throw Error(ErrorCode::internal, "parts and their results differ in size");

  // What has been checked and chosen against the output's own channels is then read off planes of floats.
  const Foreground chosen(spec, layout, classes, isa);
  OutputSpec rows_spec = spec;
  if (one_counts) rows_spec.foreground_channel = -1;
  OutputLayout rows_layout{DType::f32, impl->channels, x.out, impl->band_rows()};
  impl->foreground.emplace(rows_spec, rows_layout, one_counts ? std::vector<int>{} : classes, isa);
  if (x.enlarged)
    impl->spread_x = Spread(x.part_out, layout.width, static_cast<double>(layout.width) / x.part_out);
  if (y.enlarged)
    impl->spread_y = Spread(y.part_out, layout.height, static_cast<double>(layout.height) / y.part_out);
  impl->result.kind = OutputKind::probability;
  impl->result.layout = TensorLayout::nchw;
  impl->result.class_names = {};
  const bool coarse = x.step_in == y.step_in && x.step_out == 1 && y.step_out == 1 && x.step_in > 1;
  if (class_map && coarse && !impl->numbers) {
    impl->enlargement = x.step_in;
    Geometry g;
    g.stored_width = g.upright_width = g.network_width = x.out * x.step_in;
    g.stored_height = g.upright_height = g.network_height = impl->band_rows() * y.step_in;
    g.content = {0, 0, g.network_width, g.network_height};
    rows_spec.layout = TensorLayout::nchw;
    impl->mapper.emplace(g, rows_spec, rows_layout, isa);
  }
  impl_ = std::move(impl);
}

Mosaic::~Mosaic() = default;
Mosaic::Mosaic(Mosaic&&) noexcept = default;
Mosaic& Mosaic::operator=(Mosaic&&) noexcept = default;

Mosaic::State::State() : data_(std::make_unique<Data>()) {}
Mosaic::State::~State() = default;
Mosaic::State::State(State&&) noexcept = default;
Mosaic::State& Mosaic::State::operator=(State&&) noexcept = default;

std::size_t Mosaic::State::band_bytes() const noexcept {
  const Data& d = *data_;
  return (d.rows.size() + d.lerped.size() + d.planes.size() + d.wide.size() + d.band.size() + d.lead.size()) *
             sizeof(float) +
         d.strip.size();
}
const float* Mosaic::State::mask() const noexcept { return data_->mask.data(); }
const std::uint8_t* Mosaic::State::classes() const noexcept { return data_->classes.data(); }

const PartsAxis& Mosaic::across() const noexcept { return impl_->across; }
const PartsAxis& Mosaic::down() const noexcept { return impl_->down; }
const OutputSpec& Mosaic::mask_spec() const noexcept { return impl_->result; }
OutputLayout Mosaic::mask_layout() const noexcept {
  return {DType::f32, 1, impl_->across.out, impl_->down.out};
}
OutputSpec Mosaic::class_spec() const {
  OutputSpec spec;
  spec.kind = OutputKind::class_map;
  return spec;
}
OutputLayout Mosaic::class_layout() const noexcept {
  return {DType::u8, 1, impl_->class_width(), impl_->class_height()};
}

Geometry Mosaic::geometry(const PictureSpec& picture) const {
  Geometry g = make_geometry(picture, Fit::stretch, impl_->across.padded, impl_->down.padded);
  g.content = {0, 0, g.upright_width, g.upright_height};
  return g;
}

Mosaic::State Mosaic::make_state() const {
  State state;
  State::Data& d = *state.data_;
  const Impl& m = *impl_;
  const std::size_t width = m.width(), height = static_cast<std::size_t>(m.down.out);
  const auto channels = static_cast<std::size_t>(m.channels);
  const auto part_width = static_cast<std::size_t>(m.layout.width + kSpreadMargin);
  d.rows.resize(m.row_values() * static_cast<std::size_t>(m.capacity));
  if (m.down.enlarged)
    d.lerped.resize(part_width * static_cast<std::size_t>(m.interleaved ? m.layout.channels : m.channels));
  if (m.interleaved || m.across.enlarged) d.planes.resize(part_width * channels);
  if (m.across.enlarged) d.wide.resize(static_cast<std::size_t>(m.across.part_out) * channels);
  if (m.mask) d.mask.resize(width * height);
  if (!m.class_map) return state;
  d.classes.resize(static_cast<std::size_t>(m.class_width()) * static_cast<std::size_t>(m.class_height()));
  if (m.mapper) {
    d.band.resize(m.row_values() * static_cast<std::size_t>(m.band_rows()));
    d.strip.resize(static_cast<std::size_t>(m.class_width()) *
                   static_cast<std::size_t>(m.band_rows() * m.enlargement));
  } else if (!m.numbers) {
    d.lead.resize(kFinishedBlock);
  }
  return state;
}

/// Row r of a part's result, enlarged where that is wanted: the pixels that count, side by side.
Mosaic::Impl::Planes Mosaic::Impl::part_row(const float* output, int r, const Part& x,
                                            State::Data& d) const noexcept {
  const std::ptrdiff_t pixel = interleaved ? layout.channels : 1;
  const std::ptrdiff_t line = pixel * layout.width, plane = line * layout.height;
  const int first = x.first - x.out_begin, count = x.last - x.first;
  const std::ptrdiff_t part_width = layout.width + kSpreadMargin;
  // `values` is the first of the channels that count, `step` what lies between them.
  const float* values = output + (interleaved ? channel : channel * plane);
  std::ptrdiff_t step = interleaved ? 1 : plane;
  if (down.enlarged) {
    const int upper = spread_y.index(r), lower = std::min(upper + 1, layout.height - 1);
    const float fraction = spread_y.fraction(r);
    if (interleaved) {  // the other channels too: they lie between
      kernels->lerp(output + upper * line, output + lower * line, fraction, static_cast<int>(line),
                    d.lerped.data());
      values = d.lerped.data() + channel;
    } else {
      for (int c = 0; c < channels; ++c)
        kernels->lerp(values + c * plane + upper * line, values + c * plane + lower * line, fraction,
                      layout.width, d.lerped.data() + c * part_width);
      values = d.lerped.data();
      step = part_width;
    }
  } else {
    values += r * line;
  }
  if (!interleaved && !across.enlarged) return {values + first, step};
  if (!across.enlarged) {
    class_kernels->to_planes(values + first * pixel, pixel, step, channels, count, d.planes.data(),
                             part_width);
    return {d.planes.data(), part_width};
  }
  class_kernels->to_planes(values, pixel, step, channels, layout.width, d.planes.data(), part_width);
  const SpreadTable table = spread_x.table();
  for (int c = 0; c < channels; ++c) {
    float* in = d.planes.data() + c * part_width;
    std::fill_n(in + layout.width, kSpreadMargin, in[layout.width - 1]);
    kernels->spread(in, table, spread_x.fractions(), first, first + count,
                    d.wide.data() + std::ptrdiff_t{c} * across.part_out);
  }
  return {d.wide.data(), across.part_out};
}

void Mosaic::Impl::read_row_of_numbers(const void* output, int r, const Part& x, float* to) const noexcept {
  const std::ptrdiff_t pixel = interleaved ? layout.channels : 1;
  const std::ptrdiff_t from = (std::ptrdiff_t{r} * layout.width + x.first - x.out_begin) * pixel;
  const void* raw =
      static_cast<const std::byte*>(output) + from * static_cast<std::ptrdiff_t>(dtype_size(layout.dtype));
  const int n = x.last - x.first;
  switch (layout.dtype) {
    case DType::u8:
      return read_numbers(static_cast<const std::uint8_t*>(raw), pixel, n, to);
    case DType::i32:
      return read_numbers(static_cast<const std::int32_t*>(raw), pixel, n, to);
    case DType::i64:
      return read_numbers(static_cast<const std::int64_t*>(raw), pixel, n, to);
    default:
      return read_numbers(static_cast<const float*>(raw), pixel, n, to);
  }
}

void Mosaic::add(const void* output, int row, int column, State& state) const {
  const Impl& m = *impl_;
  State::Data& d = *state.data_;
  const Part& x = m.across.parts[static_cast<std::size_t>(column)];
  const Part& y = m.down.parts[static_cast<std::size_t>(row)];
  if (row == 0 && column == 0) d.base = d.next_class_row = 0;
  // Pixels that an earlier part has counted for.
  const int rows_begun = row == 0 ? 0 : m.down.parts[static_cast<std::size_t>(row - 1)].last;
  const int columns_begun = column == 0 ? 0 : m.across.parts[static_cast<std::size_t>(column - 1)].last;
  const int n = x.last - x.first;
  for (int r = y.first; r < y.last; ++r) {
    float* to = m.row(d, r) + x.first;
    if (m.numbers) {
      m.read_row_of_numbers(output, r - y.out_begin, x, to);
      continue;
    }
    const Impl::Planes from = m.part_row(static_cast<const float*>(output), r - y.out_begin, x, d);
    const int begun = r < rows_begun ? n : std::clamp(columns_begun - x.first, 0, n);
    for (int c = 0; c < m.channels; ++c, to += m.across.out) {
      const float* in = from.values + c * from.step;
      if (x.weights.empty()) {
        std::memcpy(to, in, static_cast<std::size_t>(n) * sizeof(float));
        continue;
      }
      const float weight = y.weights[static_cast<std::size_t>(r - y.first)];
      m.kernels->add_weighted(in, x.weights.data(), weight, begun, to);
      m.kernels->set_weighted(in + begun, x.weights.data() + begun, weight, n - begun, to + begun);
    }
  }
}

/// The probability of each pixel of a finished row, and its class: block by block, so that what is read for
/// the one is still at hand for the other.
void Mosaic::Impl::finish(int r, State::Data& d) const noexcept {
  const float* in = row(d, r);
  const std::size_t at = static_cast<std::size_t>(r) * width();
  const bool number = class_map && !mapper;
  for (int begin = 0; begin < across.out; begin += kFinishedBlock) {
    const int n = std::min(kFinishedBlock, across.out - begin);
    const std::size_t to = at + static_cast<std::size_t>(begin);
    if (mask) {
      std::ptrdiff_t step = 1;
      const float* p = foreground->read(in + begin, 1, across.out, n, d.mask.data() + to, step);
      if (p != d.mask.data() + to)
        std::memcpy(d.mask.data() + to, p, static_cast<std::size_t>(n) * sizeof(float));
    }
    if (!number) continue;
    std::uint8_t* out = d.classes.data() + to;
    if (numbers) {
      for (int i = 0; i < n; ++i)
        out[i] = in[begin + i] < 0 ? kNoClassHere : static_cast<std::uint8_t>(in[begin + i]);
    } else {
      float largest = 0;
      class_kernels->leaders(in + begin, across.out, channels, n, d.lead.data(), out, &largest);
    }
  }
}

/// Classes of the picture's rows that lie between finished rows, exactly as of the enlarged result.
void Mosaic::Impl::upsampled_classes(int done, State::Data& d) const {
  const int end = done == down.out ? class_height() : done * enlargement - enlargement / 2;
  const int first =
      d.base - 1;  // the row in the band's first place, the first one there is repeated above itself
  const std::size_t plane = static_cast<std::size_t>(band_rows()) * width();
  for (int r = first; r < first + band_rows() && r <= done; ++r) {
    const float* from = row(d, std::clamp(r, 0, down.out - 1));
    float* to = d.band.data() + static_cast<std::size_t>(r - first) * width();
    for (int c = 0; c < channels; ++c, from += across.out, to += plane)
      std::memcpy(to, from, width() * sizeof(float));
  }
  PlaneView strip;
  strip.data = d.strip.data();
  strip.width = class_width();
  strip.height = band_rows() * enlargement;
  strip.stride = strip.width;
  mapper->run(d.band.data(), strip, d.workspace);
  const int top = first * enlargement;  // the picture's row in the strip's first
  for (; d.next_class_row < end; ++d.next_class_row)
    std::memcpy(
        d.classes.data() + static_cast<std::size_t>(d.next_class_row) * static_cast<std::size_t>(strip.width),
        strip.data + strip.stride * (d.next_class_row - top), static_cast<std::size_t>(strip.width));
}

void Mosaic::finish_row(int row, State& state) const {
  const Impl& m = *impl_;
  State::Data& d = *state.data_;
  const auto& parts = m.down.parts;
  const bool last = row + 1 == static_cast<int>(parts.size());
  const int done = last ? m.down.out : parts[static_cast<std::size_t>(row) + 1].first;
  for (int r = d.base; r < done; ++r) m.finish(r, d);
  if (m.mapper) m.upsampled_classes(done, d);
  d.base = done;
}

bool can_average(const OutputSpec& spec) noexcept { return spec.kind != OutputKind::class_map; }

}  // namespace saccade::vision
