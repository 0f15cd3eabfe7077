// Choice and preparation of the convolution kernels for few filters.
#include "cpu/kernels/conv_few/conv_few.h"

#include <algorithm>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

// The state and what it points to.
struct Packed {
  ConvFewState state{};
  PackedFloats weights, bias, zeros;
};

template <Storage kStorage>
const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, kStorage)) return why;
  const ConvQuery q = read_conv(query);
  if (q.groups != 1) return "grouped";
  if (q.filters > 8) return "more than 8 filters";
  return nullptr;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const std::int64_t width = lanes(kIsa);
  const double results = static_cast<double>(q.batch * q.out_h * q.out_w * q.filters);
  const double vectors = static_cast<double>((q.channels + width - 1) / width * q.kernel_h * q.kernel_w);
  // A load a product limits the products to half their rate or a little more; a result costs a dozen
  // operations on top.
  const double rate = multiply_adds_per_ns(kIsa) / static_cast<double>(width);
  return results * (vectors / 0.7 + 12 + static_cast<double>(q.kernel_h * q.kernel_w)) / rate +
         static_cast<double>(q.batch) * storage_ns(q, kIsa, q.kernel_h * q.kernel_w * q.filters);
}

void pack(const ConvQuery& q, const ConvFewState& s, PackedFloats& weights) {
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  for (std::int64_t f = 0; f < q.filters; ++f)
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t c = 0; c < q.channels; ++c)
        weights[static_cast<std::size_t>((f * taps + t) * s.padded + c)] =
            q.weights[(f * q.channels + c) * taps + t];
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const std::int64_t width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  ConvFewState& s = packed->state;
  s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_h = q.out_h, s.out_w = q.out_w;
  s.kernel_h = q.kernel_h, s.kernel_w = q.kernel_w, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.dilation_h = q.dilation_h, s.dilation_w = q.dilation_w, s.pad_top = q.pad_top, s.pad_left = q.pad_left;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.residual_image = q.residual_image, s.residual_pixel = q.residual_pixel, s.has_residual = q.has_residual;
  s.src_bf16 = q.src_bf16, s.dst_bf16 = q.dst_bf16, s.residual_bf16 = q.residual_bf16;
  s.epilogue = q.epilogue;
  s.padded = (q.channels + width - 1) / width * width;
  packed->weights =
      PackedFloats::packed(query, static_cast<std::size_t>(q.filters * q.kernel_h * q.kernel_w * s.padded),
                           [&](PackedFloats& weights) { pack(q, s, weights); });
  packed->bias = PackedFloats(static_cast<std::size_t>(q.filters));
  packed->zeros = PackedFloats(static_cast<std::size_t>(s.padded));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = packed->weights.data(), s.bias = packed->bias.data(), s.zeros = packed->zeros.data();
  const std::int64_t row = q.out_w * q.filters * (q.kernel_h * q.kernel_w * s.padded / width + 12);
  s.bands = even_tasks(tasks_of_work(q.out_h * row), q.out_h);

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.bands};
  prepared.constants_used.assign(query.inputs.size(), false);
  for (std::size_t i = 1; i < query.inputs.size() && i < 3; ++i) prepared.constants_used[i] = true;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;

constexpr KernelDesc kTable[] = {
    {"conv.few.avx512.fp32", "Conv", Isa::avx512, false, can_run<Storage::f32>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_few, kInPlace},
    {"conv.few.avx2.fp32", "Conv", Isa::avx2, false, can_run<Storage::f32>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_few, kInPlace},
    {"conv.few.portable.fp32", "Conv", Isa::portable, false, can_run<Storage::f32>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_few, kInPlace},
    {"conv.few.avx512.bf16", "Conv", Isa::avx512, false, can_run<Storage::bf16>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_few, kInPlace},
    {"conv.few.avx2.bf16", "Conv", Isa::avx2, false, can_run<Storage::bf16>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_few, kInPlace},
    {"conv.few.portable.bf16", "Conv", Isa::portable, false, can_run<Storage::bf16>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_few, kInPlace},
};

}  // namespace

std::span<const KernelDesc> conv_few_kernels() { return kTable; }

}  // namespace saccade::cpu
