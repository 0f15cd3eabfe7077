// Choice and preparation of instance normalisation.
#include "cpu/kernels/instance_norm/instance_norm.h"

#include <algorithm>
#include <vector>

#include "cpu/cost.h"
#include "cpu/epilogue.h"
#include "cpu/kernels/families.h"
#include "cpu/lines.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

bool per_channel(const compiler::TensorDesc& operand, std::int64_t channels) {
  return operand.present && operand.dtype == DType::f32 && operand.dims == Shape{channels} && operand.dense();
}

std::int64_t channels_of_group(const KernelQuery& query) {
  const std::int64_t channels = query.inputs[0].dims[1];
  return channels / query.node.integer("groups", channels);
}

const char* describe(const KernelQuery& query, LinesView& view) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() != 3 || query.outputs.size() != 1) return "operands missing";
  if (query.outputs[0].dtype != DType::f32) return "not float32";
  const compiler::TensorDesc& x = query.inputs[0];
  if (x.rank() < 3) return "no plane";
  if (!per_channel(query.inputs[1], x.dims[1]) || !per_channel(query.inputs[2], x.dims[1]))
    return "scale or bias of another form";
  if (const char* why = check_epilogue(query.node)) return why;
  std::vector<bool> axes(x.rank(), true);
  axes[0] = axes[1] = false;
  if (const char* why = describe_lines(x, query.outputs[0], axes, true, view)) return why;
  const LinesDim& last = view.line[LinesView::kDims - 1];
  if (view.line_count == 1) return "planes of one pixel";
  if (view.inner == 1 && (last.src_step != 1 || last.dst_step != 1))
    return "neither planes nor channels are contiguous";
  // With channels together, the outer combinations are the images.
  if (view.inner != x.dims[1] && (view.inner > 1 || channels_of_group(query) > 1))
    return "channels lie apart";
  return nullptr;
}

const char* can_run(const KernelQuery& query) {
  LinesView view;
  return describe(query, view);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  LinesView view;
  describe(query, view);
  const auto elements = static_cast<double>(view.outer_count * view.line_count * view.inner);
  return elements / lanes(kIsa) + 12.0 * elements / bytes_per_ns(kIsa);
}

PreparedKernel prepare(const KernelQuery& query) {
  auto params = std::make_shared<InstanceNormParams>();
  InstanceNormParams& p = *params;
  describe(query, p.view);
  p.epilogue = read_epilogue(query.node);
  p.epsilon = query.node.real("epsilon", 1e-5f);
  p.channels = query.inputs[0].dims[1];
  p.first = query.node.integer("first_channel", 0);
  p.width = channels_of_group(query);
  // A part is read twice, the second time from a near cache.
  constexpr std::int64_t kPartElements = 8192, kLeastPixels = 64;
  const std::int64_t line = p.view.line_count, outer = p.view.outer_count, inner = p.view.inner;
  p.part = std::min(line, std::max(kLeastPixels, kPartElements / inner));
  p.parts = (line + p.part - 1) / p.part;
  p.part = (line + p.parts - 1) / p.parts;
  p.parts = (line + p.part - 1) / p.part;
  p.group = std::clamp<std::int64_t>(kPartElements / (line * inner), 1, outer);
  PreparedKernel prepared;
  prepared.thread_scratch = static_cast<std::size_t>(3 * inner) * sizeof(float);
  if (p.parts == 1) {
    prepared.phase_tasks = {(outer + p.group - 1) / p.group};
  } else {
    prepared.phase_tasks = {outer * p.parts, outer, outer * p.parts};
    prepared.shared_scratch = static_cast<std::size_t>(outer * (2 * p.parts + 3) * inner) * sizeof(float);
  }
  prepared.state = params;
  return prepared;
}

constexpr std::uint32_t kInPlace = 1u << 0;

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "InstanceNormalization", kIsa, false, can_run, cost<kIsa>, prepare, fn, kInPlace};
}

constexpr KernelDesc kTable[] = {
    entry<Isa::avx512>("instance_norm.avx512.fp32", avx512::instance_norm),
    entry<Isa::avx2>("instance_norm.avx2.fp32", avx2::instance_norm),
    entry<Isa::portable>("instance_norm.portable.fp32", portable::instance_norm),
};

}  // namespace

std::span<const KernelDesc> instance_norm_kernels() { return kTable; }

}  // namespace saccade::cpu
