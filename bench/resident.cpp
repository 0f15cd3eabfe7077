// Saccade as a contender of bench/networks.py: loads a model, then runs bursts when asked (see
// bench/peers.py).
//
//   bench_resident MODEL THREADS [ISA]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "saccade/model.h"

namespace {

using namespace saccade;

std::vector<Tensor> random_inputs(const Plan& plan) {
  std::vector<Tensor> inputs;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> unit(0, 1);
  for (const TensorInfo& info : plan.inputs()) {
    Tensor tensor = Tensor::zeros(info.dtype, info.shape);
    if (info.dtype == DType::f32)
      for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = unit(random);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> empty_outputs(const Plan& plan) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : plan.outputs()) outputs.push_back(Tensor::zeros(info.dtype, info.shape));
  return outputs;
}

double milliseconds(Context& context, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const auto start = std::chrono::steady_clock::now();
  context.run(inputs, outputs);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void serve(const std::string& path, int threads, const CompileOptions& options) {
  const Model model = Model::load(path);
  const Plan plan = model.compile(options);
  Context context = plan.make_context({.threads = threads});
  const std::vector<Tensor> inputs = random_inputs(plan);
  std::vector<Tensor> outputs = empty_outputs(plan);
  context.run(inputs, outputs);
  std::cout << R"({"ready": true, "version": "this build"})" << std::endl;

  std::string command;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int runs = 0;
    if (!(words >> command >> runs) || command != "run") return;
    std::ostringstream answer;
    answer << R"({"ms": [)";
    for (int i = 0; i < runs; ++i) answer << (i > 0 ? ", " : "") << milliseconds(context, inputs, outputs);
    std::cout << answer.str() << "]}" << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) {
      std::fputs("usage: bench_resident MODEL THREADS [ISA]\n", stderr);
      return 2;
    }
    CompileOptions options;
    if (argc > 3) options.max_isa = parse_isa(argv[3]);
    serve(argv[1], std::stoi(argv[2]), options);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    std::cout << R"({"error": "see the log"})" << std::endl;
    return 1;
  }
}
