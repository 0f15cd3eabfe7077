// Choice and preparation of the dense convolution of bfloat16.
#include "cpu/kernels/conv_bf16/conv_bf16.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/half.h"
#include "cpu/byte_conv_query.h"
#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/dilated_plan.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/packed.h"
#include "cpu/rates.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

constexpr int kLanes = 16;

// The state and what it points to.
struct Packed {
  ConvBf16State state{};
  PackedFloats weights, bias, zeros;  // words or floats, floats, words
  std::vector<std::int64_t> segments;
};

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, Storage::bf16, true, false, true)) return why;
  const ConvQuery q = read_conv(query);
  if (q.groups != 1) return "grouped";
  if (q.planar && (q.has_gate || q.kernel_w == 1 || q.dilation_w != 1))
    return "planes that are staged with gaps";
  if (q.has_gate && (q.kernel_h != 1 || q.kernel_w != 1 || q.pad_top != 0 || q.pad_left != 0))
    return "gated, but not 1x1";
  return nullptr;
}

// A 1x1 convolution over pixels at one distance has no rows of its own.
bool is_flat(const ConvQuery& q) {
  const bool plain = q.kernel_h == 1 && q.kernel_w == 1 && q.pad_top == 0 && q.pad_left == 0 &&
                     q.in_h == q.out_h && q.in_w == q.out_w;
  if (!plain || (q.stride_h != 1 && q.out_h > 1) || (q.stride_w != 1 && q.out_w > 1)) return false;
  return q.in_h == 1 || q.src_row == q.src_pixel * q.in_w;
}

// Its rows are then whole blocks of vectors or tiles; of small pictures shorter ones, so that bands of rows,
// and with them the threads' shares, are of one size.
void flatten(ConvQuery& q) {
  constexpr std::int64_t kTile = 24, kRow = 4 * kTile, kRows = 40;
  const std::int64_t pixels = q.out_h * q.out_w;
  const std::int64_t row = std::clamp(pixels / kRows / kTile * kTile, kTile, kRow);
  q.in_w = q.out_w = std::min(row, pixels);
  q.in_h = q.out_h = (pixels + q.out_w - 1) / q.out_w;
  q.src_row = q.src_pixel * q.in_w;
  q.stride_h = q.stride_w = 1;
}

enum class Units { vectors, tiles };

/// How the kernel walks over the input.
struct Walk {
  bool direct, whole_row, scattered;
  std::int64_t pitch, runs, words;
};

// A word, or a step of tiles, may hold numbers beyond those of its taps, whose weights are zero.
template <Units kUnits>
Walk walk_of(const ConvQuery& q) {
  Walk walk{};
  const bool neighbours = q.kernel_w > 1 && q.dilation_w == 1;
  if constexpr (kUnits == Units::tiles) {
    constexpr std::int64_t kStep = 32;
    walk.direct = q.src_bf16 && q.channels % kStep == 0 && is_flat(q);
    walk.pitch = walk.direct ? q.src_pixel : q.channels;
    walk.whole_row = neighbours;
    const std::int64_t length = (neighbours ? q.kernel_w : 1) * q.channels;
    walk.words = (length + kStep - 1) / kStep * kStep / 2;
  } else {
    constexpr std::int64_t kFewChannels = 8;
    const bool even = q.channels % 2 == 0;
    const std::int64_t right = (q.out_w - 1) * q.stride_w - q.pad_left + (q.kernel_w - 1) * q.dilation_w;
    walk.direct = q.src_bf16 && even && q.pad_left == 0 && right < q.in_w;
    // Taps far apart would have the picture copied once for each.
    walk.scattered = q.src_bf16 && even && !walk.direct && q.kernel_w > 1 && q.dilation_w > 1;
    walk.pitch = walk.direct || walk.scattered                       ? q.src_pixel
                 : even || (neighbours && q.channels < kFewChannels) ? q.channels
                                                                     : q.channels + 1;
    walk.whole_row = neighbours && walk.pitch == q.channels;
    walk.words = ((walk.whole_row ? q.kernel_w : 1) * q.channels + 1) / 2;
  }
  walk.runs = walk.whole_row ? 1 : q.kernel_w;
  return walk;
}

