// Choice and preparation of the pooling kernels.
#include "cpu/kernels/pool/pool.h"

#include <algorithm>

#include "cpu/cost.h"
#include "cpu/image.h"
#include "cpu/kernels/families.h"
#include "cpu/storage.h"
#include "ops/window.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

using Check = const char* (*)(const compiler::TensorDesc&);

template <Check kCheck>
const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() != 1) return "operands missing";
  if (query.outputs.empty() || (query.outputs.size() > 1 && query.outputs[1].present))
    return "indices are wanted";
  if (const char* why = kCheck(query.inputs[0])) return why;
  if (const char* why = kCheck(query.outputs[0])) return why;
  return nullptr;
}

/// The window as the operator defines it: padding resolved, sizes checked.
ops::Window window_of(const KernelQuery& query) {
  const ops::TensorType type{query.inputs[0].dtype, query.inputs[0].dims};
  const ops::TensorType* const types[] = {&type};
  const ops::NodeView view(query.node, {types, 1}, {});
  return ops::forward_window(view, {type.shape.begin() + 2, type.shape.end()},
                             query.node.integers("kernel_shape"));
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ops::Window window = window_of(query);
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const auto vectors = static_cast<double>((x.channels + lanes(kIsa) - 1) / lanes(kIsa));
  const auto taps = static_cast<double>(window[0].kernel * window[1].kernel);
  const auto size = static_cast<double>(dtype_size(query.inputs[0].dtype));
  const double bytes =
      size * static_cast<double>(x.batch * x.channels * (x.height * x.width + y.height * y.width));
  return static_cast<double>(x.batch * y.height * y.width) * vectors * taps * size / 16 +
         bytes / bytes_per_ns(kIsa);
}

PreparedKernel prepare(const KernelQuery& query) {
  const ops::Window window = window_of(query);
  const ops::WindowAxis &h = window[0], &w = window[1];
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  auto params = std::make_shared<PoolParams>();
  PoolParams& p = *params;
  p.channels = x.channels;
  p.in_h = x.height, p.in_w = x.width, p.out_h = y.height, p.out_w = y.width;
  p.src_image = x.image, p.src_row = x.row, p.src_pixel = x.pixel;
  p.dst_image = y.image, p.dst_row = y.row, p.dst_pixel = y.pixel;
  p.kernel_h = h.kernel, p.kernel_w = w.kernel, p.stride_h = h.stride, p.stride_w = w.stride;
  p.dilation_h = h.dilation, p.dilation_w = w.dilation, p.pad_top = h.pad_begin, p.pad_left = w.pad_begin;
  p.covered_h = h.in + h.pad_end, p.covered_w = w.in + w.pad_end;
  p.is_signed = query.inputs[0].dtype == DType::i8;
  p.count_padding = query.node.integer("count_include_pad", 0) != 0;
  // A task reads about 64 KB, so that small maps are not cut and large ones balance.
  constexpr std::int64_t kTaskElements = 16384;
  const std::int64_t row = std::max<std::int64_t>(1, p.out_w * p.channels * p.kernel_h * p.kernel_w / 4);
  p.band = std::clamp<std::int64_t>(kTaskElements / row, 1, p.out_h);
  p.bands = (p.out_h + p.band - 1) / p.band;
  PreparedKernel prepared;
  prepared.phase_tasks = {x.batch * p.bands};
  prepared.state = params;
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"pool.max.avx512.fp32", "MaxPool", Isa::avx512, false, can_run<check_image>, cost<Isa::avx512>, prepare,
     avx512::max_pool},
    {"pool.max.avx512.int8", "MaxPool", Isa::avx512, false, can_run<check_byte_image>, cost<Isa::avx512>,
     prepare, avx512::max_pool_bytes},
    {"pool.average.avx512.fp32", "AveragePool", Isa::avx512, false, can_run<check_image>, cost<Isa::avx512>,
     prepare, avx512::average_pool},
    {"pool.max.avx2.fp32", "MaxPool", Isa::avx2, false, can_run<check_image>, cost<Isa::avx2>, prepare,
     avx2::max_pool},
    {"pool.max.avx2.int8", "MaxPool", Isa::avx2, false, can_run<check_byte_image>, cost<Isa::avx2>, prepare,
     avx2::max_pool_bytes},
    {"pool.average.avx2.fp32", "AveragePool", Isa::avx2, false, can_run<check_image>, cost<Isa::avx2>,
     prepare, avx2::average_pool},
    {"pool.max.portable.fp32", "MaxPool", Isa::portable, false, can_run<check_image>, cost<Isa::portable>,
     prepare, portable::max_pool},
    {"pool.max.portable.int8", "MaxPool", Isa::portable, false, can_run<check_byte_image>,
     cost<Isa::portable>, prepare, portable::max_pool_bytes},
    {"pool.average.portable.fp32", "AveragePool", Isa::portable, false, can_run<check_image>,
     cost<Isa::portable>, prepare, portable::average_pool},
    {"pool.max.avx512.bf16", "MaxPool", Isa::avx512, false, can_run_bf16<can_run<check_image>, 1u>,
     cost<Isa::avx512>, prepare_bf16<prepare>, avx512::max_pool_bf16},
    {"pool.average.avx512.bf16", "AveragePool", Isa::avx512, false, can_run_bf16<can_run<check_image>, 1u>,
     cost<Isa::avx512>, prepare_bf16<prepare>, avx512::average_pool_bf16},
    {"pool.max.avx2.bf16", "MaxPool", Isa::avx2, false, can_run_bf16<can_run<check_image>, 1u>,
     cost<Isa::avx2>, prepare_bf16<prepare>, avx2::max_pool_bf16},
    {"pool.average.avx2.bf16", "AveragePool", Isa::avx2, false, can_run_bf16<can_run<check_image>, 1u>,
     cost<Isa::avx2>, prepare_bf16<prepare>, avx2::average_pool_bf16},
    {"pool.max.portable.bf16", "MaxPool", Isa::portable, false, can_run_bf16<can_run<check_image>, 1u>,
     cost<Isa::portable>, prepare_bf16<prepare>, portable::max_pool_bf16},
    {"pool.average.portable.bf16", "AveragePool", Isa::portable, false,
     can_run_bf16<can_run<check_image>, 1u>, cost<Isa::portable>, prepare_bf16<prepare>,
     portable::average_pool_bf16},
};

}  // namespace

std::span<const KernelDesc> pool_kernels() { return kTable; }

}  // namespace saccade::cpu
