// Choice and preparation of the transposed convolution kernels.
#include "cpu/kernels/conv_transpose/conv_transpose.h"

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

// The taps of one axis, by phase.
struct Axis {
  std::vector<TransposePhase> phases;
  std::vector<std::vector<std::int64_t>> taps, offsets;  // per phase: tap number, input offset

  Axis(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad, std::int64_t out) {
    const auto count = static_cast<std::size_t>(stride);
    taps.resize(count), offsets.resize(count), phases.resize(count);
    for (std::int64_t r = 0; r < stride; ++r) {
      const auto i = static_cast<std::size_t>(r);
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t from = r + pad - k * dilation;
        if (from % stride != 0) continue;
        taps[i].push_back(k);
        offsets[i].push_back(from / stride);
      }
      phases[i] = {(std::max<std::int64_t>(out - r, 0) + stride - 1) / stride,
                   static_cast<std::int64_t>(taps[i].size()), offsets[i].data()};
    }
  }
  /// The rows next to row j that its taps read.
  std::int64_t before() const {
    std::int64_t most = 0;
    for (const auto& phase : offsets)
      for (const std::int64_t offset : phase) most = std::max(most, -offset);
    return most;
  }
  std::int64_t after() const {
    std::int64_t most = 0;
    for (const auto& phase : offsets)
      for (const std::int64_t offset : phase) most = std::max(most, offset);
    return most;
  }
  std::int64_t most_taps() const {
    std::int64_t most = 0;
    for (const TransposePhase& phase : phases) most = std::max(most, phase.taps);
    return most;
  }
};

// The state and what it points to.
struct Packed {
  Packed(Axis h, Axis w) : rows(std::move(h)), columns(std::move(w)) {}
  ConvTransposeState state{};
  Axis rows, columns;
  PackedFloats weights, bias, zeros;
};

template <Storage kStorage>
const char* can_run(const KernelQuery& query) {
  return check_conv(query, kStorage);
}

template <Isa kIsa, Storage kStorage>
const char* can_run_patch(const KernelQuery& query) {
  if (const char* why = check_conv(query, kStorage)) return why;
  const ConvQuery q = read_conv(query);
  if (q.groups != 1) return "grouped";
  if (q.kernel_h != q.stride_h || q.kernel_w != q.stride_w) return "kernel and stride differ";
  if (q.dilation_h != 1 && q.kernel_h > 1) return "dilated";
  if (q.dilation_w != 1 && q.kernel_w > 1) return "dilated";
  if (q.pad_top != 0 || q.pad_left != 0) return "padded";
  if (q.out_h != q.in_h * q.stride_h || q.out_w != q.in_w * q.stride_w)
    return "output is cropped or extended";
  if (q.kernel_h * q.kernel_w * q.filters > tile_vectors(lanes(kIsa)) * lanes(kIsa))
    return "too many filters";
  return nullptr;
}

template <Isa kIsa>
double cost_patch(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const double pixels = static_cast<double>(q.batch * q.in_h * q.in_w);
  const auto patch = static_cast<double>(q.kernel_h * q.kernel_w * q.filters);
  const auto channels = static_cast<double>(q.channels);
  const double transposed = channels * 4 / lanes(kIsa);  // as many multiply-adds take that time
  return pixels * (channels * (patch + transposed) / multiply_adds_per_ns(kIsa) + patch * 0.4) +
         static_cast<double>(q.batch) * storage_ns(q, kIsa, 1);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  // As many ordinary convolutions as the stride has phases, of a share of the taps each.
  const double rows = static_cast<double>(q.batch * q.in_h * q.stride_h * q.stride_w * q.groups);
  const std::int64_t taps =
      (q.kernel_h * q.kernel_w + q.stride_h * q.stride_w - 1) / (q.stride_h * q.stride_w);
  return rows * tile_row_ns(kIsa, q.in_w, q.filters, q.channels * taps, taps) +
         static_cast<double>(q.batch) * storage_ns(q, kIsa, 2);
}

