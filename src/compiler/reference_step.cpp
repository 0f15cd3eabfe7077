#include "compiler/reference_step.h"

#include <cstring>

#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

struct State {
  ir::Node node;
  std::vector<TensorDesc> inputs, outputs;
  std::vector<Tensor> constants;  // per input; empty where not constant
  LoadLimits limits;
};

bool row_major(const TensorDesc& desc) {
  const std::vector<std::int64_t> want = dense_strides(desc.dims, Layout::plain);
  for (std::size_t i = 0; i < desc.rank(); ++i)
    if (desc.dims[i] > 1 && desc.strides[i] != want[i]) return false;
  return true;
}

// Calls body(offset in elements of the strided form) for each element in row-major order.
template <class Body>
void for_each(const TensorDesc& desc, Body body) {
  const std::int64_t count = desc.count();
  std::vector<std::int64_t> index(desc.rank(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    body(i, offset);
    for (std::size_t axis = desc.rank(); axis-- > 0;) {
      offset += desc.strides[axis];
      if (++index[axis] < desc.dims[axis]) break;
      offset -= desc.strides[axis] * desc.dims[axis];
      index[axis] = 0;
    }
  }
}

Tensor gather(const TensorDesc& desc, const void* data) {
  if (row_major(desc)) return Tensor::view(desc.dtype, desc.dims, const_cast<void*>(data), nullptr);
  Tensor tensor(desc.dtype, desc.dims);
  const auto size = static_cast<std::int64_t>(dtype_size(desc.dtype));
  const auto* src = static_cast<const std::byte*>(data);
  auto* dst = static_cast<std::byte*>(tensor.raw());
  for_each(desc, [&](std::int64_t i, std::int64_t offset) {
    std::memcpy(dst + i * size, src + offset * size, static_cast<std::size_t>(size));
  });
  return tensor;
}

void scatter(const Tensor& tensor, const TensorDesc& desc, void* data) {
  if (tensor.dtype() != desc.dtype || tensor.shape() != desc.dims)
    throw Error(ErrorCode::internal,
                "the result is " + shape_string(tensor.shape()) + ", planned was " + shape_string(desc.dims));
  if (tensor.count() == 0) return;
  if (row_major(desc)) {
    std::memcpy(data, tensor.raw(), tensor.bytes());
    return;
  }
  const auto size = static_cast<std::int64_t>(dtype_size(desc.dtype));
  const auto* src = static_cast<const std::byte*>(tensor.raw());
  auto* dst = static_cast<std::byte*>(data);
  for_each(desc, [&](std::int64_t i, std::int64_t offset) {
    std::memcpy(dst + offset * size, src + i * size, static_cast<std::size_t>(size));
  });
}

void run(const KernelArgs& args) noexcept {
  const State& s = *static_cast<const State*>(args.state);
  try {
    std::vector<Tensor> tensors(s.inputs.size());
    std::vector<const Tensor*> inputs(s.inputs.size(), nullptr);
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      if (!s.inputs[i].present) continue;
      tensors[i] = s.constants[i].empty() ? gather(s.inputs[i], args.src[i]) : s.constants[i];
      inputs[i] = &tensors[i];
    }
    ops::Budget budget(s.limits);
    const std::vector<Tensor> outputs = ops::evaluate_node(s.node, ir::Graph{}, inputs, &budget);
    for (std::size_t i = 0; i < s.outputs.size(); ++i)
      if (s.outputs[i].present) scatter(outputs.at(i), s.outputs[i], args.dst[i]);
  } catch (...) {
    *args.failure = std::current_exception();
  }
}

constexpr KernelDesc kReference{.name = "reference", .op = "", .reference = true, .fn = run};

}  // namespace

const KernelDesc& reference_kernel() noexcept { return kReference; }

PreparedKernel prepare_reference(const KernelQuery& query) { return prepare_reference(query, {}); }

PreparedKernel prepare_reference(const KernelQuery& query, const LoadLimits& limits) {
  auto state = std::make_shared<State>();
  state->limits = limits;
  state->node = query.node;
  state->inputs.assign(query.inputs.begin(), query.inputs.end());
  state->outputs.assign(query.outputs.begin(), query.outputs.end());
  PreparedKernel prepared;
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    const bool constant = i < query.constants.size() && query.constants[i] != nullptr;
    state->constants.push_back(constant ? *query.constants[i] : Tensor{});
    prepared.constants_used.push_back(constant);
  }
  prepared.phase_tasks = {1};
  prepared.state = std::move(state);
  return prepared;
}

}  // namespace saccade::compiler
