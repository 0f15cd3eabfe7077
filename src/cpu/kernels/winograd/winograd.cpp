// Choice and preparation of the Winograd kernels.
#include "cpu/kernels/winograd/winograd.h"

#include <algorithm>
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

// The state and what it points to.
struct Packed {
  WinogradState state{};
  std::vector<WinogradTile> tiles;
  PackedFloats weights, bias, zeros;
};

// Weights of a quantised network: what is computed with them is to be exact, which the transforms are not.
bool whole_numbers(const Tensor& weights) {
  const float* w = weights.data<float>();
  return std::all_of(w, w + weights.count(), [](float v) { return v == std::nearbyint(v); });
}

template <Storage kStorage>
const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, kStorage)) return why;
  const ConvQuery q = read_conv(query);
  if (q.kernel_h != 3 || q.kernel_w != 3) return "not 3x3";
  if (q.stride_h != 1 || q.stride_w != 1) return "stride is not 1";
  if (q.groups != 1) return "grouped";
  if (q.channels < 8 || q.filters < 8) return "fewer than 8 channels or filters";
  if (!has_packed(query) && whole_numbers(*query.constants[1]))
    return "weights are whole numbers, sums are to be exact";
  return nullptr;
}

// Filters of which a core can read all for each block of tiles: they stay in a third-level cache.
constexpr std::int64_t kNearFloats = 5 * 1024 * 1024;

// Inputs of a picture that do not come from a second-level cache, and results of which little would be left
// in a third-level cache when they are read.
constexpr std::int64_t kFarBytes = 4 * 1024 * 1024, kStreamBytes = 24 * 1024 * 1024;

// F(6x6) errs kErrorOf6 times as much as F(4x4), which errs about as much as a plain sum in single precision.
// It is for wide layers, which take most of the time where there are any: few networks have more than some of
// them. Narrower ones keep to F(4x4) for those who asked for single precision; rounding operands to bfloat16
// costs far more than either.
constexpr double kErrorOf6 = 4, kLessExact = 1e15;
constexpr std::int64_t kWideChannels = 64;

template <Isa kIsa, int M, Storage kStorage>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  if (M == 6 && kStorage == Storage::f32 && std::min(q.channels, q.filters) < kWideChannels)
    return kLessExact;
  const std::int64_t width = lanes(kIsa);
  const auto padded = [width](std::int64_t n) {
    return static_cast<double>((n + width - 1) / width * width);
  };
  const double tiles = static_cast<double>(winograd_tiles(q.out_h, q.dilation_h, M) *
                                           winograd_tiles(q.out_w, q.dilation_w, M));
  const double positions = (M + 2) * (M + 2);
  const double rate = multiply_adds_per_ns(kIsa);
  // Products at somewhat less than the dense rate (short sums cost more), transforms at about a dozen
  // operations a value.
  const double efficiency = 0.88 * static_cast<double>(q.channels) / (static_cast<double>(q.channels) + 10);
  const double products =
      tiles * positions * static_cast<double>(q.channels) * padded(q.filters) / (efficiency * rate);
  const double transforms = tiles * positions * (2 * M + 2) * (padded(q.channels) + padded(q.filters)) / rate;
  // Filters beyond the caches come from memory, and take a multiple of the model's own.
  constexpr double kCached = 16e6, kMemoryBytesPerNs = 10;
  const double bytes = positions * static_cast<double>(q.channels) * padded(q.filters) * sizeof(float);
  const double filters = bytes < kCached ? bytes / bytes_per_ns(kIsa) : bytes / kMemoryBytesPerNs;
  return static_cast<double>(q.batch) * (products + transforms + filters + storage_ns(q, kIsa, 2));
}

// Products of a tile, and vector operations of its transforms: a line of values takes 12, 24 or 40 either
// way.
std::int64_t tile_multiply_adds(std::int64_t side, std::int64_t channels, std::int64_t filters) {
  const std::int64_t line = side == 4 ? 12 : side == 6 ? 24 : 40;
  return (side + 2) * (side + 2) * channels * filters +
         line * (2 * (side + 2) * channels + (2 * side + 2) * filters);
}

