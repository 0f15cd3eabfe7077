// Choice and preparation of the 1x1 convolution kernels.
#include "cpu/kernels/pointwise/pointwise.h"

#include <algorithm>
#include <vector>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
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
  PointwiseState state{};
  PackedFloats weights, bias;
};

const char* can_run_both(const KernelQuery& query, Storage storage, bool gates = false) {
  if (const char* why = check_conv(query, storage, gates)) return why;
  const ConvQuery q = read_conv(query);
  if (q.kernel_h != 1 || q.kernel_w != 1) return "not 1x1";
  if (q.groups != 1) return "grouped";
  if (q.pad_top != 0 || q.pad_left != 0) return "padded";
  return nullptr;
}

const char* can_run_rows(const KernelQuery& query, Storage storage, bool gates) {
  if (const char* why = can_run_both(query, storage, gates)) return why;
  const ConvQuery q = read_conv(query);
  // A stride over a single row or column is none; one that keeps the size steps into padding at the end.
  if (q.in_h != q.out_h || (q.stride_h != 1 && q.out_h != 1)) return "strided or padded";
  if (q.in_w != q.out_w || (q.stride_w != 1 && q.out_w != 1)) return "strided or padded";
  return nullptr;
}

template <Storage kStorage>
const char* can_run(const KernelQuery& query) {
  if (const char* why = can_run_rows(query, kStorage, true)) return why;
  const ConvQuery q = read_conv(query);
  if (q.in_h > 1 && q.src_row != q.src_pixel * q.in_w) return "input rows are not adjacent";
  return nullptr;
}

template <Storage kStorage>
const char* can_run_single(const KernelQuery& query) {
  if (const char* why = can_run_both(query, kStorage)) return why;
  const ConvQuery q = read_conv(query);
  return q.out_h == 1 && q.out_w == 1 ? nullptr : "more than one pixel";
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  double ns = 0.99 * tile_row_ns(kIsa, q.out_h * q.out_w, q.filters, q.channels, 1);
  // The filters are read and written.
  if (q.has_gate) ns += static_cast<double>(q.filters * q.channels) * 2 * sizeof(float) / bytes_per_ns(kIsa);
  return static_cast<double>(q.batch) * (ns + storage_ns(q, kIsa, 1));
}

template <Isa kIsa>
double cost_single(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  // Two loads a cycle: a filter value a multiply-add.
  const auto products = static_cast<double>(q.channels * (q.filters + lanes(kIsa)));
  return static_cast<double>(q.batch) * (20 + products / (0.5 * multiply_adds_per_ns(kIsa)));
}

// Which filter lies in a lane, or one beyond the last: `twice`, in both halves of the last vector.
std::int64_t filter_of_lane(std::int64_t lane, std::int64_t filters, bool twice, int lanes) {
  return twice && lane >= filters && lane % lanes >= lanes / 2 ? lane - lanes / 2 : lane;
}

void pack(const ConvQuery& q, int lanes, const PointwiseState& s, float* out) {
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
    for (std::int64_t c = 0; c < q.channels; ++c)
      for (std::int64_t lane = f0; lane < f1; ++lane, ++out) {
        const std::int64_t f = filter_of_lane(lane, q.filters, s.twice, lanes);
        if (f < q.filters) *out = q.weights[f * q.channels + c];
      }
  }
}

// Everything but the tasks.
std::shared_ptr<Packed> prepare_both(const KernelQuery& query, int width, std::int64_t blocks) {
  const ConvQuery q = read_conv(query);
  auto packed = std::make_shared<Packed>();
  PointwiseState& s = packed->state;
  s.channels = q.channels, s.filters = q.filters, s.pixels = q.out_h * q.out_w;
  s.src_image = q.src_image, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.has_gate = q.has_gate, s.gate_image = q.gate_image;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16;
  s.residual_bf16 = q.residual_bf16, s.gate_bf16 = q.gate_bf16;
  s.epilogue = q.epilogue;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = blocks;
  s.twice = holds_twice(width, q.filters);
  packed->weights = PackedFloats::packed(query, static_cast<std::size_t>(s.vectors * width * q.channels),
                                         [&](PackedFloats& weights) { pack(q, width, s, weights.data()); });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * width));
  for (std::int64_t lane = 0; lane < s.vectors * width && q.bias != nullptr; ++lane) {
    const std::int64_t f = filter_of_lane(lane, q.filters, s.twice, width);
    if (f < q.filters) packed->bias[static_cast<std::size_t>(lane)] = q.bias[f];
  }
  s.weight_count = static_cast<std::int64_t>(packed->weights.size());
  s.weights = packed->weights.data(), s.bias = packed->bias.data();
  return packed;
}

