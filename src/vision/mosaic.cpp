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

template <class T>
void read_numbers(const T* in, std::ptrdiff_t step, int n, float* out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(class_index(in[i * step]));
}

}  // namespace

/// Rows of the whole result as they are being made: planes of channels, with a row above that is finished
/// already.
struct Mosaic::State::Data {
  std::vector<float> rows;
  int base = 0;  ///< number of the row in place 1
  std::vector<float> enlarged;
  std::vector<float> line, best;
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
  bool interleaved, numbers;  ///< numbers: of classes, as the network's output
  int channels;               ///< of the rows: those that count
  int channel;                ///< the first of them in the network's output
  int capacity;               ///< rows at hand, the finished one and one behind the last included
  std::optional<Foreground> foreground;
  bool class_map;
  int enlargement = 1;                ///< of classes, where the result is coarser than the picture
  std::optional<ClassMapper> mapper;  ///< of the rows at hand, where classes are enlarged
  Spread spread_x, spread_y;          ///< of a part's result, where it must be enlarged

  std::size_t plane() const noexcept {
    return static_cast<std::size_t>(capacity) * static_cast<std::size_t>(across.out);
  }
  float* row(State::Data& d, int channel_of_rows, int place) const noexcept {
    return d.rows.data() + static_cast<std::size_t>(channel_of_rows) * plane() +
           static_cast<std::size_t>(place) * static_cast<std::size_t>(across.out);
  }
  int class_width() const noexcept { return across.out * enlargement; }
  int class_height() const noexcept { return down.out * enlargement; }
  void enlarge(const float* in, std::ptrdiff_t pixel, std::ptrdiff_t line, int width, int height,
               State::Data& d) const noexcept;
  void number_rows(int first, int last, State::Data& d) const noexcept;
  void upsampled_classes(int done, State::Data& d) const;
};

Mosaic::Mosaic(PartsAxis across, PartsAxis down, const OutputSpec& spec, const OutputLayout& layout,
               const std::vector<int>& classes, bool class_map, Isa isa) {
  auto impl = std::make_unique<Impl>();
  impl->across = std::move(across);
  impl->down = std::move(down);
  impl->spec = spec;
  impl->layout = layout;
  impl->kernels = &mosaic_kernels(isa);
  impl->interleaved = spec.layout == TensorLayout::nhwc;
  impl->numbers = !can_average(spec);
  const bool one_counts = !has_classes(spec, layout) && spec.foreground_channel >= 0;
  impl->channels = one_counts ? 1 : layout.channels;
  impl->channel = one_counts ? spec.foreground_channel : 0;
  impl->capacity = impl->down.part_out + 2;
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
  OutputLayout rows_layout{DType::f32, impl->channels, x.out, impl->capacity};
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
    g.stored_height = g.upright_height = g.network_height = impl->capacity * y.step_in;
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
  return (data_->rows.size() + data_->enlarged.size() + data_->line.size() + data_->best.size()) *
             sizeof(float) +
         data_->strip.size();
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
  const auto width = static_cast<std::size_t>(m.across.out), height = static_cast<std::size_t>(m.down.out);
  d.rows.resize(static_cast<std::size_t>(m.channels) * m.plane());
  if (m.across.enlarged || m.down.enlarged)
    d.enlarged.resize(static_cast<std::size_t>(m.across.part_out) *
                          static_cast<std::size_t>(m.down.part_out) +
                      static_cast<std::size_t>(std::max(m.layout.width, m.across.part_out)));
  d.line.resize(width);
  d.best.resize(m.class_map ? width : 0);
  d.mask.resize(width * height);
  if (m.class_map) {
    d.classes.resize(static_cast<std::size_t>(m.class_width()) * static_cast<std::size_t>(m.class_height()));
    if (m.mapper)
      d.strip.resize(static_cast<std::size_t>(m.class_width()) *
                     static_cast<std::size_t>(m.capacity * m.enlargement));
  }
  return state;
}

/// One channel of a part's result, bilinearly at half-pixel positions.
void Mosaic::Impl::enlarge(const float* in, std::ptrdiff_t pixel, std::ptrdiff_t line, int width, int height,
                           State::Data& d) const noexcept {
  float* lerped =
      d.enlarged.data() + static_cast<std::size_t>(across.part_out) * static_cast<std::size_t>(down.part_out);
  for (int y = 0; y < down.part_out; ++y) {
    const int upper = down.enlarged ? spread_y.index(y) : y;
    const float v = down.enlarged ? spread_y.fraction(y) : 0.0f;
    const float* a = in + upper * line;
    const float* b = in + std::min(upper + 1, height - 1) * line;
    for (int i = 0; i < width; ++i) lerped[i] = a[i * pixel] + (b[i * pixel] - a[i * pixel]) * v;
    float* out = d.enlarged.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(across.part_out);
    for (int x = 0; x < across.part_out; ++x) {
      const int left = across.enlarged ? spread_x.index(x) : x;
      const float u = across.enlarged ? spread_x.fraction(x) : 0.0f;
      out[x] = lerped[left] + (lerped[std::min(left + 1, width - 1)] - lerped[left]) * u;
    }
  }
}

