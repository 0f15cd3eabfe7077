// Choice and preparation of the Winograd convolution with products of bfloat16.
#include "cpu/kernels/winograd_bf16/winograd_bf16.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/half.h"
#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/plan.h"
#include "cpu/packed.h"
#include "cpu/rates.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

#include "cpu/kernels/winograd/points.inl"

constexpr int kLanes = 16;
constexpr std::int64_t kTile = 4, kSide = kTile + 2, kPositions = kSide * kSide;

// The state and what it points to.
struct Packed {
  WinogradBf16State state{};
  std::vector<WinogradTile> tiles;
  PackedFloats weights, bias, zeros;  // words, floats, floats
};

const char* can_run(const KernelQuery& query) {
  if (query.node.integer("coarse", 0) == 0) return "errs more than was asked for";
  if (const char* why = check_conv(query, Storage::bf16)) return why;
  const ConvQuery q = read_conv(query);
  if (q.kernel_h != 3 || q.kernel_w != 3) return "not 3x3";
  if (q.stride_h != 1 || q.stride_w != 1) return "stride is not 1";
  if (q.groups != 1) return "grouped";
  if (q.channels < 8 || q.filters < 8) return "fewer than 8 channels or filters";
  return nullptr;
}

double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const auto padded = [](std::int64_t n) { return static_cast<double>((n + kLanes - 1) / kLanes * kLanes); };
  const double tiles = static_cast<double>(winograd_tiles(q.out_h, q.dilation_h, kTile) *
                                           winograd_tiles(q.out_w, q.dilation_w, kTile));
  const double rate = multiply_adds_per_ns(Isa::avx512_bf16), channels = static_cast<double>(q.channels);
  // As that of floats (winograd.cpp), with two products an instruction.
  const double efficiency = 0.88 * channels / (channels + 20);
  const double products =
      tiles * kPositions * channels * padded(q.filters) / (efficiency * rate * bf16_speedup());
  const double transforms = tiles * kPositions * 10 * (padded(q.channels) + padded(q.filters)) / rate;
  constexpr double kCached = 16e6, kMemoryBytesPerNs = 10;
  const double bytes = kPositions * channels * padded(q.filters) * 2;
  const double filters = bytes < kCached ? bytes / bytes_per_ns(Isa::avx512_bf16) : bytes / kMemoryBytesPerNs;
  return static_cast<double>(q.batch) * (products + transforms + filters);
}

// Products of a tile, and vector operations of its transforms: a line of values takes 12 either way.
std::int64_t tile_multiply_adds(std::int64_t channels, std::int64_t filters) {
  return kPositions * channels * filters + 12 * (2 * kSide * channels + (2 * kTile + 2) * filters);
}

// Words of the transformed inputs of a tile at one position.
std::int64_t tile_words(std::int64_t words) {
  const std::int64_t before = (words - 1) / kWinogradWords * kWinogradWords;
  return before + word_row(words - before);
}

void pack(const ConvQuery& q, const WinogradBf16State& s, PackedFloats& packed) {
  using Points = WinogradPoints<kTile>;
  auto* halves = reinterpret_cast<BFloat16*>(packed.data());
  double g[kSide][3];
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < 3; ++j) g[i][j] = Points::filter(i, j);
  // Filters innermost: what is written is near.
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t panel = (s.panels * (b + 1) - 1) / s.blocks;
    const std::int64_t p0 = s.vectors * (s.blocks * panel / s.panels) / s.blocks * kLanes;
    const std::int64_t p1 = s.vectors * (s.blocks * (panel + 1) / s.panels) / s.blocks * kLanes;
    const std::int64_t f0 = s.vectors * b / s.blocks * kLanes, f1 = s.vectors * (b + 1) / s.blocks * kLanes;
    const std::int64_t step = f1 - f0, position_step = (p1 - p0) * s.words;
    for (std::int64_t c = 0; c < q.channels; ++c) {
      const std::int64_t place = winograd_place(c, q.channels, q.src_bf16), word = place / 2;
      const std::int64_t slice = word / kWinogradWords * kWinogradWords;
      const std::int64_t length = std::min(s.words - slice, kWinogradWords);
      BFloat16* to =
          halves +
          2 * (p0 * kPositions * s.words + slice * (p1 - p0) + (f0 - p0) * length + (word - slice) * step) +
          place % 2;
      for (std::int64_t f = f0; f < std::min(q.filters, f1); ++f) {
        const float* w = q.weights + (f * q.channels + c) * 9;
        double half[kSide][3];
        for (int i = 0; i < kSide; ++i)
          for (int x = 0; x < 3; ++x)
            half[i][x] = g[i][0] * static_cast<double>(w[x]) + g[i][1] * static_cast<double>(w[3 + x]) +
                         g[i][2] * static_cast<double>(w[6 + x]);
        for (int i = 0; i < kSide; ++i)
          for (int j = 0; j < kSide; ++j) {
            const double u = half[i][0] * g[j][0] + half[i][1] * g[j][1] + half[i][2] * g[j][2];
            to[2 * ((i * kSide + j) * position_step + f - f0)] = to_bfloat16(static_cast<float>(u));
          }
      }
    }
  }
}

