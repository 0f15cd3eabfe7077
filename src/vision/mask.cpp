#include "vision/mask.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "saccade/error.h"
#include "vision/foreground.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/mask_shape.h"
#include "vision/network_rows.h"

namespace saccade::vision {

namespace {

constexpr std::int16_t kFull = 32767;
constexpr int kSpreadBits = 15;

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 31) / 32 * 32; }

}  // namespace

OutputLayout output_layout(const OutputSpec& spec, DType dtype, const Shape& shape) {
  const auto refuse = [&](const std::string& why) -> OutputLayout {
    throw Error(ErrorCode::shape_mismatch,
                "output '" + spec.tensor + "' of shape " + shape_string(shape) + ": " + why);
  };
  OutputLayout layout;
  layout.dtype = dtype;
  for (const std::int64_t d : shape)
    if (d < 1 || d > 65536) return refuse("every dimension must be 1 to 65536");
  const auto dim = [&](std::size_t i) { return static_cast<int>(shape[i]); };
  const std::size_t rank = shape.size();
  if (rank == 2 || (rank == 3 && spec.kind == OutputKind::class_map)) {
    layout.height = dim(rank - 2);
    layout.width = dim(rank - 1);
  } else if (rank == 3 || rank == 4) {
    const bool interleaved = spec.layout == TensorLayout::nhwc;
    layout.channels = dim(interleaved ? rank - 1 : rank - 3);
    layout.height = dim(interleaved ? rank - 3 : rank - 2);
    layout.width = dim(interleaved ? rank - 2 : rank - 1);
  } else {
    return refuse("expected [N,]C,H,W, [N,]H,W,C or H,W");
  }
  if (spec.kind == OutputKind::class_map) {
    if (layout.channels != 1) return refuse("a class map has one channel");
    if (dtype != DType::u8 && dtype != DType::i32 && dtype != DType::i64 && dtype != DType::f32)
      return refuse("a class map must be uint8, int32, int64 or float32");
  } else if (dtype != DType::f32) {
    return refuse("only float32 can be read as probabilities or logits");
  }
  const bool says_which = spec.foreground_channel >= 0;
  const bool one_counts = spec.kind == OutputKind::probability || spec.kind == OutputKind::logits ||
                          spec.kind == OutputKind::alpha;
  if (one_counts && spec.foreground_channel >= layout.channels)
    return refuse("there is no channel " + std::to_string(spec.foreground_channel) +
                  ", which output.foreground_channel names");
  if (spec.kind == OutputKind::logits && layout.channels != 1 && !says_which)
    return refuse(
        "logits have one channel; for several classes use class_logits, for one of several channels "
        "foreground_channel");
  if (spec.kind == OutputKind::alpha && layout.channels != 1 && !says_which)
    return refuse("alpha has one channel; foreground_channel says which of several");
  if (spec.kind == OutputKind::class_logits && layout.channels < 2)
    return refuse("class_logits need two channels or more");
  return layout;
}

bool has_classes(const OutputSpec& spec, const OutputLayout& layout) {
  return spec.kind == OutputKind::class_logits || spec.kind == OutputKind::class_map ||
         (spec.kind == OutputKind::probability && layout.channels > 1 && spec.foreground_channel < 0);
}

struct Masker::Impl {
  Impl(const Geometry& g, const OutputSpec& spec, const OutputLayout& output_layout,
       const MaskOptions& mask_options, int alpha_depth, Isa isa)
      : geometry(g),
        layout(output_layout),
        options(mask_options),
        depth(alpha_depth),
        kernels(&mask_kernels(isa)),
        foreground(spec, output_layout, mask_options.classes, isa),
        rows(g, output_layout, spec.layout),
        across(rows.across()),
        down(rows.down()),
        shape(mask_options.grow, mask_options.feather, isa) {}

  Geometry geometry;
  OutputLayout layout;
  MaskOptions options;
  int depth;
  const MaskKernels* kernels;
  Foreground foreground;
  NetworkRows rows;
  Spread across, down;
  MaskShape shape;
  std::optional<ClassMapper> mapper;  // for the rule argmax

