// Choice and preparation of the transposed convolution of bfloat16.
#include "cpu/kernels/conv_transpose_bf16/conv_transpose_bf16.h"

#include <algorithm>
#include <memory>

#include "base/half.h"
#include "cpu/conv_query.h"
#include "cpu/cost.h"
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
  ConvTransposeBf16State state{};
  PackedFloats weights, bias;  // words, floats
};

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, Storage::bf16)) return why;
  const ConvQuery q = read_conv(query);
  if (!q.src_bf16) return "input is not bfloat16";
  if (q.groups != 1) return "grouped";
  if (q.channels % 2 != 0) return "odd channels";
  if (q.kernel_h != q.stride_h || q.kernel_w != q.stride_w) return "kernel and stride differ";
  if ((q.dilation_h != 1 && q.kernel_h > 1) || (q.dilation_w != 1 && q.kernel_w > 1)) return "dilated";
  if (q.pad_top != 0 || q.pad_left != 0) return "padded";
  if (q.out_h != q.in_h * q.stride_h || q.out_w != q.in_w * q.stride_w)
    return "output is cropped or extended";
  return nullptr;
}

double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const double row = tile_row_ns(Isa::avx512_bf16, q.in_w, q.filters, q.channels / 2, 1);
  // A word is two products, and one instruction.
  return static_cast<double>(q.batch * q.in_h * q.kernel_h * q.kernel_w) * row * 2 / bf16_speedup();
}

void pack(const ConvQuery& q, const ConvTransposeBf16State& s, PackedFloats& packed) {
  auto* halves = reinterpret_cast<BFloat16*>(packed.data());
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    for (std::int64_t b = 0; b < s.blocks; ++b) {
      const std::int64_t f0 = s.vectors * b / s.blocks * kLanes, f1 = s.vectors * (b + 1) / s.blocks * kLanes;
      BFloat16* to = halves + 2 * s.words * (tap * s.vectors * kLanes + f0);
      for (std::int64_t c = 0; c < q.channels; ++c)
        for (std::int64_t f = f0; f < std::min(f1, q.filters); ++f)
          to[2 * (c / 2 * (f1 - f0) + f - f0) + c % 2] =
              to_bfloat16(q.weights[(c * q.filters + f) * taps + tap]);
    }
}

PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  auto packed = std::make_shared<Packed>();
  ConvTransposeBf16State& s = packed->state;
  s.words = q.channels / 2, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_w = q.out_w, s.kernel_h = q.kernel_h, s.kernel_w = q.kernel_w;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel, s.dst_bf16 = q.dst_bf16;
  s.epilogue = q.epilogue;
  s.vectors = (q.filters + kLanes - 1) / kLanes;
  s.blocks = filter_blocks(s.vectors, kLanes);
  packed->weights = PackedFloats::packed(
      query, static_cast<std::size_t>(q.kernel_h * q.kernel_w * s.words * s.vectors * kLanes),
      [&](PackedFloats& weights) { pack(q, s, weights); });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * kLanes));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = reinterpret_cast<const char*>(packed->weights.data());
  s.bias = packed->bias.data();
  // Rows that stay in a second-level cache while all filters pass.
  constexpr std::int64_t kNearBytes = 256 * 1024;
  const std::int64_t wanted =
      std::max(q.in_h * q.in_w * q.channels * 2 / kNearBytes,
               tasks_of_work(q.in_h * q.in_w * s.words * s.vectors * q.kernel_w * q.kernel_h) / q.kernel_h);
  s.bands = even_tasks(std::min<std::int64_t>(wanted, 64), q.in_h);

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.kernel_h * s.bands};
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"conv_transpose.avx512_bf16.bf16", "ConvTranspose", Isa::avx512_bf16, false, can_run, cost, prepare,
     avx512::conv_transpose_bf16, 0},
};

}  // namespace

std::span<const KernelDesc> conv_transpose_bf16_kernels() { return kTable; }

}  // namespace saccade::cpu
