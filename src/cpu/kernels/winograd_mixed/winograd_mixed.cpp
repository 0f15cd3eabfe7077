// Choice and preparation of the Winograd kernels with tiles of several sizes.
#include "cpu/kernels/winograd_mixed/winograd_mixed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/plan.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

#include "cpu/kernels/winograd/points.inl"

// Transformed filters by name: of a whole phase; of the points of F(6), and of F(8), they are numbers.
enum FilterSet { kWhole, kSix, kEight };
enum WholeFilter { kMiddle, kLessBelow, kLessAbove, kPlus, kMinus, kHalf, kWholeFilters };

constexpr int kFiltersOf[kMixedKinds][kMixedSide] = {
    {kMiddle},
    {kMiddle, kLessBelow, kLessAbove},
    {kMiddle, kPlus, kMinus, kHalf, kHalf},
    {0, 1, 2, 5, 6, 7},
    {1, 2, 3, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
};

// What three taps of an axis count in a transformed filter; see axis.inl.
using Taps = WinogradTaps;
template <int M>
Taps taps_at(int point) {
  using Points = WinogradPoints<M>;
  return {Points::filter(point, 0), Points::filter(point, 1), Points::filter(point, 2)};
}
Taps taps_of(FilterSet set, int filter) {
  if (set == kSix) return taps_at<6>(filter);
  if (set == kEight) return taps_at<8>(filter);
  const double root = std::sqrt(2.0) / 8;
  switch (filter) {
    case kMiddle:
      return {0, 1, 0};
    case kLessBelow:
      return {1, -1, 0};
    case kLessAbove:
      return {0, -1, 1};
    case kPlus:
      return {root, 0.25, root};
    case kMinus:
      return {-root, 0.25, -root};
    default:
      return {-0.5, 0, 0.5};
  }
}

// An axis of the picture, and of the convolution.
struct AxisQuery {
  std::int64_t in, out, dilation, pad;
  bool eights;  // F(8) may be taken
};

// Whether each phase is a segment with nothing but padding around it.
bool is_whole(const AxisQuery& a) { return a.in == a.out && a.pad == a.dilation && a.out <= 3 * a.dilation; }

// F(4), F(5) and F(6) that cover `outputs` outputs with the fewest products, large ones first.
std::vector<MixedKind> cut_phase(std::int64_t outputs) {
  std::int64_t best[3] = {}, least = 1 << 30;
  const std::int64_t most = outputs / 4 + 1;
  for (std::int64_t four = 0; four <= std::min<std::int64_t>(most, 6); ++four)
    for (std::int64_t five = 0; five <= std::min<std::int64_t>(most, 6); ++five) {
      const std::int64_t left = std::max<std::int64_t>(outputs - 4 * four - 5 * five, 0),
                         six = (left + 5) / 6;
      const std::int64_t products = 6 * four + 7 * five + 8 * six;
      if (products < least) least = products, best[0] = six, best[1] = five, best[2] = four;
    }
  std::vector<MixedKind> kinds(static_cast<std::size_t>(best[0]), MixedKind::six);
  kinds.insert(kinds.end(), static_cast<std::size_t>(best[1]), MixedKind::five);
  kinds.insert(kinds.end(), static_cast<std::size_t>(best[2]), MixedKind::four);
  return kinds;
}

// Outputs of a phase.
std::int64_t phase_outputs(const AxisQuery& a, std::int64_t phase) {
  return (a.out - phase + a.dilation - 1) / a.dilation;
}

// The filters that an axis takes the fewest products with.
FilterSet filter_set(const AxisQuery& a) {
  if (is_whole(a)) return kWhole;
  std::int64_t six = 0, eight = 0;
  for (std::int64_t phase = 0; phase < std::min(a.dilation, a.out); ++phase) {
    for (const MixedKind kind : cut_phase(phase_outputs(a, phase))) six += mixed_products(kind);
    eight += (phase_outputs(a, phase) + 7) / 8 * mixed_products(MixedKind::eight);
  }
  return a.eights && eight < six ? kEight : kSix;
}

struct Axis {
  std::vector<MixedSegment> segments;
  std::vector<Taps> filters;
  std::int64_t products = 0;
  MixedAxis state{};
};

Axis cut_axis(const AxisQuery& a) {
  Axis axis;
  const FilterSet set = filter_set(a);
  for (std::int64_t phase = 0; phase < std::min(a.dilation, a.out); ++phase) {
    const std::int64_t outputs = phase_outputs(a, phase);
    std::vector<MixedKind> kinds;
    switch (set) {
      case kWhole:
        kinds = {static_cast<MixedKind>(outputs - 1)};
        break;
      case kSix:
        kinds = cut_phase(outputs);
        break;
      case kEight:
        kinds.assign(static_cast<std::size_t>((outputs + 7) / 8), MixedKind::eight);
        break;
    }
    std::int64_t done = 0;
    for (const MixedKind kind : kinds) {
      MixedSegment s{};
      const std::int64_t output = phase + done * a.dilation;
      s.output = static_cast<std::int32_t>(output);
      s.input = static_cast<std::int32_t>(set == kWhole ? output : output - a.pad);
      s.outputs = static_cast<std::int32_t>(std::min<std::int64_t>(mixed_outputs(kind), outputs - done));
      s.kind = kind;
      axis.segments.push_back(s);
      axis.products += mixed_products(kind);
      done += mixed_outputs(kind);
    }
  }
  // Filters that no segment needs are left out.
  std::array<std::int32_t, kMixedSide> number{};
  number.fill(-1);
  MixedAxis& state = axis.state;
  for (MixedSegment& s : axis.segments)
    for (int k = 0; k < mixed_products(s.kind); ++k) {
      const int kind = static_cast<int>(s.kind), filter = kFiltersOf[kind][k];
      std::int32_t& n = number[static_cast<std::size_t>(filter)];
      if (n < 0) {
        n = static_cast<std::int32_t>(axis.filters.size());
        axis.filters.push_back(taps_of(set, filter));
      }
      state.filter[kind][k] = n;
      s.rows[k] = static_cast<std::int32_t>(state.rows[n]++);
    }
  state.count = static_cast<std::int64_t>(axis.segments.size());
  state.dilation = a.dilation;
  state.filters = static_cast<std::int64_t>(axis.filters.size());
  return axis;
}

// The axes of a convolution.
struct Axes {
  AxisQuery y, x;
};
Axes axes_of(const ConvQuery& q, bool eights) {
  return {{q.in_h, q.out_h, q.dilation_h, q.pad_top, eights},
          {q.in_w, q.out_w, q.dilation_w, q.pad_left, eights}};
}

// What both axes take for each channel and filter: products, and transformed filters.
struct Amount {
  std::int64_t products = 0, filters = 0;
};
Amount amount_of(const Axes& axes) {
  const Axis y = cut_axis(axes.y), x = cut_axis(axes.x);
  return {y.products * x.products, y.state.filters * x.state.filters};
}

// Filters beyond every cache come from memory, each as slowly as this many products are made.
std::int64_t time_of(const ConvQuery& q, const Amount& amount) {
  constexpr std::int64_t kCachedFloats = 4 * 1024 * 1024, kProductsPerFilter = 30;
  const bool cached = amount.filters * q.channels * q.filters <= kCachedFloats;
  return std::max(amount.products, cached ? 0 : amount.filters * kProductsPerFilter);
}

// With F(8) where that is less time. Rounding to bfloat16 costs a hundred times as much as F(8) errs.
Axes axes_of(const ConvQuery& q) {
  const Axes without = axes_of(q, false), with = axes_of(q, true);
  const bool may = q.src_bf16 || q.dst_bf16;
  return may && time_of(q, amount_of(with)) < time_of(q, amount_of(without)) ? with : without;
}

// The state and what it points to.
struct Packed {
  MixedState state{};
  Axis y, x;
  std::vector<std::int64_t> inputs_at, sums_at;
  std::vector<MixedTask> tasks;
  PackedFloats weights, bias, zeros;
};

// Transformed inputs, and sums, that are shared at a time: of both a third-level cache holds some.
constexpr std::int64_t kStageFloats = 3 * 1024 * 1024, kMostSums = 4 * 1024 * 1024;

// Segments of F(4) and more err as F(6x6) does, beside a plain sum; whole phases hardly more than the sum.
constexpr double kErrorOf6 = 4;

// Narrow layers are transforms for the most part, and what those write and read passes through the
// third-level cache here: they are better off in blocks, whatever is predicted.
constexpr double kNever = 1e15;
constexpr std::int64_t kWideChannels = 128;

bool is_short(const ConvQuery& q) {
  const Axes axes = axes_of(q, false);
  return is_whole(axes.y) && is_whole(axes.x);
}

// Weights of a quantised network: what is computed with them is to be exact, which the transforms are not.
bool whole_numbers(const Tensor& weights) {
  const float* w = weights.data<float>();
  return std::all_of(w, w + weights.count(), [](float v) { return v == std::nearbyint(v); });
}

template <Storage kStorage, bool kShort>
const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, kStorage)) return why;
  const ConvQuery q = read_conv(query);
  if (q.kernel_h != 3 || q.kernel_w != 3) return "not 3x3";
  if (q.stride_h != 1 || q.stride_w != 1) return "stride is not 1";
  if (q.groups != 1) return "grouped";
  if (q.channels < 8 || q.filters < 8) return "fewer than 8 channels or filters";
  if (is_short(q) != kShort)
    return kShort ? "phases of more than three pixels" : "phases of up to three pixels";
  // Sums of the direct convolution times about the products a pixel.
  if (q.out_h * q.out_w * q.filters > kMostSums) return "too many sums to be shared";
  if (amount_of(axes_of(q)).products * ((q.filters + 15) / 16 * 16) > kMostSums)
    return "too many sums to be shared";
  if (!has_packed(query) && whole_numbers(*query.constants[1]))
    return "weights are whole numbers, sums are to be exact";
  return nullptr;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const bool exact = is_short(q);
  if (!exact && std::min(q.channels, q.filters) < kWideChannels) return kNever;
  const std::int64_t width = lanes(kIsa);
  const auto padded = [width](std::int64_t n) {
    return static_cast<double>((n + width - 1) / width * width);
  };
  const Amount amount = amount_of(axes_of(q));
  const auto rows = static_cast<double>(amount.products);
  const double rate = multiply_adds_per_ns(kIsa);
  // Filters are read once, in time: products come closer to the dense rate than where each block reads them.
  const double efficiency = 0.95 * static_cast<double>(q.channels) / (static_cast<double>(q.channels) + 10);
  const double products = rows * static_cast<double>(q.channels) * padded(q.filters) / (efficiency * rate);
  const double transforms = rows * (exact ? 10 : 14) * (padded(q.channels) + padded(q.filters)) / rate;
  const double filters = static_cast<double>(amount.filters * q.channels) * padded(q.filters) * sizeof(float);
  // Transformed inputs and sums are written and read beyond the second-level cache.
  const double shared = 1.5 * rows * (padded(q.channels) + padded(q.filters)) * sizeof(float);
  return static_cast<double>(q.batch) *
         (products + transforms + (filters + shared) / bytes_per_ns(kIsa) + storage_ns(q, kIsa, 2));
}