void pack(const ConvQuery& q, int lanes, const Packed& packed, float* out) {
  const ConvTransposeState& s = packed.state;
  for (std::int64_t g = 0; g < q.groups; ++g)
    for (std::int64_t b = 0; b < s.blocks; ++b) {
      const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
      for (const auto& rows : packed.rows.taps)
        for (const auto& columns : packed.columns.taps)
          for (const std::int64_t ky : rows)
            for (const std::int64_t kx : columns)
              for (std::int64_t c = 0; c < q.channels; ++c)
                for (std::int64_t f = f0; f < f1; ++f, ++out)
                  if (f < q.filters)
                    *out = q.weights[(((g * q.channels + c) * q.filters + f) * q.kernel_h + ky) * q.kernel_w +
                                     kx];
    }
}

// Everything but packed filters and tasks.
std::shared_ptr<Packed> prepare_both(const ConvQuery& q) {
  auto packed = std::make_shared<Packed>(Axis(q.kernel_h, q.stride_h, q.dilation_h, q.pad_top, q.out_h),
                                         Axis(q.kernel_w, q.stride_w, q.dilation_w, q.pad_left, q.out_w));
  ConvTransposeState& s = packed->state;
  s.groups = q.groups, s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_w = q.out_w, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16;
  s.epilogue = q.epilogue;
  s.phases_h = packed->rows.phases.data(), s.phases_w = packed->columns.phases.data();
  s.most_taps = packed->rows.most_taps() * packed->columns.most_taps();
  s.taps = q.kernel_h * q.kernel_w;
  return packed;
}

PreparedKernel finish(const KernelQuery& query, const std::shared_ptr<Packed>& packed, std::int64_t tasks,
                      std::size_t scratch) {
  packed->state.weights = packed->weights.data();
  packed->state.bias = packed->bias.data();
  packed->state.zeros = packed->zeros.data();
  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {tasks};
  prepared.thread_scratch = scratch;
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const int width = lanes(kIsa);
  std::shared_ptr<Packed> packed = prepare_both(q);
  ConvTransposeState& s = packed->state;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  packed->weights = PackedFloats::packed(
      query, static_cast<std::size_t>(q.groups * s.vectors * width * s.taps * q.channels),
      [&](PackedFloats& weights) { pack(q, width, *packed, weights.data()); });
  packed->bias = PackedFloats(static_cast<std::size_t>(q.groups * s.vectors * width));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  for (std::int64_t g = 0; g < q.groups && q.bias != nullptr; ++g)
    std::copy_n(q.bias + g * q.filters, q.filters, packed->bias.data() + g * s.vectors * width);
  s.rows = (q.out_h + q.stride_h - 1) / q.stride_h;
  const std::int64_t work = q.in_h * q.in_w * q.channels * s.taps * s.vectors;
  constexpr std::int64_t kTasks = 16;
  s.bands = even_tasks(tasks_of_work(work), s.rows);
  s.splits = even_tasks(std::min(tasks_of_work(work), kTasks) / s.bands, s.blocks);
  // Widened input that stays in the second-level cache, if a row of outputs lets it.
  constexpr std::int64_t kNearFloats = 96 * 1024;
  s.rows_before = packed->rows.before(), s.rows_after = packed->rows.after();
  s.strip_rows = (s.rows + s.bands - 1) / s.bands;
  const auto floats = [&] { return (s.strip_rows + s.rows_before + s.rows_after) * q.in_w * q.channels; };
  while (s.strip_rows > 1 && floats() > kNearFloats) --s.strip_rows;
  s.strip_bytes = s.src_bf16 ? (static_cast<std::size_t>(floats()) * sizeof(float) + 63) / 64 * 64 : 0;
  return finish(query, packed, q.batch * s.bands * s.groups * s.splits,
                s.strip_bytes + static_cast<std::size_t>(kStoredSumBytes) + tile_scratch(s.most_taps));
}