// Floats of the transformed inputs of a tile at one position.
std::int64_t tile_floats(std::int64_t channels, std::int64_t depth) {
  const std::int64_t slices = (channels + depth - 1) / depth;
  return (slices - 1) * depth + slice_row(channels - (slices - 1) * depth, depth);
}

// Transformed inputs, and sums, that are shared at a time.
constexpr std::int64_t kStageFloats = 3 * 1024 * 1024;

WinogradOrder order_of(std::int64_t positions, const WinogradState& s, std::int64_t tile_step, int width) {
  const std::int64_t filters = positions * s.channels * s.filters;
  const bool few = positions * s.tile_count * s.vectors * width <= kStageFloats;
  if (filters <= kNearFloats) {
    // Each thread would read all filters for each block of tiles. What is shared instead is half of them at
    // most.
    constexpr std::int64_t kOwnFloats = 1024 * 1024;
    const bool less = 2 * s.tile_count * (s.channels + s.filters) <= s.channels * s.filters;
    return few && less && filters > kOwnFloats ? WinogradOrder::positions : WinogradOrder::blocks;
  }
  // In stages, filters are read once for each of so many groups of tiles.
  const std::int64_t readings = (positions * s.tile_count * tile_step + kStageFloats - 1) / kStageFloats;
  return few && readings > 1 ? WinogradOrder::positions : WinogradOrder::stages;
}

/// Of all positions along an axis.
template <int M>
std::vector<WinogradTaps> filters_of_axis() {
  std::vector<WinogradTaps> filters;
  for (int i = 0; i < M + 2; ++i) {
    using Points = WinogradPoints<M>;
    filters.push_back({Points::filter(i, 0), Points::filter(i, 1), Points::filter(i, 2)});
  }
  return filters;
}