// Filters of which a core can read all for each block of tiles: beyond that, inputs of many tiles are
// transformed first, and stay in a third-level cache.
constexpr std::int64_t kNearWords = 4 * 1024 * 1024, kStageWords = 5 * 1024 * 1024;
// Sums of as many filters wait in a second-level cache.
constexpr std::int64_t kPanelFilters = 64;
// Inputs of a picture that do not come from a second-level cache.
constexpr std::int64_t kFarBytes = 4 * 1024 * 1024;
// Results of which little would be left in a third-level cache when they are read.
constexpr std::int64_t kStreamBytes = 24 * 1024 * 1024;

PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  auto packed = std::make_shared<Packed>();
  packed->tiles = list_winograd_tiles(q, kTile);
  WinogradBf16State& s = packed->state;
  describe_winograd(q, packed->tiles, s);
  s.words = (q.channels + 1) / 2;
  s.vectors = (q.filters + kLanes - 1) / kLanes;
  s.blocks = filter_blocks(s.vectors, kLanes);
  const std::int64_t tile_step = tile_words(s.words);
  // What of the filters is multiplied with a block of tiles before its sums are transformed depends on the
  // weights alone, as these are packed so.
  const bool staged = kPositions * s.words * q.filters > kNearWords;
  s.order = staged ? WinogradOrder::stages : WinogradOrder::blocks;
  s.panels = std::min(s.blocks, (s.vectors * kLanes + kPanelFilters - 1) / kPanelFilters);
  for (std::int64_t p = 0; p < s.panels; ++p) {
    const std::int64_t b0 = s.blocks * p / s.panels, b1 = s.blocks * (p + 1) / s.panels;
    s.panel_step = std::max(s.panel_step, (s.vectors * b1 / s.blocks - s.vectors * b0 / s.blocks) * kLanes);
  }
  packed->weights =
      PackedFloats::packed(query, static_cast<std::size_t>(kPositions * s.words * s.vectors * kLanes),
                           [&](PackedFloats& weights) { pack(q, s, weights); });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * kLanes));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = packed->weights.data(), s.bias = packed->bias.data(), s.zeros = packed->zeros.data();

  PreparedKernel prepared;
  if (staged) {
    constexpr std::int64_t kMost = 64;
    const std::int64_t blocks = (s.tile_count + kMost - 1) / kMost;
    s.block_tiles = (s.tile_count + blocks - 1) / blocks;
    plan_winograd_stages(q.batch, kStageWords, kPositions * tile_step, s, prepared);
  } else {
    constexpr std::int64_t kMost = 24;
    s.tasks = even_tasks((s.tile_count + kMost - 1) / kMost, (s.tile_count + 5) / 6);
    s.block_tiles = (s.tile_count + s.tasks - 1) / s.tasks;
    prepared.phase_tasks = {q.batch * s.tasks};
  }
  s.ask_ahead = q.in_h * q.in_w * q.channels * (q.src_bf16 ? 2 : 4) >= kFarBytes;
  const std::int64_t line = q.dst_bf16 ? 32 : 16;
  s.stream = q.out_h * q.out_w * q.filters * (q.dst_bf16 ? 2 : 4) >= kStreamBytes &&
             q.dst_pixel % line == 0 && q.dst_image % line == 0;
  // No two positions at the same place of a page.
  s.position_step = (staged ? s.stage_tiles : s.block_tiles) * tile_step + 16;
  s.sums_step = s.block_tiles * s.panel_step + 16;
  const std::int64_t inputs = kPositions * s.position_step, sums = kPositions * s.sums_step;
  prepared.thread_scratch = static_cast<std::size_t>(staged ? sums : inputs + sums) * 4;
  prepared.shared_scratch = static_cast<std::size_t>(staged ? inputs : 0) * 4;
  prepared.multiply_adds = q.batch * s.tile_count * tile_multiply_adds(q.channels, q.filters);
  keep_winograd_filters(query, packed->weights.bytes() + packed->bias.bytes(), prepared);
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

// Operands are rounded after they were transformed (docs/numerics.md).
constexpr double kError = 6;

constexpr KernelDesc kTable[] = {
    {"conv.winograd4.avx512_bf16.bf16", "Conv", Isa::avx512_bf16, false, can_run, cost, prepare,
     avx512::winograd_bf16, kInPlace, kError},
};

}  // namespace

std::span<const KernelDesc> winograd_bf16_kernels() { return kTable; }

}  // namespace saccade::cpu
