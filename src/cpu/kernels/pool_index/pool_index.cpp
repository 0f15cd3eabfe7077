// Choice and preparation of max pooling with indices, and of unpooling.
#include "cpu/kernels/pool_index/pool_index.h"

#include <algorithm>
#include <limits>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "ops/window.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

const char* check_operand(const TensorDesc& desc, DType dtype) {
  if (!desc.present) return "operand missing";
  if (desc.dtype != dtype) return "of another type";
  if (desc.rank() != 4) return "not two-dimensional";
  for (const std::int64_t dim : desc.dims)
    if (dim < 1) return "empty";
  return desc.dims[2] * desc.dims[3] > std::numeric_limits<std::int32_t>::max() ? "planes too large"
                                                                                : nullptr;
}

PictureSteps steps(const TensorDesc& desc) {
  return {desc.strides[0], desc.strides[1], desc.strides[2], desc.strides[3]};
}

const char* can_run_max(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() != 1 || query.outputs.size() != 2) return "no indices are wanted";
  if (const char* why = check_operand(query.inputs[0], DType::f32)) return why;
  if (const char* why = check_operand(query.outputs[0], DType::f32)) return why;
  return check_operand(query.outputs[1], DType::i64);
}

const char* can_run_unpool(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() < 2 || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_operand(query.inputs[0], DType::f32)) return why;
  if (const char* why = check_operand(query.inputs[1], DType::i64)) return why;
  return check_operand(query.outputs[0], DType::f32);
}

/// The window as the operator defines it: padding resolved, sizes checked.
ops::Window window_of(const KernelQuery& query, bool forward) {
  const ops::TensorType type{query.inputs[0].dtype, query.inputs[0].dims};
  const ops::TensorType* const types[] = {&type};
  const ops::NodeView view(query.node, {types, 1}, {});
  const Shape spatial{type.shape.begin() + 2, type.shape.end()};
  const std::vector<std::int64_t> kernel = query.node.integers("kernel_shape");
  return forward ? ops::forward_window(view, spatial, kernel) : ops::transposed_window(view, spatial, kernel);
}

template <Isa kIsa>
double cost_max(const KernelQuery& query) {
  const TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const std::vector<std::int64_t> kernel = query.node.integers("kernel_shape");
  const auto outputs = static_cast<double>(y.count()), taps = static_cast<double>(kernel[0] * kernel[1]);
  const bool adjacent = x.strides[1] == 1 || x.strides[3] == 1;
  return outputs * (1 + taps * (adjacent ? 2.0 / lanes(kIsa) : 1.0)) +
         (4.0 * static_cast<double>(x.count()) + 12 * outputs) / bytes_per_ns(kIsa);
}

template <Isa kIsa>
double cost_unpool(const KernelQuery& query) {
  return 2 * static_cast<double>(query.inputs[0].count()) +
         4.0 * static_cast<double>(query.outputs[0].count()) / bytes_per_ns(kIsa);
}

PreparedKernel prepare_max(const KernelQuery& query) {
  const ops::Window window = window_of(query, true);
  const TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  auto params = std::make_shared<MaxIndexParams>();
  MaxIndexParams& p = *params;
  p.channels = x.dims[1], p.in_h = x.dims[2], p.in_w = x.dims[3], p.out_h = y.dims[2], p.out_w = y.dims[3];
  p.kernel_h = window[0].kernel, p.kernel_w = window[1].kernel;
  p.stride_h = window[0].stride, p.stride_w = window[1].stride;
  p.dilation_h = window[0].dilation, p.dilation_w = window[1].dilation;
  p.pad_top = window[0].pad_begin, p.pad_left = window[1].pad_begin;
  p.src = steps(x), p.dst = steps(y), p.index = steps(query.outputs[1]);
  p.column_major = query.node.integer("storage_order", 0) != 0;
  // A task reads about 64 KB.
  constexpr std::int64_t kTaskElements = 16384;
  const std::int64_t row = std::max<std::int64_t>(1, p.in_w * p.channels * p.stride_h);
  p.band = std::clamp<std::int64_t>(kTaskElements / row, 1, p.out_h);
  p.bands = (p.out_h + p.band - 1) / p.band;
  PreparedKernel prepared;
  prepared.phase_tasks = {x.dims[0] * p.bands};
  prepared.state = params;
  return prepared;
}

PreparedKernel prepare_unpool(const KernelQuery& query) {
  const ops::Window window = window_of(query, false);
  const TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  auto params = std::make_shared<UnpoolParams>();
  UnpoolParams& p = *params;
  p.images = x.dims[0], p.channels = x.dims[1], p.in_h = x.dims[2], p.in_w = x.dims[3];
  p.inner_h = window[0].in, p.inner_w = window[1].in;
  p.out_h = y.dims[2], p.out_w = y.dims[3];
  p.src = steps(x), p.index = steps(query.inputs[1]), p.dst = steps(y);
  p.parts = (p.channels + kUnpoolChannels - 1) / kUnpoolChannels;
  PreparedKernel prepared;
  prepared.phase_tasks = {p.images * p.out_h, p.images * p.parts, 1};
  prepared.shared_scratch = static_cast<std::size_t>(p.images * p.parts) * sizeof(long long);
  prepared.state = params;
  return prepared;
}

template <Isa kIsa>
constexpr KernelDesc max_entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "MaxPool", kIsa, false, can_run_max, cost_max<kIsa>, prepare_max, fn};
}
template <Isa kIsa>
constexpr KernelDesc unpool_entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "MaxUnpool", kIsa, false, can_run_unpool, cost_unpool<kIsa>, prepare_unpool, fn};
}

constexpr KernelDesc kTable[] = {
    max_entry<Isa::avx512>("pool_index.max.avx512.fp32", avx512::max_index),
    max_entry<Isa::avx2>("pool_index.max.avx2.fp32", avx2::max_index),
    max_entry<Isa::portable>("pool_index.max.portable.fp32", portable::max_index),
    unpool_entry<Isa::avx512>("pool_index.unpool.avx512.fp32", avx512::unpool),
    unpool_entry<Isa::avx2>("pool_index.unpool.avx2.fp32", avx2::unpool),
    unpool_entry<Isa::portable>("pool_index.unpool.portable.fp32", portable::unpool),
};

}  // namespace

std::span<const KernelDesc> pool_index_kernels() { return kTable; }

}  // namespace saccade::cpu