  int top() const noexcept { return (1 << depth) - 1; }
  std::size_t pitch() const noexcept { return padded(rows.width() + kSpreadMargin); }
  bool inverts_probability() const noexcept { return options.invert && !options.threshold; }

  void read_row(const void* output, int row, float* values, std::int16_t* out) const;
  void run_map(const void* output, const PlaneView& alpha, Workspace& workspace) const;
  void run_probabilities(const void* output, const PlaneView& alpha, Workspace& workspace) const;
  template <class T>
  void finish_row(const std::int16_t* row, std::int16_t* wide, T* out) const noexcept;
};

Masker::Masker(const Geometry& geometry, const OutputSpec& spec, const OutputLayout& layout,
               const MaskOptions& options, int depth, Isa isa) {
  if (depth != 8 && depth != 10 && depth != 12 && depth != 16)
    throw Error(ErrorCode::invalid_argument,
                "alpha depth " + std::to_string(depth) + ": must be 8, 10, 12 or 16");
  if (options.threshold && !(*options.threshold >= 0 && *options.threshold <= 1))
    throw Error(ErrorCode::invalid_argument,
                "threshold " + std::to_string(*options.threshold) + ": must be within 0 and 1");
  if (!(options.softness >= 0 && options.softness <= 2))
    throw Error(ErrorCode::invalid_argument,
                "softness " + std::to_string(options.softness) + ": must be within 0 and 2");
  auto impl = std::make_unique<Impl>(geometry, spec, layout, options, depth, isa);
  if (has_classes(spec, layout) && spec.kind != OutputKind::class_map && options.rule == ClassRule::argmax)
    impl->mapper.emplace(geometry, spec, layout, isa);
  impl_ = std::move(impl);
}

Masker::~Masker() = default;
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;

void Masker::run(const void* output, const PlaneView& alpha, Workspace& workspace) const {
  const Geometry& g = impl_->geometry;
  if (alpha.width != g.stored_width || alpha.height != g.stored_height || alpha.depth != impl_->depth ||
      alpha.data == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "alpha plane of " + std::to_string(alpha.width) + "x" + std::to_string(alpha.height) +
                    " at " + std::to_string(alpha.depth) + " bits, expected " +
                    std::to_string(g.stored_width) + "x" + std::to_string(g.stored_height) + " at " +
                    std::to_string(impl_->depth));
  if (impl_->mapper)
    impl_->run_map(output, alpha, workspace);
  else
    impl_->run_probabilities(output, alpha, workspace);
  if (impl_->shape.active()) impl_->shape.run(alpha, workspace);
}

// The foreground probability along one row of the walk, as 15-bit values with the last one repeated behind
// the end.
void Masker::Impl::read_row(const void* output, int row, float* values, std::int16_t* out) const {
  const int n = rows.width();
  const auto* first = static_cast<const std::byte*>(output) +
                      rows.start(row) * static_cast<std::ptrdiff_t>(dtype_size(layout.dtype));
  std::ptrdiff_t step = 1;
  const float* p = foreground.read(first, rows.pixel_step(), rows.channel_step(), n, values, step);
  kernels->quantise(p, step, n, out);
  if (inverts_probability())
    for (int i = 0; i < n; ++i) out[i] = static_cast<std::int16_t>(kFull - out[i]);
  std::fill_n(out + n, pitch() - static_cast<std::size_t>(n), out[n - 1]);
}

