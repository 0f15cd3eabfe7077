// Choice and preparation of the dense convolution kernels.
#include "cpu/kernels/conv/conv.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/dilated_plan.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

// The state and what it points to.
struct Packed {
  ConvState state{};
  PackedFloats weights, bias, zeros;
  std::vector<std::int64_t> segments;
};

template <Storage kStorage>
const char* can_run(const KernelQuery& query) {
  return check_conv(query, kStorage, false, false, true);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  // Rows of taps are one run where they are adjacent in memory.
  const bool adjacent = q.dilation_w == 1 && q.groups == 1 && (q.planar || q.src_pixel == q.channels);
  const std::int64_t runs = adjacent ? q.kernel_h : q.kernel_h * q.kernel_w;
  const std::int64_t products = q.channels * q.kernel_h * q.kernel_w;
  return share_inside(q) * static_cast<double>(q.batch * q.out_h * q.groups) *
             tile_row_ns(kIsa, q.out_w, q.filters, products, runs) +
         static_cast<double>(q.batch) * storage_ns(q, kIsa, q.kernel_h);
}

void pack(const ConvQuery& q, int lanes, const ConvState& s, float* out) {
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  for (std::int64_t g = 0; g < q.groups; ++g)
    for (std::int64_t b = 0; b < s.blocks; ++b) {
      const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
      for (std::int64_t c0 = 0; c0 < q.channels; c0 += s.chunk)
        for (std::int64_t t = 0; t < taps; ++t)
          for (std::int64_t c = c0; c < std::min(q.channels, c0 + s.chunk); ++c)
            for (std::int64_t f = f0; f < f1; ++f, ++out)
              if (f < q.filters) *out = q.weights[((g * q.filters + f) * q.channels + c) * taps + t];
    }
}

// Filters of a register block that exceed what stays in the second-level cache are used a slice at a time,
// for all pixels of a band: a range of channels, or, where windows are dilated and pixels have few of their
// taps, a group of taps. Sums wait in the result, which is to hold floats then.
void plan_slices(const ConvQuery& q, std::int64_t block_filters, ConvState& s) {
  constexpr std::int64_t kNearFloats = 80 * 1024;
  s.chunk = q.channels, s.tap_groups = 1;
  if (q.src_bf16 || q.dst_bf16 || q.residual_bf16) return;
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  const bool by_taps = q.dilation_h > 1 && q.dilation_w > 1;
  const std::int64_t channel_floats = (by_taps ? 1 : taps) * block_filters;
  const std::int64_t chunks = (channel_floats * q.channels + kNearFloats - 1) / kNearFloats;
  s.chunk = (q.channels + chunks - 1) / chunks;
  if (by_taps) {
    const std::int64_t together = std::max<std::int64_t>(kNearFloats / (s.chunk * block_filters), 1);
    s.tap_groups = (taps + together - 1) / together;
  }
}

// Widened or interleaved input that stays in the second-level cache, if a row of outputs lets it.
void plan_strips(const ConvQuery& q, ConvState& s) {
  constexpr std::int64_t kNearFloats = 96 * 1024;
  const auto whole = [&](std::int64_t rows) {
    return (rows - 1) * q.stride_h + (q.kernel_h - 1) * q.dilation_h + 1;
  };
  const auto floats = [&](std::int64_t rows) {
    return std::min(whole(rows), rows * q.kernel_h) * q.in_w * q.channels;
  };
  s.strip_rows = (q.out_h + s.bands - 1) / s.bands;
  while (s.strip_rows > 1 && floats(s.strip_rows) > kNearFloats) --s.strip_rows;
  s.gathered = whole(s.strip_rows) > s.strip_rows * q.kernel_h;
}