// What moves beside the products.
double moved_ns(const ConvQuery& q, const Walk& walk, Isa isa) {
  double bytes = 0;
  if (!walk.direct && !walk.scattered) bytes += static_cast<double>(q.in_h * q.in_w * walk.pitch * 2 * 2);
  if (q.has_gate) bytes += static_cast<double>(q.filters * q.channels) * 6;
  return bytes / bytes_per_ns(isa);
}

double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const Walk walk = walk_of<Units::vectors>(q);
  const std::int64_t products = walk.words * walk.runs * q.kernel_h;
  const double row = tile_row_ns(Isa::avx512_bf16, q.out_w, q.filters, products, walk.runs * q.kernel_h);
  // A word is two products, and one instruction.
  const double ns = share_inside(q) * static_cast<double>(q.out_h) * row * 2 / bf16_speedup();
  return static_cast<double>(q.batch) * (ns + moved_ns(q, walk, Isa::avx512_bf16));
}

double cost_tiles(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const Walk walk = walk_of<Units::tiles>(q);
  const auto tiles = [](std::int64_t n) { return static_cast<double>((n + 15) / 16); };
  // Some machines reach 2000 multiply-adds a nanosecond, others, or the same at other times, a quarter of
  // that.
  constexpr double kTileNs = 16.0 * 16 * 32 / 400, kSumNs = 12;
  const double pixels =
      walk.direct ? tiles(q.out_h * q.out_w) : static_cast<double>(q.out_h) * tiles(q.out_w);
  const double blocks = pixels * tiles(q.filters);
  const double steps = static_cast<double>(walk.words / 16 * walk.runs * q.kernel_h);
  return static_cast<double>(q.batch) * (blocks * (steps * kTileNs + kSumNs) + moved_ns(q, walk, Isa::amx));
}

/// Calls body(place of the word's element in the packed words, weight) for every weight.
template <Units kUnits, class Body>
void for_each_weight(const ConvQuery& q, const ConvBf16State& s, bool whole_row, Body body) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t v0 = kUnits == Units::tiles ? 2 * b : s.vectors * b / s.blocks;
    const std::int64_t v1 =
        kUnits == Units::tiles ? std::min(s.vectors, v0 + 2) : s.vectors * (b + 1) / s.blocks;
    const std::int64_t f0 = v0 * kLanes, f1 = v1 * kLanes;
    const std::int64_t width = f1 - f0, block = f0 * s.words * s.runs * q.kernel_h;
    for (std::int64_t f = f0; f < std::min(f1, q.filters); ++f)
      for (std::int64_t ky = 0; ky < q.kernel_h; ++ky)
        for (std::int64_t kx = 0; kx < q.kernel_w; ++kx)
          for (std::int64_t c = 0; c < q.channels; ++c) {
            const std::int64_t run = whole_row ? 0 : kx, i = whole_row ? kx * q.channels + c : c;
            const std::int64_t first = block + (ky * s.runs + run) * s.words * width, k = i / 2;
            const std::int64_t word = kUnits == Units::tiles
                                          ? first + k / kTile * kTile * width +
                                                ((f - f0) / kLanes * kTile + k % kTile) * kLanes +
                                                (f - f0) % kLanes
                                          : first + k * width + f - f0;
            body(word * 2 + i % 2, q.weights[(f * q.channels + c) * taps + ky * q.kernel_w + kx]);
          }
  }
}

template <Units kUnits>
void pack(const ConvQuery& q, const ConvBf16State& s, bool whole_row, PackedFloats& packed) {
  auto* halves = reinterpret_cast<BFloat16*>(packed.data());
  for_each_weight<kUnits>(q, s, whole_row, [&](std::int64_t at, float w) { halves[at] = to_bfloat16(w); });
}

// Lower and upper channel of a vector of words apart, as floats.
template <Units kUnits>
void pack_gated(const ConvQuery& q, const ConvBf16State& s, PackedFloats& packed) {
  for_each_weight<kUnits>(q, s, false, [&](std::int64_t at, float w) {
    const std::int64_t word = at / 2, vector = word / kLanes;
    packed[static_cast<std::size_t>((vector * 2 + at % 2) * kLanes + word % kLanes)] = w;
  });
}