template <Isa kIsa, int M>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const int width = lanes(kIsa);
  constexpr std::int64_t kPositions = (M + 2) * (M + 2);
  auto packed = std::make_shared<Packed>();
  packed->tiles = list_winograd_tiles(q, M);
  WinogradState& s = packed->state;
  describe_winograd(q, packed->tiles, s);
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  const std::int64_t tile_step = tile_floats(q.channels, winograd_depth(width));
  s.order = order_of(kPositions, s, tile_step, width);
  const bool by_positions = s.order == WinogradOrder::positions, staged = s.order == WinogradOrder::stages;
  // Which filters form a panel depends on the weights alone, as these are packed so.
  // Threads share those of a stage; positions read them from memory, in long runs.
  const std::int64_t panel_filters = by_positions ? 256 : 64;
  s.panels = std::min(s.blocks, (s.vectors * width + panel_filters - 1) / panel_filters);
  s.panel_step = 0;
  for (std::int64_t p = 0; p < s.panels; ++p) {
    const std::int64_t b0 = s.blocks * p / s.panels, b1 = s.blocks * (p + 1) / s.panels;
    s.panel_step = std::max(s.panel_step, (s.vectors * b1 / s.blocks - s.vectors * b0 / s.blocks) * width);
  }
  packed->weights = PackedFloats::packed(
      query, static_cast<std::size_t>(kPositions * q.channels * s.vectors * width),
      [&](PackedFloats& weights) {
        const std::vector<WinogradTaps> filters = filters_of_axis<M>();
        pack_winograd_filters(q, width, s.vectors, s.blocks, s.panels, filters, filters, weights.data());
      });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * width));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = packed->weights.data(), s.bias = packed->bias.data(), s.zeros = packed->zeros.data();

  PreparedKernel prepared;
  s.block_tiles = s.stage_tiles = s.tile_count;
  s.stage_channels = q.channels;
  std::int64_t position_floats = tile_step;
  if (by_positions) {
    const std::int64_t depth = winograd_depth(width);
    s.stage_channels = std::max(kStageFloats / (kPositions * s.tile_count) / depth * depth, depth);
    s.stages = (q.channels + s.stage_channels - 1) / s.stage_channels;
    s.stage_channels = (q.channels + s.stages * depth - 1) / (s.stages * depth) * depth;
    s.stages = (q.channels + s.stage_channels - 1) / s.stage_channels;
    position_floats = std::min(tile_step, s.stage_channels);
    for (std::int64_t image = 0; image < q.batch; ++image) {
      for (std::int64_t stage = 0; stage < s.stages; ++stage) {
        prepared.phase_tasks.push_back(s.tile_count);
        prepared.phase_tasks.push_back(kPositions);
      }
      prepared.phase_tasks.push_back(s.tile_count);
    }
  } else if (staged) {
    s.block_tiles = std::min<std::int64_t>(s.tile_count, 48);
    plan_winograd_stages(q.batch, kStageFloats, kPositions * tile_step, s, prepared);
  } else {
    constexpr std::int64_t kMost = 24;
    s.tasks = even_tasks((s.tile_count + kMost - 1) / kMost, (s.tile_count + 5) / 6);
    s.block_tiles = (s.tile_count + s.tasks - 1) / s.tasks;
    prepared.phase_tasks = {q.batch * s.tasks};
  }
  s.ask_ahead = q.in_h * q.in_w * q.channels * (q.src_bf16 ? 2 : 4) >= kFarBytes;
  const Activation activation = q.epilogue.activation;
  const bool clamped =
      activation == Activation::none || activation == Activation::relu || activation == Activation::clip;
  s.stream = q.out_h * q.out_w * q.filters * 4 >= kStreamBytes && clamped && !q.dst_bf16 && !q.has_residual &&
             q.filters % width == 0 && q.dst_pixel % width == 0 && q.dst_image % width == 0;
  // No two positions at the same place of a page.
  if (by_positions) s.panel_step = s.vectors * width;  // of all panels, side by side
  s.position_step = (staged ? s.stage_tiles : s.block_tiles) * position_floats + 16;
  s.sums_step = s.block_tiles * s.panel_step + 16;
  const auto bytes = [](std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  const std::int64_t inputs = kPositions * s.position_step, sums = kPositions * s.sums_step;
  prepared.thread_scratch =
      bytes((by_positions ? 0 : sums) + (s.order == WinogradOrder::blocks ? inputs : 0));
  prepared.shared_scratch =
      bytes((by_positions ? sums : 0) + (s.order == WinogradOrder::blocks ? 0 : inputs));
  prepared.multiply_adds = q.batch * s.tile_count * tile_multiply_adds(M, q.channels, q.filters);
  keep_winograd_filters(query, packed->weights.bytes() + packed->bias.bytes(), prepared);
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

constexpr KernelDesc kTable[] = {
    {"conv.winograd4.avx512.fp32", "Conv", Isa::avx512, false, can_run<Storage::f32>,
     cost<Isa::avx512, 4, Storage::f32>, prepare<Isa::avx512, 4>, avx512::winograd_4, kInPlace},
    {"conv.winograd4.avx2.fp32", "Conv", Isa::avx2, false, can_run<Storage::f32>,
     cost<Isa::avx2, 4, Storage::f32>, prepare<Isa::avx2, 4>, avx2::winograd_4, kInPlace},
    {"conv.winograd4.portable.fp32", "Conv", Isa::portable, false, can_run<Storage::f32>,
     cost<Isa::portable, 4, Storage::f32>, prepare<Isa::portable, 4>, portable::winograd_4, kInPlace},
    {"conv.winograd6.avx512.fp32", "Conv", Isa::avx512, false, can_run<Storage::f32>,
     cost<Isa::avx512, 6, Storage::f32>, prepare<Isa::avx512, 6>, avx512::winograd_6, kInPlace, kErrorOf6},
    {"conv.winograd6.avx2.fp32", "Conv", Isa::avx2, false, can_run<Storage::f32>,
     cost<Isa::avx2, 6, Storage::f32>, prepare<Isa::avx2, 6>, avx2::winograd_6, kInPlace, kErrorOf6},
    {"conv.winograd6.portable.fp32", "Conv", Isa::portable, false, can_run<Storage::f32>,
     cost<Isa::portable, 6, Storage::f32>, prepare<Isa::portable, 6>, portable::winograd_6, kInPlace,
     kErrorOf6},
    {"conv.winograd4.avx512_bf16.stored.bf16", "Conv", Isa::avx512_bf16, false, can_run<Storage::bf16>,
     cost<Isa::avx512_bf16, 4, Storage::bf16>, prepare<Isa::avx512, 4>, avx512::winograd_4_rounded, kInPlace},
    {"conv.winograd4.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>,
     cost<Isa::avx512, 4, Storage::bf16>, prepare<Isa::avx512, 4>, avx512::winograd_4, kInPlace},
    {"conv.winograd4.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>,
     cost<Isa::avx2, 4, Storage::bf16>, prepare<Isa::avx2, 4>, avx2::winograd_4, kInPlace},
    {"conv.winograd4.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>,
     cost<Isa::portable, 4, Storage::bf16>, prepare<Isa::portable, 4>, portable::winograd_4, kInPlace},
    {"conv.winograd6.avx512_bf16.stored.bf16", "Conv", Isa::avx512_bf16, false, can_run<Storage::bf16>,
     cost<Isa::avx512_bf16, 6, Storage::bf16>, prepare<Isa::avx512, 6>, avx512::winograd_6_rounded, kInPlace},
    {"conv.winograd6.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>,
     cost<Isa::avx512, 6, Storage::bf16>, prepare<Isa::avx512, 6>, avx512::winograd_6, kInPlace},
    {"conv.winograd6.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>,
     cost<Isa::avx2, 6, Storage::bf16>, prepare<Isa::avx2, 6>, avx2::winograd_6, kInPlace},
    {"conv.winograd6.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>,
     cost<Isa::portable, 6, Storage::bf16>, prepare<Isa::portable, 6>, portable::winograd_6, kInPlace},
    {"conv.winograd8.avx512_bf16.stored.bf16", "Conv", Isa::avx512_bf16, false, can_run<Storage::bf16>,
     cost<Isa::avx512_bf16, 8, Storage::bf16>, prepare<Isa::avx512, 8>, avx512::winograd_8_rounded, kInPlace},
    {"conv.winograd8.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>,
     cost<Isa::avx512, 8, Storage::bf16>, prepare<Isa::avx512, 8>, avx512::winograd_8, kInPlace},
    {"conv.winograd8.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>,
     cost<Isa::avx2, 8, Storage::bf16>, prepare<Isa::avx2, 8>, avx2::winograd_8, kInPlace},
    {"conv.winograd8.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>,
     cost<Isa::portable, 8, Storage::bf16>, prepare<Isa::portable, 8>, portable::winograd_8, kInPlace},
};

}  // namespace

