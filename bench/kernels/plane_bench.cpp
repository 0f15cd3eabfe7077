// Times the kernels that work on planes (pools, resizes, reductions, softmax, arg max) on steps of the
// measured networks, one core.
//   bench_plane [--isa ISA] [--kernel TEXT] [--ms MILLISECONDS]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/target.h"
#include "ops/infer.h"
#include "rates.h"
#include "saccade/isa.h"
#include "timing.h"

namespace {

using namespace saccade;
using compiler::Layout;
using compiler::TensorDesc;

/// One step: f32 channels-last input, constant integer inputs behind it.
struct Step {
  const char* where;
  const char* op;
  Shape shape;
  ir::Attributes attributes;
  std::vector<std::vector<std::int64_t>> integers;  ///< an empty list: an absent input
};

using Integers = std::vector<std::int64_t>;

const ir::Attributes kLinear{{"mode", std::string("linear")}};
const ir::Attributes kKeep{{"keepdims", std::int64_t{1}}};
const ir::Attributes kPool3{
    {"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}};
const ir::Attributes kPool2{
    {"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}, {"ceil_mode", std::int64_t{1}}};
const ir::Attributes kChannels{{"axis", std::int64_t{1}}};

const Step kSteps[] = {
    {"selfie x2", "Resize", {1, 128, 16, 16}, kLinear, {{}, {}, {1, 128, 32, 32}}},
    {"selfie x2", "Resize", {1, 16, 64, 64}, kLinear, {{}, {}, {1, 16, 128, 128}}},
    {"u2netp x2", "Resize", {1, 64, 80, 80}, kLinear, {{}, {}, {1, 64, 160, 160}}},
    {"u2netp x2", "Resize", {1, 16, 160, 160}, kLinear, {{}, {}, {1, 16, 320, 320}}},
    {"u2netp side x8", "Resize", {1, 1, 40, 40}, kLinear, {{}, {}, {1, 1, 320, 320}}},
    {"lraspp x2", "Resize", {1, 128, 32, 32}, kLinear, {{}, {}, {1, 128, 64, 64}}},
    {"lraspp x8", "Resize", {1, 21, 64, 64}, kLinear, {{}, {}, {1, 21, 512, 512}}},
    {"deeplab x16", "Resize", {1, 21, 32, 32}, kLinear, {{}, {}, {1, 21, 512, 512}}},
    {"aspp pooling", "Resize", {1, 256, 1, 1}, kLinear, {{}, {}, {1, 256, 64, 64}}},
    {"nearest x2",
     "Resize",
     {1, 64, 64, 64},
     {{"mode", std::string("nearest")}},
     {{}, {}, {1, 64, 128, 128}}},
    {"resnet stem", "MaxPool", {1, 64, 256, 256}, kPool3, {}},
    {"u2netp", "MaxPool", {1, 64, 160, 160}, kPool2, {}},
    {"u2netp", "MaxPool", {1, 16, 320, 320}, kPool2, {}},
    {"unet", "MaxPool", {1, 64, 512, 512}, kPool2, {}},
    {"average", "AveragePool", {1, 64, 128, 128}, kPool3, {}},
    {"selfie mean", "ReduceMean", {1, 16, 64, 64}, kKeep, {{2, 3}}},
    {"selfie mean", "ReduceMean", {1, 96, 16, 16}, kKeep, {{2, 3}}},
    {"lraspp mean", "ReduceMean", {1, 960, 32, 32}, kKeep, {{2, 3}}},
    {"aspp mean", "ReduceMean", {1, 2048, 64, 64}, kKeep, {{2, 3}}},
    {"mask mean", "ReduceMean", {1, 1, 320, 320}, kKeep, {{2, 3}}},
    {"classes", "Softmax", {1, 21, 512, 512}, kChannels, {}},
    {"two classes", "Softmax", {1, 2, 512, 512}, kChannels, {}},
    {"classes", "ArgMax", {1, 21, 512, 512}, kChannels, {}},
    {"two classes", "ArgMax", {1, 2, 512, 512}, kChannels, {}},
};

TensorDesc describe(DType dtype, const Shape& dims) {
  TensorDesc desc;
  desc.present = true;
  desc.dtype = dtype;
  desc.layout = dims.size() == 4 ? Layout::channels_last : Layout::plain;
  desc.dims = dims;
  desc.strides = compiler::dense_strides(dims, desc.layout);
  return desc;
}

struct Options {
  Isa isa = detected_isa();
  std::string kernel;
  double seconds = 0.02;
};

void run_step(const Step& step, const Options& options, const cpu::Ceilings& ceilings) {
  ir::Node node{step.where, step.op, {0}, {1}, step.attributes};
  Tensor x(DType::f32, step.shape);
  for (std::int64_t i = 0; i < x.count(); ++i)
    x.data<float>()[i] = static_cast<float>(i * 7919 % 1000) * 0.01f - 5.0f;
  std::vector<Tensor> constants{x};
  for (const Integers& list : step.integers)
    constants.push_back(
        list.empty() ? Tensor() : Tensor::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, list));
  std::vector<TensorDesc> inputs;
  std::vector<const Tensor*> known;
  std::vector<ops::TensorType> types;
  for (const Tensor& t : constants) types.push_back({t.dtype(), t.shape()});
  std::vector<const ops::TensorType*> type_pointers;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const bool present = !constants[i].empty();
    inputs.push_back(present ? describe(constants[i].dtype(), constants[i].shape()) : TensorDesc{});
    known.push_back(present && i > 0 ? &constants[i] : nullptr);
    type_pointers.push_back(present ? &types[i] : nullptr);
  }
  const ops::TensorType type = ops::infer_node(node, type_pointers, known)->at(0);
  Tensor y(type.dtype, type.shape);
  const std::vector<TensorDesc> outputs{describe(type.dtype, type.shape)};
  const compiler::KernelQuery query{node, inputs, known, outputs, compiler::Precision::fp32};
  const bench::Work work{0, static_cast<double>(x.bytes()), static_cast<double>(y.bytes())};
  std::printf("%-16s %-12s %s -> %s\n", step.where, step.op, shape_string(step.shape).c_str(),
              shape_string(type.shape).c_str());
  for (const compiler::KernelDesc* kernel : cpu::target().kernels(options.isa)) {
    if (kernel->op != node.op || kernel->isa != options.isa || kernel->can_run(query) != nullptr) continue;
    if (kernel->name.find(options.kernel) == std::string_view::npos) continue;
    const compiler::PreparedKernel prepared = kernel->prepare(query);
    Tensor thread_scratch(DType::u8, {static_cast<std::int64_t>(prepared.thread_scratch + 64)});
    Tensor shared_scratch(DType::u8, {static_cast<std::int64_t>(prepared.shared_scratch + 64)});
    std::vector<const void*> src(inputs.size(), nullptr);
    src[0] = x.raw();
    void* const dst[] = {y.raw()};
    const bench::Timing t = bench::measure(options.seconds, [&] {
      for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase)
        kernel->fn({prepared.state.get(), src.data(), dst, thread_scratch.raw(), shared_scratch.raw(),
                    static_cast<int>(phase), 0, prepared.phase_tasks[phase], nullptr});
    });
    std::printf("    %-28s %9.1f us median  %s  predicted %9.1f us, %lld tasks\n",
                std::string(kernel->name).c_str(), t.median * 1e6,
                bench::rates(work, t.median, kernel->name, ceilings).c_str(), kernel->cost(query) * 1e-3,
                static_cast<long long>(prepared.phase_tasks[0]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--isa") == 0)
      options.isa = saccade::parse_isa(argv[i + 1]).value_or(options.isa);
    if (std::strcmp(argv[i], "--kernel") == 0) options.kernel = argv[i + 1];
    if (std::strcmp(argv[i], "--ms") == 0) options.seconds = std::atof(argv[i + 1]) * 1e-3;
  }
  const cpu::Ceilings ceilings = cpu::measure_ceilings(options.isa, 1);
  std::printf("%s\n", bench::describe(ceilings).c_str());
  for (const Step& step : kSteps) run_step(step, options, ceilings);
}