// Where the geometry of strips is planned, that of the convolutions of bytes.
ByteConvQuery geometry(const ConvQuery& q) {
  ByteConvQuery g{};
  g.batch = q.batch, g.groups = 1, g.channels = q.channels, g.filters = q.filters;
  g.in_h = q.in_h, g.in_w = q.in_w, g.out_h = q.out_h, g.out_w = q.out_w;
  g.kernel_h = q.kernel_h, g.kernel_w = q.kernel_w, g.stride_h = q.stride_h, g.stride_w = q.stride_w;
  g.dilation_h = q.dilation_h, g.dilation_w = q.dilation_w, g.pad_top = q.pad_top, g.pad_left = q.pad_left;
  g.src_image = q.src_image, g.src_row = q.src_row, g.src_pixel = q.src_pixel;
  g.dst_image = q.dst_image, g.dst_pixel = q.dst_pixel;
  return g;
}

// `blocks`: register blocks of filters, or 0 for the fewest.
template <Units kUnits>
PreparedKernel prepare_blocks(const KernelQuery& query, std::int64_t blocks) {
  ConvQuery q = read_conv(query);
  auto packed = std::make_shared<Packed>();
  ConvBf16State& s = packed->state;
  s.outputs = q.out_h * q.out_w;
  const Walk walk = walk_of<kUnits>(q);
  if (walk.direct && is_flat(q)) flatten(q);
  s.direct = walk.direct, s.scattered = walk.scattered, s.runs = walk.runs, s.words = walk.words;
  s.run_step = q.dilation_w * walk.pitch * 2, s.dilation_w = q.dilation_w;
  s.filters = q.filters, s.out_h = q.out_h, s.out_w = q.out_w;
  s.src_image = q.src_image, s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16, s.residual_bf16 = q.residual_bf16;
  s.has_gate = q.has_gate, s.gate_bf16 = q.gate_bf16, s.gate_image = q.gate_image;
  s.epilogue = q.epilogue;
  s.vectors = (q.filters + kLanes - 1) / kLanes;
  s.blocks = kUnits == Units::tiles ? (s.vectors + 1) / 2
             : blocks > 0           ? blocks
                                    : filter_blocks(s.vectors, kLanes);
  if (s.scattered) {
    DilatedPlan plan = plan_dilated(q, kLanes, s.vectors, s.words);
    s.blocks = plan.blocks, s.even = plan.even;
    packed->segments = std::move(plan.segments);
  }
  s.weight_words = s.vectors * kLanes * q.kernel_h * s.runs * s.words;
  packed->weights = PackedFloats::packed(
      query, static_cast<std::size_t>(s.weight_words) * (s.has_gate ? 2 : 1), [&](PackedFloats& weights) {
        if (s.has_gate)
          pack_gated<kUnits>(q, s, weights);
        else
          pack<kUnits>(q, s, walk.whole_row, weights);
      });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * kLanes));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = reinterpret_cast<const char*>(packed->weights.data());
  s.bias = packed->bias.data();

  // Bands of about eight rows. Filters that do not fit the second-level cache are cut, and the tasks of one
  // part follow each other, so that a thread reads its share of them only.
  constexpr std::int64_t kRows = 8, kNearBytes = 512 * 1024, kNearGroupBytes = 256 * 1024, kTasks = 16;
  const std::int64_t work = s.outputs * s.vectors * s.words * s.runs * q.kernel_h;
  s.splits = even_tasks(s.weight_words * 4 / kNearBytes, s.blocks);
  const std::int64_t wanted = std::min(kTasks / s.splits, tasks_of_work(work));
  s.bands = even_tasks(std::max((q.out_h + kRows - 1) / kRows, wanted), q.out_h);
  // Few rows and many filters: cut the filters too.
  if (s.bands < wanted) s.splits = std::max(s.splits, even_tasks(wanted / s.bands, s.blocks));
  const StripPlan strips = plan_strips(geometry(q), walk.pitch, 2, (q.out_h + s.bands - 1) / s.bands);
  s.stage = strips.stage;
  s.stage.src_plane = q.src_plane;
  s.strip_rows = strips.rows, s.strip_columns = strips.columns;
  if (s.direct) {
    s.stage.slot_y = q.stride_h, s.stage.slot_ky = q.dilation_h;
    s.stage.slot_bytes = q.src_row * 2;
  }

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.bands * s.splits};
  if (s.has_gate) {
    // Some 4000 words each: a few microseconds.
    s.folds = kUnits == Units::tiles ? 1 : even_tasks(s.weight_words / s.blocks / 4096, s.words);
    prepared.phase_tasks.insert(prepared.phase_tasks.begin(), q.batch * s.blocks * s.folds);
    prepared.shared_scratch = static_cast<std::size_t>(q.batch * s.weight_words * 4);
  }
  std::int64_t scratch = bf16_runs_bytes(q.kernel_h * s.runs, s.scattered);
  if (s.scattered) {
    packed->zeros = PackedFloats(static_cast<std::size_t>(s.words));
    s.zeros = reinterpret_cast<const char*>(packed->zeros.data());
    const std::int64_t widest = (s.vectors + s.blocks - 1) / s.blocks, taps = q.kernel_h * s.runs;
    s.segments = packed->segments.data();
    s.segment_count = static_cast<std::int64_t>(packed->segments.size()) - 1;
    const std::int64_t filters = widest * kLanes;
    s.groups = std::clamp<std::int64_t>(taps * s.words * filters * 4 / kNearGroupBytes, 1, taps);
    if (s.groups > 1) scratch += (q.out_h + s.bands - 1) / s.bands * q.out_w * filters * 4;
  } else if (!s.direct) {
    scratch += strips.bytes;
  }
  if (kUnits == Units::tiles) {
    // Whole tiles are read: pixels beyond the last strip, or a few of their own. Sums of two blocks.
    constexpr std::int64_t kBlockPixels = 32, kBlockSumBytes = 4096;
    scratch += 2 * kBlockSumBytes;
    scratch += kBlockPixels * 2 * (s.direct ? q.channels : q.stride_w * walk.pitch) + 64;
  } else {
    scratch += kStoredSumBytes;
  }
  prepared.thread_scratch = static_cast<std::size_t>(scratch);
  prepared.constants_used.assign(query.inputs.size(), false);
  for (std::size_t i = 1; i < query.inputs.size() && i < 3; ++i) prepared.constants_used[i] = true;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