std::int64_t winograd_tiles(std::int64_t size, std::int64_t dilation, std::int64_t side) {
  std::int64_t count = 0;
  for (std::int64_t phase = 0; phase < std::min(dilation, size); ++phase)
    count += (size - phase + side * dilation - 1) / (side * dilation);
  return count;
}

std::vector<WinogradTile> list_winograd_tiles(const ConvQuery& q, std::int64_t side) {
  std::vector<WinogradTile> tiles;
  for (std::int64_t py = 0; py < std::min(q.dilation_h, q.out_h); ++py)
    for (std::int64_t px = 0; px < std::min(q.dilation_w, q.out_w); ++px)
      for (std::int64_t y = py; y < q.out_h; y += side * q.dilation_h)
        for (std::int64_t x = px; x < q.out_w; x += side * q.dilation_w)
          tiles.push_back({static_cast<std::int32_t>(y), static_cast<std::int32_t>(x)});
  return tiles;
}

void describe_winograd(const ConvQuery& q, const std::vector<WinogradTile>& tiles, WinogradState& s) {
  s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_h = q.out_h, s.out_w = q.out_w;
  s.dilation_h = q.dilation_h, s.dilation_w = q.dilation_w, s.pad_top = q.pad_top, s.pad_left = q.pad_left;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16, s.residual_bf16 = q.residual_bf16;
  s.epilogue = q.epilogue;
  s.tiles = tiles.data();
  s.tile_count = static_cast<std::int64_t>(tiles.size());
}