void Mosaic::add(const void* output, int row, int column, State& state) const {
  const Impl& m = *impl_;
  State::Data& d = *state.data_;
  const Part& x = m.across.parts[static_cast<std::size_t>(column)];
  const Part& y = m.down.parts[static_cast<std::size_t>(row)];
  if (row == 0 && column == 0) {
    d.base = d.next_class_row = 0;
    std::fill(d.rows.begin(), d.rows.end(), 0.0f);
  }
  const int n = x.last - x.first;
  for (int c = 0; c < m.channels; ++c) {
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(m.layout.width) * m.layout.height;
    std::ptrdiff_t pixel = m.interleaved ? m.layout.channels : 1, line = pixel * m.layout.width;
    std::ptrdiff_t at = (m.channel + c) * (m.interleaved ? 1 : plane);
    const float* values = static_cast<const float*>(output);
    if (m.across.enlarged || m.down.enlarged) {
      m.enlarge(values + at, pixel, line, m.layout.width, m.layout.height, d);
      values = d.enlarged.data();
      at = 0;
      pixel = 1;
      line = m.across.part_out;
    }
    at += (x.first - x.out_begin) * pixel;
    for (int r = y.first; r < y.last; ++r) {
      const std::ptrdiff_t from = at + (r - y.out_begin) * line;
      float* to = m.row(d, c, r - d.base + 1) + x.first;
      if (m.numbers) {
        const void* raw = static_cast<const std::byte*>(output) +
                          from * static_cast<std::ptrdiff_t>(dtype_size(m.layout.dtype));
        switch (m.layout.dtype) {
          case DType::u8:
            read_numbers(static_cast<const std::uint8_t*>(raw), pixel, n, to);
            break;
          case DType::i32:
            read_numbers(static_cast<const std::int32_t*>(raw), pixel, n, to);
            break;
          case DType::i64:
            read_numbers(static_cast<const std::int64_t*>(raw), pixel, n, to);
            break;
          default:
            read_numbers(static_cast<const float*>(raw), pixel, n, to);
            break;
        }
      } else if (!x.weights.empty()) {
        m.kernels->add_weighted(values + from, pixel, x.weights.data(),
                                y.weights[static_cast<std::size_t>(r - y.first)], n, to);
      } else if (pixel == 1) {
        std::memcpy(to, values + from, static_cast<std::size_t>(n) * sizeof(float));
      } else {
        for (int i = 0; i < n; ++i) to[i] = values[from + i * pixel];
      }
    }
  }
}

/// The class of each pixel of finished rows: the largest so far, channel by channel.
void Mosaic::Impl::number_rows(int first, int last, State::Data& d) const noexcept {
  const auto width = static_cast<std::size_t>(across.out);
  for (int r = first; r < last; ++r) {
    const int place = r - d.base + 1;
    std::uint8_t* number = d.classes.data() + static_cast<std::size_t>(r) * width;
    if (numbers) {
      const float* in = row(d, 0, place);
      for (std::size_t i = 0; i < width; ++i)
        number[i] = in[i] < 0 ? kNoClassHere : static_cast<std::uint8_t>(in[i]);
      continue;
    }
    std::memcpy(d.best.data(), row(d, 0, place), width * sizeof(float));
    std::memset(number, 0, width);
    for (int c = 1; c < channels; ++c)
      kernels->raise(row(d, c, place), static_cast<std::uint8_t>(c), across.out, d.best.data(), number);
  }
}

/// Classes of the picture's rows that lie between finished rows, exactly as of the enlarged result.
void Mosaic::Impl::upsampled_classes(int done, State::Data& d) const {
  const int end = done == down.out ? class_height() : done * enlargement - enlargement / 2;
  const std::size_t width = static_cast<std::size_t>(across.out) * sizeof(float);
  for (int c = 0; c < channels; ++c) {
    if (d.base == 0) std::memcpy(row(d, c, 0), row(d, c, 1), width);
    if (done == down.out) std::memcpy(row(d, c, done - d.base + 1), row(d, c, done - d.base), width);
  }
  PlaneView strip;
  strip.data = d.strip.data();
  strip.width = class_width();
  strip.height = capacity * enlargement;
  strip.stride = strip.width;
  mapper->run(d.rows.data(), strip, d.workspace);
  const int top = (d.base - 1) * enlargement;  // the picture's row in the strip's first
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
  const auto width = static_cast<std::size_t>(m.across.out);
  for (int r = d.base; r < done; ++r) {
    float* out = d.mask.data() + static_cast<std::size_t>(r) * width;
    std::ptrdiff_t step = 1;
    const float* p = m.foreground->read(m.row(d, 0, r - d.base + 1), 1,
                                        static_cast<std::ptrdiff_t>(m.plane()), m.across.out, out, step);
    if (p != out) std::memcpy(out, p, width * sizeof(float));
  }
  if (m.mapper)
    m.upsampled_classes(done, d);
  else if (m.class_map)
    m.number_rows(d.base, done, d);
  // What later parts still count for moves up; the last finished row stays above it.
  const int gone = done - d.base;
  if (last || gone == 0) return;
  for (int c = 0; c < m.channels; ++c) {
    const std::size_t kept = static_cast<std::size_t>(m.capacity - gone) * width;
    std::memmove(m.row(d, c, 0), m.row(d, c, gone), kept * sizeof(float));
    std::fill_n(m.row(d, c, m.capacity - gone), static_cast<std::size_t>(gone) * width, 0.0f);
  }
  d.base = done;
}

bool can_average(const OutputSpec& spec) noexcept { return spec.kind != OutputKind::class_map; }

}  // namespace saccade::vision
