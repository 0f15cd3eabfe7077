#include "step.h"

#include <cstdio>
#include <random>

#include "cpu/target.h"
#include "rates.h"
#include "timing.h"

namespace saccade::bench {

namespace {

using compiler::TensorDesc;

Tensor random_tensor(const Shape& shape) {
  Tensor t(DType::f32, shape);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = uniform(random);
  return t;
}

TensorDesc describe(const Operand& operand, DType dtype) {
  TensorDesc desc;
  desc.present = true;
  desc.dtype = dtype;
  desc.layout = operand.dims.size() >= 3 && !operand.constant ? operand.layout : compiler::Layout::plain;
  desc.dims = operand.dims;
  desc.strides = compiler::dense_strides(operand.dims, desc.layout);
  return desc;
}

}  // namespace

void time_step(const Step& step, const Options& options) {
  if (step.where.find(options.where) == std::string::npos) return;
  ir::Node node;
  node.op = step.op;
  node.attributes = step.attributes;
  std::vector<Tensor> values;
  std::vector<TensorDesc> inputs;
  double bytes = 0;
  for (const Operand& operand : step.inputs) {
    if (operand.integers.empty()) {
      values.push_back(random_tensor(operand.dims));
      bytes += static_cast<double>(values.back().bytes());
    } else {
      values.push_back(
          Tensor::of<std::int64_t>({static_cast<std::int64_t>(operand.integers.size())}, operand.integers));
    }
    Operand shaped = operand;
    shaped.dims = values.back().shape();
    inputs.push_back(describe(shaped, values.back().dtype()));
  }
  std::vector<const Tensor*> constants;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < values.size(); ++i) {
    constants.push_back(step.inputs[i].constant ? &values[i] : nullptr);
    src.push_back(values[i].raw());
  }
  const std::vector<TensorDesc> outputs = {describe(step.output, DType::f32)};
  // Not at the same offset in a page as the inputs: equal low bits of addresses make loads wait for stores.
  constexpr std::int64_t kSkew = 4 * 272;
  Tensor y = Tensor::zeros(DType::u8, {outputs[0].count() * 4 + kSkew});
  void* const dst[] = {static_cast<char*>(y.raw()) + kSkew};
  const Work work{step.multiply_adds, bytes, static_cast<double>(outputs[0].count()) * 4};
  const compiler::KernelQuery query{node, inputs, constants, outputs, compiler::Precision::fp32};
  std::printf("%s %s %s\n", step.op.c_str(), step.where.c_str(), shape_string(step.output.dims).c_str());
  for (const compiler::KernelDesc* kernel : cpu::target().kernels(options.isa)) {
    if (kernel->op != node.op || kernel->name.find(options.kernel) == std::string_view::npos) continue;
    if (kernel->can_run(query) != nullptr) continue;
    const compiler::PreparedKernel prepared = kernel->prepare(query);
    Tensor thread_scratch(DType::u8, {static_cast<std::int64_t>(prepared.thread_scratch + 64)});
    Tensor shared_scratch(DType::u8, {static_cast<std::int64_t>(prepared.shared_scratch + 64)});
    const Timing t = measure(options.seconds, [&] {
      for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase)
        kernel->fn({prepared.state.get(), src.data(), dst, thread_scratch.raw(), shared_scratch.raw(),
                    static_cast<int>(phase), 0, prepared.phase_tasks[phase], nullptr});
    });
    std::printf("    %-28s %9.1f us median %9.1f best  %s  predicted %9.1f us, %lld tasks\n",
                std::string(kernel->name).c_str(), t.median * 1e6, t.best * 1e6,
                rates(work, t.best, kernel->name, options.ceilings).c_str(), kernel->cost(query) * 1e-3,
                static_cast<long long>(prepared.phase_tasks.back()));
  }
  std::fflush(stdout);
}

}  // namespace saccade::bench