void pack_winograd_filters(const ConvQuery& q, int lanes, std::int64_t vectors, std::int64_t blocks,
                           std::int64_t panels, std::span<const WinogradTaps> rows,
                           std::span<const WinogradTaps> columns, float* packed) {
  const std::int64_t depth = winograd_depth(lanes);
  const auto positions = static_cast<std::int64_t>(rows.size() * columns.size());
  // Filters innermost: what is written is adjacent.
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t panel = (panels * (b + 1) - 1) / blocks;
    const std::int64_t p0 = vectors * (blocks * panel / panels) / blocks * lanes;
    const std::int64_t p1 = vectors * (blocks * (panel + 1) / panels) / blocks * lanes;
    const std::int64_t f0 = vectors * b / blocks * lanes, f1 = vectors * (b + 1) / blocks * lanes;
    const std::int64_t step = f1 - f0, position_step = (p1 - p0) * q.channels;
    for (std::int64_t c = 0; c < q.channels; ++c) {
      const std::int64_t slice = c / depth * depth, length = std::min(q.channels - slice, depth);
      float* to =
          packed + p0 * positions * q.channels + slice * (p1 - p0) + (f0 - p0) * length + (c - slice) * step;
      for (std::int64_t f = f0; f < std::min(q.filters, f1); ++f, ++to) {
        const float* w = q.weights + (f * q.channels + c) * 9;
        float* at = to;
        for (const WinogradTaps& gy : rows) {
          double half[3];
          for (int x = 0; x < 3; ++x)
            half[x] = gy[0] * static_cast<double>(w[x]) + gy[1] * static_cast<double>(w[3 + x]) +
                      gy[2] * static_cast<double>(w[6 + x]);
          for (const WinogradTaps& gx : columns) {
            *at = static_cast<float>(half[0] * gx[0] + half[1] * gx[1] + half[2] * gx[2]);
            at += position_step;
          }
        }
      }
    }
  }
}

void keep_winograd_filters(const KernelQuery& query, std::size_t bytes, PreparedKernel& prepared) {
  prepared.weight_bytes = bytes;
  prepared.constants_used.assign(query.inputs.size(), true);
  for (std::size_t i = 0; i < query.inputs.size(); ++i) prepared.constants_used[i] = i == 1 || i == 2;
  prepared.packed_inputs = 1u << 1;
}

void plan_winograd_stages(std::int64_t batch, std::int64_t room, std::int64_t values, WinogradState& s,
                          PreparedKernel& prepared) {
  const std::int64_t blocks = (s.tile_count + s.block_tiles - 1) / s.block_tiles;
  s.stage_tiles = std::clamp(room / values / s.block_tiles, std::int64_t{1}, blocks) * s.block_tiles;
  s.stages = (s.tile_count + s.stage_tiles - 1) / s.stage_tiles;
  for (std::int64_t image = 0; image < batch; ++image)
    for (std::int64_t stage = 0; stage < s.stages; ++stage) {
      const std::int64_t count = std::min(s.stage_tiles, s.tile_count - stage * s.stage_tiles);
      prepared.phase_tasks.push_back(count);
      prepared.phase_tasks.push_back((count + s.block_tiles - 1) / s.block_tiles * s.panels);
    }
}

std::span<const KernelDesc> winograd_kernels() { return kTable; }

}  // namespace saccade::cpu
