// Choice and preparation of layer normalisation.
#include "cpu/kernels/layer_norm/layer_norm.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/lines.h"
#include "cpu/storage.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

/// Which axes a line runs along.
std::vector<bool> axes_of(const KernelQuery& query) {
  const auto rank = static_cast<std::int64_t>(query.inputs[0].rank());
  std::int64_t axis = query.node.integer("axis", -1);
  if (axis < 0) axis += rank;
  std::vector<bool> axes(static_cast<std::size_t>(rank), false);
  for (std::int64_t i = std::max<std::int64_t>(axis, 0); i < rank; ++i)
    axes[static_cast<std::size_t>(i)] = true;
  return axes;
}

/// Whether the operand is a row of the dimensions `line`, one element after the other; ones may stand in
/// front.
bool is_row(const TensorDesc& desc, const Shape& line) {
  if (desc.dtype != DType::f32 || desc.rank() < line.size() || desc.count() != element_count(line))
    return false;
  return std::equal(line.rbegin(), line.rend(), desc.dims.rbegin()) &&
         compiler::dense_strides(desc.dims, compiler::Layout::plain) == desc.strides;
}

/// Whether the dimensions of a line lie in memory in their order.
bool in_order(const TensorDesc& desc, const std::vector<bool>& axes) {
  std::int64_t outer = std::numeric_limits<std::int64_t>::max();
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (!axes[d] || desc.dims[d] <= 1) continue;
    if (desc.strides[d] > outer) return false;
    outer = desc.strides[d];
  }
  return true;
}

const char* describe(const KernelQuery& query, LinesView& view) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() < 2 || query.inputs.size() > 3 || !query.inputs[0].present ||
      !query.inputs[1].present)
    return "operands missing";
  if (query.outputs.size() != 1 || query.outputs[0].dtype != DType::f32) return "also gives statistics";
  if (query.inputs[0].rank() == 0) return "a scalar";
  const std::vector<bool> axes = axes_of(query);
  if (const char* why = describe_lines(query.inputs[0], query.outputs[0], axes, true, view)) return why;
  if (!in_order(query.inputs[0], axes) || !in_order(query.outputs[0], axes))
    return "elements of a line lie in another order";
  const LinesDim& line = view.line[LinesView::kDims - 1];
  if (view.line_count != line.size) return "the axes lie apart in memory";
  if (view.inner > 1 || (line.size > 1 && (line.src_step != 1 || line.dst_step != 1)))
    return "elements of a line are not neighbours";
  Shape dims;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d]) dims.push_back(query.inputs[0].dims[d]);
  for (std::size_t i = 1; i < query.inputs.size(); ++i)
    if (query.inputs[i].present && !is_row(query.inputs[i], dims)) return "scale or bias is no row of values";
  return nullptr;
}

const char* can_run(const KernelQuery& query) {
  LinesView view;
  return describe(query, view);
}

/// Data in or out, or both, stored as bf16: the same lines with other loads and stores.
const char* can_run_stored(const KernelQuery& query) {
  if (query.inputs.empty() || query.outputs.empty() ||
      (query.inputs[0].dtype != DType::bf16 && query.outputs[0].dtype != DType::bf16))
    return "no bfloat16";
  for (std::size_t i = 1; i < query.inputs.size(); ++i)
    if (query.inputs[i].present && query.inputs[i].dtype != DType::f32) return "a parameter is not float32";
  return can_run(AsFloats(query).query());
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  LinesView view;
  describe(AsFloats(query).query(), view);
  const auto elements = static_cast<double>(view.outer_count * view.line_count);
  return elements / lanes(kIsa) * 1.5 +
         elements *
             static_cast<double>(dtype_size(query.inputs[0].dtype) + dtype_size(query.outputs[0].dtype)) /
             bytes_per_ns(kIsa) +
         20.0 * static_cast<double>(view.outer_count);
}

PreparedKernel prepare(const KernelQuery& query) {
  auto params = std::make_shared<LayerNormParams>();
  LayerNormParams& p = *params;
  describe(AsFloats(query).query(), p.view);
  p.src_bf16 = query.inputs[0].dtype == DType::bf16;
  p.dst_bf16 = query.outputs[0].dtype == DType::bf16;
  p.epsilon = query.node.real("epsilon", 1e-5f);
  p.has_bias = query.inputs.size() > 2 && query.inputs[2].present;
  constexpr std::int64_t kTaskElements = 16384, kMostParts = 64, kLong = 8 * kTaskElements;
  const std::int64_t line = p.view.line_count, outer = p.view.outer_count;
  // One image alone decides how its lines are cut.
  p.parts = line > kLong ? std::clamp<std::int64_t>(line / kTaskElements, 1, std::min(kMostParts, line)) : 1;
  p.part = (line + p.parts - 1) / p.parts;
  p.parts = (line + p.part - 1) / p.part;
  p.group = std::clamp<std::int64_t>(kTaskElements / line, 1, outer);
  PreparedKernel prepared;
  if (p.parts == 1) {
    prepared.phase_tasks = {(outer + p.group - 1) / p.group};
  } else {
    prepared.phase_tasks.assign(3, outer * p.parts);
    prepared.shared_scratch = static_cast<std::size_t>(outer * 2 * p.parts) * sizeof(float);
  }
  prepared.state = params;
  return prepared;
}

// Elements are read, for the last time, before they are written, vector by vector.
constexpr std::uint32_t kInPlace = 1u << 0;

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "LayerNormalization", kIsa, false, can_run, cost<kIsa>, prepare, fn, kInPlace};
}

template <Isa kIsa>
constexpr KernelDesc stored_entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "LayerNormalization", kIsa, false, can_run_stored, cost<kIsa>, prepare, fn, kInPlace};
}

constexpr KernelDesc kTable[] = {
    stored_entry<Isa::avx512_bf16>("layer_norm.avx512_bf16.stored.bf16", avx512::layer_norm_rounded),
    stored_entry<Isa::avx512>("layer_norm.avx512.bf16", avx512::layer_norm),
    stored_entry<Isa::avx2>("layer_norm.avx2.bf16", avx2::layer_norm),
    stored_entry<Isa::portable>("layer_norm.portable.bf16", portable::layer_norm),
    entry<Isa::avx512>("layer_norm.avx512.fp32", avx512::layer_norm),
    entry<Isa::avx2>("layer_norm.avx2.fp32", avx2::layer_norm),
    entry<Isa::portable>("layer_norm.portable.fp32", portable::layer_norm),
};

}  // namespace

std::span<const KernelDesc> layer_norm_kernels() { return kTable; }

}  // namespace saccade::cpu