template <Isa kIsa>
PreparedKernel prepare_patch(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  std::shared_ptr<Packed> packed = prepare_both(q);
  ConvTransposeState& s = packed->state;
  s.patch = s.taps * q.filters;
  const std::int64_t values = (s.patch + 3) / 4 * 4;
  packed->weights =
      PackedFloats::packed(query, static_cast<std::size_t>(values * q.channels), [&](PackedFloats& weights) {
        for (std::int64_t o = 0; o < s.patch; ++o)
          for (std::int64_t c = 0; c < q.channels; ++c)
            weights[static_cast<std::size_t>((o / 4 * q.channels + c) * 4 + o % 4)] =
                q.weights[(c * q.filters + o % q.filters) * s.taps + o / q.filters];
      });
  packed->bias = PackedFloats(static_cast<std::size_t>(values));
  for (std::int64_t t = 0; t < s.taps && q.bias != nullptr; ++t)
    std::copy_n(q.bias, q.filters, packed->bias.data() + t * q.filters);
  s.rows = q.in_h;
  const std::int64_t lines = (q.in_w + lanes(kIsa) - 1) / lanes(kIsa);
  s.bands = even_tasks(tasks_of_work(q.in_h * lines * (q.channels + 8) * values), q.in_h);
  const std::int64_t floats = 2 * lanes(kIsa) * (q.channels + values);
  return finish(query, packed, q.batch * s.bands, static_cast<std::size_t>(floats) * sizeof(float));
}

constexpr KernelDesc kTable[] = {
    {"conv_transpose.patch.avx512.fp32", "ConvTranspose", Isa::avx512, false,
     can_run_patch<Isa::avx512, Storage::f32>, cost_patch<Isa::avx512>, prepare_patch<Isa::avx512>,
     avx512::conv_transpose_patch},
    {"conv_transpose.patch.avx2.fp32", "ConvTranspose", Isa::avx2, false,
     can_run_patch<Isa::avx2, Storage::f32>, cost_patch<Isa::avx2>, prepare_patch<Isa::avx2>,
     avx2::conv_transpose_patch},
    {"conv_transpose.patch.portable.fp32", "ConvTranspose", Isa::portable, false,
     can_run_patch<Isa::portable, Storage::f32>, cost_patch<Isa::portable>, prepare_patch<Isa::portable>,
     portable::conv_transpose_patch},
    {"conv_transpose.avx512.fp32", "ConvTranspose", Isa::avx512, false, can_run<Storage::f32>,
     cost<Isa::avx512>, prepare<Isa::avx512>, avx512::conv_transpose},
    {"conv_transpose.avx2.fp32", "ConvTranspose", Isa::avx2, false, can_run<Storage::f32>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_transpose},
    {"conv_transpose.portable.fp32", "ConvTranspose", Isa::portable, false, can_run<Storage::f32>,
     cost<Isa::portable>, prepare<Isa::portable>, portable::conv_transpose},
    {"conv_transpose.patch.avx512.bf16", "ConvTranspose", Isa::avx512, false,
     can_run_patch<Isa::avx512, Storage::bf16>, cost_patch<Isa::avx512>, prepare_patch<Isa::avx512>,
     avx512::conv_transpose_patch},
    {"conv_transpose.patch.avx2.bf16", "ConvTranspose", Isa::avx2, false,
     can_run_patch<Isa::avx2, Storage::bf16>, cost_patch<Isa::avx2>, prepare_patch<Isa::avx2>,
     avx2::conv_transpose_patch},
    {"conv_transpose.patch.portable.bf16", "ConvTranspose", Isa::portable, false,
     can_run_patch<Isa::portable, Storage::bf16>, cost_patch<Isa::portable>, prepare_patch<Isa::portable>,
     portable::conv_transpose_patch},
    {"conv_transpose.avx512.bf16", "ConvTranspose", Isa::avx512, false, can_run<Storage::bf16>,
     cost<Isa::avx512>, prepare<Isa::avx512>, avx512::conv_transpose},
    {"conv_transpose.avx2.bf16", "ConvTranspose", Isa::avx2, false, can_run<Storage::bf16>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_transpose},
    {"conv_transpose.portable.bf16", "ConvTranspose", Isa::portable, false, can_run<Storage::bf16>,
     cost<Isa::portable>, prepare<Isa::portable>, portable::conv_transpose},
};

}  // namespace

std::span<const KernelDesc> conv_transpose_kernels() { return kTable; }

}  // namespace saccade::cpu