// Where the operands of each position lie, and its rows in near-equal tasks.
void place(std::int64_t row_floats, std::int64_t sum_floats, Packed& p) {
  constexpr std::int64_t kTaskRows = 96, kSkew = 16;  // no two positions at the same place of a page
  MixedState& s = p.state;
  std::int64_t sums = 0;
  for (std::int64_t y = 0; y < s.y.filters; ++y)
    for (std::int64_t x = 0; x < s.x.filters; ++x) {
      const std::int64_t rows = s.y.rows[y] * s.x.rows[x], position = y * s.x.filters + x;
      p.inputs_at.push_back(s.input_floats);
      p.sums_at.push_back(sums);
      s.input_floats += rows * row_floats + kSkew;
      sums += rows * sum_floats + kSkew;
      const std::int64_t tasks = (rows + kTaskRows - 1) / kTaskRows;
      for (std::int64_t t = 0; t < tasks; ++t) {
        const std::int64_t row = rows * t / tasks;
        p.tasks.push_back({position, row, rows * (t + 1) / tasks - row});
      }
    }
  p.sums_at.push_back(sums);  // of all of them
  s.inputs_at = p.inputs_at.data(), s.sums_at = p.sums_at.data(), s.tasks = p.tasks.data();
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const int width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  MixedState& s = packed->state;
  s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_w = q.out_w;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16, s.residual_bf16 = q.residual_bf16;
  s.epilogue = q.epilogue;
  const Axes axes = axes_of(q);
  packed->y = cut_axis(axes.y), packed->x = cut_axis(axes.x);
  s.y = packed->y.state, s.x = packed->x.state;
  s.y.segments = packed->y.segments.data(), s.x.segments = packed->x.segments.data();
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  constexpr std::int64_t kPanelFilters = 256;
  s.panels = std::min(s.blocks, (s.vectors * width + kPanelFilters - 1) / kPanelFilters);
  const std::int64_t positions = s.y.filters * s.x.filters, rows = packed->y.products * packed->x.products;
  packed->weights =
      PackedFloats::packed(query, static_cast<std::size_t>(positions * q.channels * s.vectors * width),
                           [&](PackedFloats& weights) {
                             pack_winograd_filters(q, width, s.vectors, s.blocks, s.panels, packed->y.filters,
                                                   packed->x.filters, weights.data());
                           });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * width));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = packed->weights.data(), s.bias = packed->bias.data(), s.zeros = packed->zeros.data();

  const std::int64_t depth = winograd_depth(width);
  const std::int64_t slices = (q.channels + depth - 1) / depth;
  const std::int64_t most = std::clamp<std::int64_t>(kStageFloats / rows / depth, 1, slices);
  s.stages = (slices + most - 1) / most;
  s.stage_channels = (slices + s.stages - 1) / s.stages * depth;
  s.stages = (q.channels + s.stage_channels - 1) / s.stage_channels;
  const std::int64_t last = std::min(q.channels, s.stage_channels) % depth;
  const std::int64_t row_floats =
      std::min(q.channels, s.stage_channels) / depth * depth + (last > 0 ? slice_row(last, depth) : 0);
  place(row_floats, s.vectors * width, *packed);

  PreparedKernel prepared;
  for (std::int64_t image = 0; image < q.batch; ++image) {
    for (std::int64_t stage = 0; stage < s.stages; ++stage) {
      prepared.phase_tasks.push_back(s.y.count * s.x.count);
      prepared.phase_tasks.push_back(static_cast<std::int64_t>(packed->tasks.size()));
    }
    prepared.phase_tasks.push_back(s.y.count * s.x.count);
  }
  prepared.shared_scratch = static_cast<std::size_t>(s.input_floats + packed->sums_at.back()) * sizeof(float);
  // Products, and about as many operations a value as the transforms take.
  prepared.multiply_adds = q.batch * rows * (q.channels * q.filters + 4 * (q.channels + q.filters));
  keep_winograd_filters(query, packed->weights.bytes() + packed->bias.bytes(), prepared);
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