template <class T>
void Masker::Impl::finish_row(const std::int16_t* row, std::int16_t* wide, T* out) const noexcept {
  const SpreadTable table = across.table();
  constexpr bool kBytes = sizeof(T) == 1;
  if constexpr (!kBytes) {
    if (!options.threshold && depth > kSpreadBits) {
      // Off the hot path, and the kernels' factors have 15 bits: 0..32767 becomes 0..65535, rounded.
      kernels->spread(row, table, wide);
      for (int i = 0; i < table.count; ++i) {
        const int value = std::max<int>(wide[i], 0);
        out[i] = static_cast<T>(2 * value + (value >> (kSpreadBits - 1)));
      }
      return;
    }
  }
  if (!options.threshold) {
    const auto multiplier = static_cast<std::int16_t>(top());
    if constexpr (kBytes)
      kernels->spread_u8(row, table, multiplier, out);
    else
      kernels->spread_u16(row, table, multiplier, out);
    return;
  }
  kernels->spread(row, table, wide);
  const float threshold = *options.threshold;
  if (options.softness > 0) {
    const float slope = (options.invert ? -1.0f : 1.0f) / options.softness;
    if constexpr (kBytes)
      kernels->ramp_u8(wide, threshold, slope, static_cast<float>(top()), table.count, out);
    else
      kernels->ramp_u16(wide, threshold, slope, static_cast<float>(top()), table.count, out);
    return;
  }
  const auto limit = static_cast<std::int16_t>(threshold * static_cast<float>(kFull));
  const T above = static_cast<T>(options.invert ? 0 : top()),
          below = static_cast<T>(options.invert ? top() : 0);
  if constexpr (kBytes)
    kernels->threshold_u8(wide, limit, above, below, table.count, out);
  else
    kernels->threshold_u16(wide, limit, above, below, table.count, out);
}

void Masker::Impl::run_probabilities(const void* output, const PlaneView& alpha, Workspace& workspace) const {
  const int low_height = rows.height();
  const std::size_t row_pitch = pitch(), wide_pitch = padded(alpha.width);
  const std::size_t plane_values = row_pitch * (static_cast<std::size_t>(low_height) + 1);
  std::uint8_t* memory = workspace.reserve((plane_values + row_pitch + wide_pitch) * sizeof(std::int16_t) +
                                           padded(rows.width()) * sizeof(float));
  auto* plane = reinterpret_cast<std::int16_t*>(memory);
  std::int16_t* lerped = plane + plane_values;
  std::int16_t* wide = lerped + row_pitch;
  auto* values = reinterpret_cast<float*>(wide + wide_pitch);
  for (int j = 0; j < low_height; ++j)
    read_row(output, j, values, plane + static_cast<std::size_t>(j) * row_pitch);
  std::memcpy(plane + static_cast<std::size_t>(low_height) * row_pitch,
              plane + static_cast<std::size_t>(low_height - 1) * row_pitch, row_pitch * sizeof(std::int16_t));
  for (int y = 0; y < alpha.height; ++y) {
    const std::int16_t* upper = plane + static_cast<std::size_t>(down.index(y)) * row_pitch;
    kernels->lerp_rows(upper, upper + row_pitch, down.weight(y), static_cast<int>(row_pitch), lerped);
    std::uint8_t* out = alpha.data + alpha.stride * y;
    if (depth > 8)
      finish_row(lerped, wide, reinterpret_cast<std::uint16_t*>(out));
    else
      finish_row(lerped, wide, out);
  }
}

// The class of each pixel decides; the map is made at the picture's size.
void Masker::Impl::run_map(const void* output, const PlaneView& alpha, Workspace& workspace) const {
  PlaneView classes = alpha;
  if (depth > 8) {
    classes.depth = 8;
    classes.stride = static_cast<std::ptrdiff_t>(padded(alpha.width));
    classes.data =
        workspace.reserve(static_cast<std::size_t>(classes.stride) * static_cast<std::size_t>(alpha.height));
  }
  mapper->run(output, classes, workspace);
  std::array<std::uint16_t, 256> value{};
  for (std::size_t c = 0; c < foreground.selected().size(); ++c)
    value[c] = static_cast<std::uint16_t>((foreground.selected()[c] != 0) != options.invert ? top() : 0);
  for (int y = 0; y < alpha.height; ++y) {
    const std::uint8_t* in = classes.data + classes.stride * y;
    std::uint8_t* out = alpha.data + alpha.stride * y;
    if (depth > 8) {
      auto* words = reinterpret_cast<std::uint16_t*>(out);
      for (int x = 0; x < alpha.width; ++x) words[x] = value[in[x]];
    } else {
      for (int x = 0; x < alpha.width; ++x) out[x] = static_cast<std::uint8_t>(value[in[x]]);
    }
  }
}

}  // namespace saccade::vision