std::size_t strip_bytes(const ConvState& s) {
  const std::int64_t slots = s.gathered
                                 ? s.strip_rows * s.kernel_h
                                 : (s.strip_rows - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  return (static_cast<std::size_t>(slots * s.in_w * s.channels) * sizeof(float) + 63) / 64 * 64;
}

// What the tasks write, in their order.
std::vector<compiler::PicturePart> parts_of(const ConvState& s, int lanes) {
  std::vector<compiler::PicturePart> parts;
  const std::int64_t ranges = s.groups * s.splits;
  for (std::int64_t task = 0; task < s.bands * ranges; ++task) {
    const std::int64_t band = s.filters_first ? task % s.bands : task / ranges;
    const std::int64_t range = s.filters_first ? task / s.bands : task % ranges;
    const std::int64_t group = range / s.splits, split = range % s.splits;
    const auto filter = [&](std::int64_t part) {
      return std::min(s.filters, s.vectors * (s.blocks * part / s.splits) / s.blocks * lanes);
    };
    parts.push_back({s.out_h * band / s.bands * s.out_w, s.out_h * (band + 1) / s.bands * s.out_w,
                     group * s.filters + filter(split), group * s.filters + filter(split + 1)});
  }
  return parts;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const int width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  ConvState& s = packed->state;
  s.groups = q.groups, s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_h = q.out_h, s.out_w = q.out_w;
  s.kernel_h = q.kernel_h, s.kernel_w = q.kernel_w, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.dilation_h = q.dilation_h, s.dilation_w = q.dilation_w, s.pad_top = q.pad_top, s.pad_left = q.pad_left;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16, s.residual_bf16 = q.residual_bf16;
  s.planar = q.planar, s.src_plane = q.src_plane;
  s.epilogue = q.epilogue;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  packed->segments =
      row_segments(q, tile_pixels(width, static_cast<int>((s.vectors + s.blocks - 1) / s.blocks)));
  if (packed->segments.size() > 2 && q.dilation_w > 1) {  // tiles of few pixels
    DilatedPlan plan = plan_dilated(q, width, s.vectors, q.channels);
    s.blocks = plan.blocks;
    packed->segments = std::move(plan.segments);
  }
  plan_slices(q, (s.vectors + s.blocks - 1) / s.blocks * width, s);
  packed->weights = PackedFloats::packed(
      query, static_cast<std::size_t>(q.groups * s.vectors * width * q.kernel_h * q.kernel_w * q.channels),
      [&](PackedFloats& weights) { pack(q, width, s, weights.data()); });
  packed->bias = PackedFloats(static_cast<std::size_t>(q.groups * s.vectors * width));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  for (std::int64_t g = 0; g < q.groups && q.bias != nullptr; ++g)
    std::copy_n(q.bias + g * q.filters, q.filters, packed->bias.data() + g * s.vectors * width);
  s.weights = packed->weights.data();
  s.bias = packed->bias.data();
  s.zeros = packed->zeros.data();
  s.segments = packed->segments.data();
  s.segment_count = static_cast<std::int64_t>(packed->segments.size()) - 1;
  // Bands of about eight rows. Filters that do not fit the second-level cache are cut, and the tasks of one
  // part follow each other, so that a thread reads its share of them only.
  constexpr std::int64_t kRows = 8, kNearBytes = 512 * 1024, kTasks = 16;
  const std::int64_t work = q.out_h * q.out_w * s.vectors * q.channels * q.kernel_h * q.kernel_w;
  const auto weight_bytes = static_cast<std::int64_t>(packed->weights.bytes()) / q.groups;
  s.splits = even_tasks(weight_bytes / kNearBytes, s.blocks);
  const std::int64_t wanted = std::min(kTasks / (s.splits * s.groups), tasks_of_work(work));
  s.bands = even_tasks(std::max((q.out_h + kRows - 1) / kRows, wanted), q.out_h);
  s.filters_first = s.splits > 1;
  plan_strips(q, s);

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.bands * s.groups * s.splits};
  prepared.parts = parts_of(s, width);
  s.strip_bytes = s.src_bf16 || s.planar ? strip_bytes(s) : 0;
  prepared.thread_scratch =
      s.strip_bytes + static_cast<std::size_t>(kStoredSumBytes) + tile_scratch(q.kernel_h * q.kernel_w);
  prepared.constants_used = {false, true, true, false};
  prepared.constants_used.resize(query.inputs.size());
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

constexpr KernelDesc kTable[] = {
    {"conv.dense.avx512.fp32", "Conv", Isa::avx512, false, can_run<Storage::f32>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_dense, kInPlace},
    {"conv.dense.avx2.fp32", "Conv", Isa::avx2, false, can_run<Storage::f32>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_dense, kInPlace},
    {"conv.dense.portable.fp32", "Conv", Isa::portable, false, can_run<Storage::f32>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_dense, kInPlace},
    {"conv.dense.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_dense, kInPlace},
    {"conv.dense.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_dense, kInPlace},
    {"conv.dense.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_dense, kInPlace},
};

}  // namespace

std::span<const KernelDesc> conv_kernels() { return kTable; }

}  // namespace saccade::cpu
