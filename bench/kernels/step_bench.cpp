// Times the kernels of the families depthwise, elementwise, copy and matmul on steps of the measured
// networks, one core.
//   bench_steps [--isa ISA] [--family NAME] [--kernel TEXT] [--where TEXT] [--ms MILLISECONDS]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rates.h"
#include "step.h"

namespace saccade::bench {

namespace {

using Integers = std::vector<std::int64_t>;
constexpr auto kPlain = compiler::Layout::plain;

Step depthwise(const char* where, std::int64_t channels, std::int64_t size, std::int64_t kernel,
               std::int64_t stride, std::int64_t dilation) {
  const std::int64_t pad = (kernel - 1) / 2 * dilation, out = (size - 1) / stride + 1;
  Step step;
  step.where = std::string(where) + " " + std::to_string(kernel) + "x" + std::to_string(kernel) + " s" +
               std::to_string(stride) + " d" + std::to_string(dilation);
  step.op = "Conv";
  step.attributes = {{"group", channels},
                     {"strides", Integers{stride, stride}},
                     {"dilations", Integers{dilation, dilation}},
                     {"pads", Integers{pad, pad, pad, pad}},
                     {"activation", std::string("relu")}};
  step.inputs = {
      {{1, channels, size, size}}, {{channels, 1, kernel, kernel}, kPlain, true}, {{channels}, kPlain, true}};
  step.output = {{1, channels, out, out}};
  step.multiply_adds = static_cast<double>(channels * out * out * kernel * kernel);
  return step;
}

Step chain(const char* where, std::vector<std::string> program, std::vector<Operand> inputs) {
  Step step;
  step.where = where;
  step.op = "ElementwiseChain";
  step.attributes = {{"program", std::move(program)}};
  step.output = inputs[0];
  step.inputs = std::move(inputs);
  return step;
}

Step product(const char* where, std::int64_t m, std::int64_t k, std::int64_t n, bool constant) {
  Step step;
  step.where = std::string(where) + (constant ? "" : ", B packed during the run");
  step.op = "MatMul";
  step.inputs = {{{m, k}, kPlain}, {{k, n}, kPlain, constant}};
  step.output = {{m, n}, kPlain};
  step.multiply_adds = static_cast<double>(m * k * n);
  return step;
}

}  // namespace

std::vector<Step> depthwise_steps() {
  return {depthwise("in L2", 64, 32, 3, 1, 1),   depthwise("in L2", 32, 32, 3, 1, 1),
          depthwise("selfie", 16, 128, 3, 1, 1), depthwise("selfie", 16, 128, 3, 2, 1),
          depthwise("selfie", 72, 64, 3, 2, 1),  depthwise("selfie", 88, 32, 3, 1, 1),
          depthwise("selfie", 96, 32, 5, 2, 1),  depthwise("selfie", 96, 16, 5, 1, 1),
          depthwise("selfie", 128, 16, 5, 1, 1), depthwise("lraspp", 16, 256, 3, 1, 1),
          depthwise("lraspp", 64, 256, 3, 2, 1), depthwise("lraspp", 72, 128, 3, 1, 1),
          depthwise("lraspp", 72, 128, 5, 2, 1), depthwise("lraspp", 120, 64, 5, 1, 1),
          depthwise("lraspp", 240, 64, 3, 2, 1), depthwise("lraspp", 200, 32, 3, 1, 1),
          depthwise("lraspp", 672, 32, 3, 1, 1), depthwise("lraspp", 672, 32, 5, 1, 2),
          depthwise("lraspp", 960, 32, 5, 1, 2)};
}

std::vector<Step> elementwise_steps() {
  const Operand small{{1, 64, 32, 32}}, wide{{1, 960, 32, 32}}, large{{1, 16, 256, 256}},
      mask{{1, 1, 256, 256}};
  return {
      chain("in L2", {"Add %0 %1"}, {small, small}),
      chain("in L2", {"Add %0 %1", "Relu %2"}, {small, small}),
      chain("in L2", {"Mul %0 %1"}, {small, {{1, 64, 1, 1}}}),
      chain("gate of few channels", {"Mul %0 %1", "Add %2 %0"}, {large, {{1, 16, 1, 1}}}),
      chain("squeeze and excite", {"HardSigmoid %1 0.2 0.5", "Mul %0 %2"}, {wide, {{1, 960, 1, 1}}}),
      chain("hard swish", {"HardSwish %0"}, {wide}),
      chain("spatial gate", {"Mul %0 %1"}, {large, {{1, 1, 256, 256}}}),
      chain("sigmoid of a mask", {"Sigmoid %0"}, {mask}),
      chain("gate of a plain layout", {"Mul %0 %1"}, {{{1, 64, 32, 32}, kPlain}, {{1, 64, 1, 1}, kPlain}})};
}

std::vector<Step> copy_steps() {
  const auto reorder = [](const char* where, Shape dims, compiler::Layout from, compiler::Layout to) {
    Step step;
    step.where = where;
    step.op = "Reorder";
    step.inputs = {{dims, from}};
    step.output = {std::move(dims), to};
    return step;
  };
  constexpr auto kLast = compiler::Layout::channels_last;
  std::vector<Step> steps = {reorder("picture to channels last", {1, 3, 512, 512}, kPlain, kLast),
                             reorder("picture from channels last", {1, 3, 512, 512}, kLast, kPlain),
                             reorder("features to channels last", {1, 64, 64, 64}, kPlain, kLast),
                             reorder("features from channels last", {1, 64, 64, 64}, kLast, kPlain),
                             reorder("classes from channels last", {1, 21, 512, 512}, kLast, kPlain),
                             reorder("same order", {1, 64, 64, 64}, kLast, kLast)};
  Step joined;
  joined.where = "channels";
  joined.op = "Concat";
  joined.attributes = {{"axis", std::int64_t{1}}};
  joined.inputs = {{{1, 64, 80, 80}}, {{1, 16, 80, 80}}};
  joined.output = {{1, 80, 80, 80}};
  steps.push_back(joined);
  Step padded;
  padded.where = "border";
  padded.op = "Pad";
  padded.inputs = {{{1, 32, 64, 64}}, {{}, kPlain, true, {0, 0, 1, 1, 0, 0, 1, 1}}};
  padded.output = {{1, 32, 66, 66}};
  steps.push_back(padded);
  return steps;
}

std::vector<Step> matmul_steps() {
  return {product("square", 256, 256, 256, true),   product("square", 256, 256, 256, false),
          product("tokens", 1024, 64, 1024, false), product("tokens", 1024, 384, 384, true),
          product("vector", 1, 960, 1280, true),    product("few rows", 4, 512, 512, true)};
}

}  // namespace saccade::bench

int main(int argc, char** argv) {
  using namespace saccade;
  bench::Options options{detected_isa(), "", "", 0.05, {}};
  std::string wanted;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--isa") options.isa = parse_isa(value).value_or(options.isa);
    if (key == "--family") wanted = value;
    if (key == "--kernel") options.kernel = value;
    if (key == "--where") options.where = value;
    if (key == "--ms") options.seconds = std::atof(value.c_str()) * 1e-3;
  }
  options.ceilings = cpu::measure_ceilings(options.isa, 1);
  std::printf("%s\n", bench::describe(options.ceilings).c_str());
  const struct {
    const char* name;
    std::vector<bench::Step> (*steps)();
  } families[] = {{"depthwise", bench::depthwise_steps},
                  {"elementwise", bench::elementwise_steps},
                  {"copy", bench::copy_steps},
                  {"matmul", bench::matmul_steps}};
  for (const auto& family : families)
    if (wanted.empty() || wanted == family.name)
      for (const bench::Step& step : family.steps()) bench::time_step(step, options);
}