PreparedKernel finish(const KernelQuery& query, const std::shared_ptr<Packed>& packed, std::int64_t tasks) {
  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {tasks};
  prepared.constants_used.assign(query.inputs.size(), false);
  for (std::size_t i = 1; i < query.inputs.size() && i < 3; ++i) prepared.constants_used[i] = true;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// What the tasks write, in their order.
std::vector<compiler::PicturePart> parts_of(const PointwiseState& s, int lanes) {
  std::vector<compiler::PicturePart> parts;
  for (std::int64_t task = 0; task < s.pixel_tasks * s.splits; ++task) {
    const std::int64_t range = task / s.splits, split = task % s.splits;
    const auto pixel = [&](std::int64_t part) {
      return std::min(s.pixels, s.units * part / s.pixel_tasks * kPixelUnit);
    };
    const auto filter = [&](std::int64_t part) {
      return std::min(s.filters, s.vectors * (s.blocks * part / s.splits) / s.blocks * lanes);
    };
    parts.push_back({pixel(range), pixel(range + 1), filter(split), filter(split + 1)});
  }
  return parts;
}

// `blocks`: register blocks of filters, or 0 for the fewest.
PreparedKernel prepare_width(const KernelQuery& query, int width, std::int64_t blocks = 0) {
  const ConvQuery q = read_conv(query);
  const std::int64_t vectors = (q.filters + width - 1) / width, fewest = filter_blocks(vectors, width);
  // Filters of a register block are used a slice of channels at a time, so that they stay near. In the
  // second-level cache where vectors are wide: 64 filters come from there as fast as they are multiplied, and
  // sums that leave their registers less often are worth more.
  const std::int64_t near = width == 16 ? 64 * 1024 : 8 * 1024;
  std::shared_ptr<Packed> packed = prepare_both(query, width, blocks > 0 ? blocks : fewest);
  PointwiseState& s = packed->state;
  const std::int64_t widest = (vectors + fewest - 1) / fewest * width;
  const std::int64_t chunks = (q.channels * widest + near - 1) / near;
  s.chunk = (q.channels + chunks - 1) / chunks;
  // Partial sums wait in the output, which is to hold floats then.
  if (s.dst_bf16 || s.residual_bf16) s.chunk = q.channels;
  // A task's input stays in the second-level cache: some 192 KB.
  constexpr std::int64_t kNearFloats = 48 * 1024, kTasks = 16;
  const std::int64_t wanted = tasks_of_work(s.pixels * s.channels * s.vectors);
  s.units = (s.pixels + kPixelUnit - 1) / kPixelUnit;
  s.pixel_tasks = even_tasks(std::max(s.pixels * s.channels / kNearFloats, wanted), (s.units + 3) / 4);
  // Few pixels and many filters: cut the filters too.
  s.splits = even_tasks(std::min(wanted, kTasks) / s.pixel_tasks, s.blocks);
  PreparedKernel prepared = finish(query, packed, q.batch * s.pixel_tasks * s.splits);
  prepared.parts = parts_of(s, width);
  s.panel = std::max<std::int64_t>(kNearFloats / s.channels / kPixelUnit, 1) * kPixelUnit;
  const std::int64_t widened = s.src_bf16 ? std::min(s.panel, s.pixels) * s.channels : 0;
  prepared.thread_scratch =
      static_cast<std::size_t>(kStoredSumBytes) + static_cast<std::size_t>(widened) * sizeof(float);
  if (s.has_gate) {
    prepared.phase_tasks.insert(prepared.phase_tasks.begin(), q.batch * s.blocks);
    prepared.shared_scratch = static_cast<std::size_t>(q.batch * s.weight_count) * sizeof(float);
  }
  return prepared;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  return prepare_width(query, lanes(kIsa));
}

template <Isa kIsa>
PreparedKernel prepare_single(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const std::int64_t vectors = (q.filters + lanes(kIsa) - 1) / lanes(kIsa);
  std::shared_ptr<Packed> packed =
      prepare_both(query, lanes(kIsa), (vectors + kSingleVectors - 1) / kSingleVectors);
  PreparedKernel prepared = finish(query, packed, q.batch * packed->state.blocks);
  if (q.src_bf16) prepared.thread_scratch = static_cast<std::size_t>(q.channels) * sizeof(float);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

constexpr KernelDesc kTable[] = {
    {"conv.single.avx512.fp32", "Conv", Isa::avx512, false, can_run_single<Storage::f32>,
     cost_single<Isa::avx512>, prepare_single<Isa::avx512>, avx512::conv_single, kInPlace},
    {"conv.single.avx2.fp32", "Conv", Isa::avx2, false, can_run_single<Storage::f32>, cost_single<Isa::avx2>,
     prepare_single<Isa::avx2>, avx2::conv_single, kInPlace},
    {"conv.single.portable.fp32", "Conv", Isa::portable, false, can_run_single<Storage::f32>,
     cost_single<Isa::portable>, prepare_single<Isa::portable>, portable::conv_single, kInPlace},
    {"conv.pointwise.avx512.fp32", "Conv", Isa::avx512, false, can_run<Storage::f32>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_pointwise, kInPlace},
    {"conv.pointwise.avx2.fp32", "Conv", Isa::avx2, false, can_run<Storage::f32>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_pointwise, kInPlace},
    {"conv.pointwise.portable.fp32", "Conv", Isa::portable, false, can_run<Storage::f32>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_pointwise, kInPlace},
    {"conv.single.avx512.bf16", "Conv", Isa::avx512, false, can_run_single<Storage::bf16>,
     cost_single<Isa::avx512>, prepare_single<Isa::avx512>, avx512::conv_single, kInPlace},
    {"conv.single.avx2.bf16", "Conv", Isa::avx2, false, can_run_single<Storage::bf16>, cost_single<Isa::avx2>,
     prepare_single<Isa::avx2>, avx2::conv_single, kInPlace},
    {"conv.single.portable.bf16", "Conv", Isa::portable, false, can_run_single<Storage::bf16>,
     cost_single<Isa::portable>, prepare_single<Isa::portable>, portable::conv_single, kInPlace},
    {"conv.pointwise.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_pointwise, kInPlace},
    {"conv.pointwise.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_pointwise, kInPlace},
    {"conv.pointwise.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>,
     cost<Isa::portable>, prepare<Isa::portable>, portable::conv_pointwise, kInPlace},
};

}  // namespace

std::span<const KernelDesc> pointwise_kernels() { return kTable; }

const char* check_pointwise_rows(const KernelQuery& query) {
  return can_run_rows(query, Storage::f32, false);
}

compiler::PreparedKernel prepare_pointwise(const KernelQuery& query, int lanes, std::int64_t blocks) {
  return prepare_width(query, lanes, blocks);
}

}  // namespace saccade::cpu
