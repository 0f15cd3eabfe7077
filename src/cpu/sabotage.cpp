#include "cpu/sabotage.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/half.h"

namespace saccade::cpu {

namespace {

using compiler::KernelArgs;
using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

/// The one kernel of this process that is broken.
struct Victim {
  const KernelDesc* original = nullptr;
  KernelDesc broken;
};

Victim& victim() {
  static Victim instance;
  return instance;
}

struct State {
  PreparedKernel prepared;
  compiler::KernelFn fn = nullptr;
  DType dtype = DType::f32;
  std::int64_t last = 0;  ///< offset of the last element of output 0
};

PreparedKernel prepare(const KernelQuery& query) {
  auto state = std::make_shared<State>();
  state->prepared = victim().original->prepare(query);
  state->fn = victim().original->fn;
  const compiler::TensorDesc& y = query.outputs[0];
  state->dtype = y.dtype;
  for (std::size_t d = 0; d < y.rank(); ++d) state->last += (y.dims[d] - 1) * y.strides[d];
  PreparedKernel prepared = state->prepared;
  prepared.state = std::move(state);
  return prepared;
}

void run(const KernelArgs& args) noexcept {
  const auto& state = *static_cast<const State*>(args.state);
  KernelArgs inner = args;
  inner.state = state.prepared.state.get();
  state.fn(inner);
  const auto& phases = state.prepared.phase_tasks;
  if (args.phase + 1 != static_cast<int>(phases.size()) || args.end != phases.back()) return;
  const auto size = static_cast<std::int64_t>(dtype_size(state.dtype));
  char* element = static_cast<char*>(args.dst[0]) + state.last * size;
  if (state.dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, element, sizeof value);
    value = -1 - value;
    std::memcpy(element, &value, sizeof value);
  } else if (state.dtype == DType::bf16) {
    BFloat16 value{};
    std::memcpy(&value, element, sizeof value);
    value = to_bfloat16(-1 - to_float(value));
    std::memcpy(element, &value, sizeof value);
  } else {
    *element = static_cast<char>(*element ^ 1);
  }
}

}  // namespace

const KernelDesc* maybe_broken(const KernelDesc* kernel) {
  const char* name = std::getenv("SACCADE_SABOTAGE");
  if (name == nullptr || kernel->name != name) return kernel;
  Victim& v = victim();
  if (v.original == nullptr) {
    v.original = kernel;
    v.broken = *kernel;
    v.broken.prepare = prepare;
    v.broken.fn = run;
  }
  return &v.broken;
}

const KernelDesc* before_breaking(const KernelDesc* kernel) {
  return kernel == &victim().broken ? victim().original : kernel;
}

}  // namespace saccade::cpu
