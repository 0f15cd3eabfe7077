// Times every kernel of the table on the convolutions of the measured networks, one core.
//   bench_conv [--isa ISA] [--storage float32|bfloat16] [--network NAME] [--kernel TEXT]
//   [--layer TEXT] [--ms MILLISECONDS]; a layer is "NAME CHANNELS->FILTERS SIZE "
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "conv_layers.h"
#include "cpu/target.h"
#include "platform/pages.h"
#include "rates.h"
#include "saccade/isa.h"
#include "timing.h"

namespace {

using namespace saccade;
using compiler::Layout;
using compiler::TensorDesc;

TensorDesc image(Shape dims, DType dtype = DType::f32) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.present = true;
  desc.layout = Layout::channels_last;
  desc.strides = compiler::dense_strides(dims, Layout::channels_last);
  desc.dims = std::move(dims);
  return desc;
}

Tensor random_tensor(Shape shape, float scale) {
  Tensor t(DType::f32, std::move(shape));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, scale);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = normal(random);
  return t;
}

Tensor stored(const Tensor& t, DType dtype) {
  if (dtype == DType::f32) return t;
  Tensor narrow(dtype, t.shape());
  for (std::int64_t i = 0; i < t.count(); ++i) narrow.data<BFloat16>()[i] = to_bfloat16(t.data<float>()[i]);
  return narrow;
}

/// Whether the kernel runs with vectors as wide as that instruction set's.
bool of_width(Isa kernel, Isa isa) { return kernel == isa || (kernel <= isa && kernel >= Isa::avx512); }

struct Options {
  Isa isa = detected_isa();
  DType storage = DType::f32;
  std::string network, kernel, layer;
  double seconds = 0.05;
};

void bench_layer(const bench::ConvLayer& layer, const Options& options, const cpu::Ceilings& ceilings,
                 std::map<std::string, double>& totals) {
  const std::int64_t k = layer.kernel, pad = layer.transposed ? 0 : (k - 1) / 2 * layer.dilation;
  const std::int64_t out = layer.transposed
                               ? layer.size * layer.stride
                               : (layer.size + 2 * pad - (k - 1) * layer.dilation - 1) / layer.stride + 1;
  ir::Node node;
  node.op = layer.transposed ? "ConvTranspose" : "Conv";
  node.attributes["strides"] = std::vector<std::int64_t>{layer.stride, layer.stride};
  node.attributes["dilations"] = std::vector<std::int64_t>{layer.dilation, layer.dilation};
  node.attributes["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
  node.attributes["activation"] = std::string("relu");
  node.attributes["coarse"] = std::int64_t{1};  // kernels that are less exact too
  const Tensor weights = layer.transposed ? random_tensor({layer.channels, layer.filters, k, k}, 0.1f)
                                          : random_tensor({layer.filters, layer.channels, k, k}, 0.1f);
  const Tensor bias = random_tensor({layer.filters}, 0.1f);
  const Tensor values =
      stored(random_tensor({layer.size, layer.size, layer.channels}, 1.0f), options.storage);
  platform::Pages x(values.bytes());
  std::memcpy(x.data(), values.raw(), values.bytes());
  platform::Pages y(static_cast<std::size_t>(out * out * layer.filters) * dtype_size(options.storage));
  TensorDesc w = image(weights.shape()), b;
  b.present = true;
  const std::vector<TensorDesc> inputs = {image({1, layer.channels, layer.size, layer.size}, options.storage),
                                          w, b};
  const std::vector<const Tensor*> constants = {nullptr, &weights, &bias};
  const std::vector<TensorDesc> outputs = {image({1, layer.filters, out, out}, options.storage)};
  const compiler::KernelQuery query{node, inputs, constants, outputs, compiler::Precision::fp32};
  const double work = static_cast<double>(layer.channels * layer.filters * k * k) *
                      static_cast<double>(layer.transposed ? layer.size * layer.size : out * out);
  std::printf("%-14s %-10s %4lld->%-4lld %3lld k%lld s%lld d%-2lld x%lld %8.1f MF\n",
              std::string(layer.network).c_str(), std::string(layer.name).c_str(),
              static_cast<long long>(layer.channels), static_cast<long long>(layer.filters),
              static_cast<long long>(layer.size), static_cast<long long>(k),
              static_cast<long long>(layer.stride), static_cast<long long>(layer.dilation),
              static_cast<long long>(layer.count), 2e-6 * work);
  const bench::Work amount{work, static_cast<double>(x.size() + weights.bytes() + bias.bytes()),
                           static_cast<double>(y.size())};
  double best = 1e9, cheapest = 1e300, chosen = 0;
  for (const compiler::KernelDesc* kernel : cpu::target().kernels(options.isa)) {
    if (kernel->op != node.op || !of_width(kernel->isa, options.isa)) continue;
    if (kernel->name.find(options.kernel) == std::string_view::npos) continue;
    if (kernel->can_run(query) != nullptr) continue;
    const compiler::PreparedKernel prepared = kernel->prepare(query);
    platform::Pages thread_scratch(prepared.thread_scratch + 64),
        shared_scratch(prepared.shared_scratch + 64);
    const void* const src[] = {x.data(), nullptr, nullptr};
    void* const dst[] = {y.data()};
    const bench::Timing t = bench::measure(options.seconds, [&] {
      for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase)
        kernel->fn({prepared.state.get(), src, dst, thread_scratch.data(), shared_scratch.data(),
                    static_cast<int>(phase), 0, prepared.phase_tasks[phase], nullptr});
    });
    const double cost = kernel->cost(query);
    std::printf("    %-32s %9.1f us median %9.1f best  %s  predicted %9.1f us, %lld tasks\n",
                std::string(kernel->name).c_str(), t.median * 1e6, t.best * 1e6,
                bench::rates(amount, t.median, kernel->name, ceilings).c_str(), cost * 1e-3,
                static_cast<long long>(prepared.phase_tasks[0]));
    best = std::min(best, t.median);
    if (cost < cheapest) cheapest = cost, chosen = t.median;
  }
  totals[std::string(layer.network) + " best"] += 1e3 * best * static_cast<double>(layer.count);
  totals[std::string(layer.network) + " chosen"] += 1e3 * chosen * static_cast<double>(layer.count);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--isa") options.isa = parse_isa(value).value_or(options.isa);
    if (key == "--storage") options.storage = value == "bfloat16" ? DType::bf16 : DType::f32;
    if (key == "--network") options.network = value;
    if (key == "--kernel") options.kernel = value;
    if (key == "--layer") options.layer = value;
    if (key == "--ms") options.seconds = std::atof(value.c_str()) * 1e-3;
  }
  const cpu::Ceilings ceilings = cpu::measure_ceilings(options.isa, 1);
  std::printf("%s\n", bench::describe(ceilings).c_str());
  std::map<std::string, double> totals;
  for (const bench::ConvLayer& layer : bench::conv_layers()) {
    if (layer.network.find(options.network) == std::string_view::npos ||
        (std::string(layer.name) + " " + std::to_string(layer.channels) + "->" +
         std::to_string(layer.filters) + " " + std::to_string(layer.size) + " ")
                .find(options.layer) == std::string::npos)
      continue;
    bench_layer(layer, options, ceilings, totals);
  }
  for (const auto& [name, ms] : totals) std::printf("%-24s %9.3f ms\n", name.c_str(), ms);
}