template <Isa kIsa, Storage kStorage, bool kShort, Isa kPrepared = kIsa>
constexpr KernelDesc desc(std::string_view name, compiler::KernelFn fn) {
  return {name,
          "Conv",
          kIsa,
          false,
          can_run<kStorage, kShort>,
          cost<kIsa>,
          prepare<kPrepared>,
          fn,
          kInPlace,
          kShort || kStorage == Storage::bf16 ? 1 : kErrorOf6};
}

constexpr auto kFloats = Storage::f32, kBf16 = Storage::bf16;
constexpr KernelDesc kTable[] = {
    desc<Isa::avx512, kFloats, true>("conv.winograd_short.avx512.fp32", avx512::winograd_mixed),
    desc<Isa::avx2, kFloats, true>("conv.winograd_short.avx2.fp32", avx2::winograd_mixed),
    desc<Isa::portable, kFloats, true>("conv.winograd_short.portable.fp32", portable::winograd_mixed),
    desc<Isa::avx512, kFloats, false>("conv.winograd_mixed.avx512.fp32", avx512::winograd_mixed),
    desc<Isa::avx2, kFloats, false>("conv.winograd_mixed.avx2.fp32", avx2::winograd_mixed),
    desc<Isa::portable, kFloats, false>("conv.winograd_mixed.portable.fp32", portable::winograd_mixed),
    desc<Isa::avx512_bf16, kBf16, true, Isa::avx512>("conv.winograd_short.avx512_bf16.stored.bf16",
                                                     avx512::winograd_mixed_rounded),
    desc<Isa::avx512, kBf16, true>("conv.winograd_short.avx512.bf16", avx512::winograd_mixed),
    desc<Isa::avx2, kBf16, true>("conv.winograd_short.avx2.bf16", avx2::winograd_mixed),
    desc<Isa::portable, kBf16, true>("conv.winograd_short.portable.bf16", portable::winograd_mixed),
    desc<Isa::avx512_bf16, kBf16, false, Isa::avx512>("conv.winograd_mixed.avx512_bf16.stored.bf16",
                                                      avx512::winograd_mixed_rounded),
    desc<Isa::avx512, kBf16, false>("conv.winograd_mixed.avx512.bf16", avx512::winograd_mixed),
    desc<Isa::avx2, kBf16, false>("conv.winograd_mixed.avx2.bf16", avx2::winograd_mixed),
    desc<Isa::portable, kBf16, false>("conv.winograd_mixed.portable.bf16", portable::winograd_mixed),
};

}  // namespace

std::span<const KernelDesc> winograd_mixed_kernels() { return kTable; }

}  // namespace saccade::cpu