template <Units kUnits>
PreparedKernel prepare(const KernelQuery& query) {
  return prepare_blocks<kUnits>(query, 0);
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

constexpr KernelDesc kTable[] = {
    {"conv.dense.amx.bf16", "Conv", Isa::amx, false, can_run, cost_tiles, prepare<Units::tiles>,
     avx512::conv_tiles, kInPlace},
    {"conv.dense.avx512_bf16.bf16", "Conv", Isa::avx512_bf16, false, can_run, cost, prepare<Units::vectors>,
     avx512::conv_bf16, kInPlace},
};

}  // namespace

std::span<const KernelDesc> conv_bf16_kernels() { return kTable; }

const char* check_bf16_pixels(const KernelQuery& query) {
  if (const char* why = can_run(query)) return why;
  const ConvQuery q = read_conv(query);
  if (q.kernel_h != 1 || q.kernel_w != 1 || q.has_gate) return "not a plain 1x1 convolution";
  if (q.pad_top != 0 || q.pad_left != 0 || q.in_h != q.out_h || q.in_w != q.out_w) return "strided or padded";
  if ((q.stride_h != 1 && q.out_h != 1) || (q.stride_w != 1 && q.out_w != 1)) return "strided or padded";
  if (!q.src_bf16 || !q.dst_bf16 || (q.has_residual && !q.residual_bf16)) return "not all of it is bfloat16";
  return q.channels % 2 == 0 ? nullptr : "an odd number of channels";
}

PreparedKernel prepare_bf16_pixels(const KernelQuery& query, std::int64_t blocks) {
  return prepare_blocks<Units::vectors>(query, blocks);
}

}  // namespace saccade::cpu
