// Saccade as a contender of bench/peers/run.py: loads a model, then runs bursts when asked (the protocol is
// in contender.py).
//
//   bench_resident MODEL THREADS [--isa ISA] [--precision PRECISION] [--input FILE]
//                  [--max-mask-change SHARE] [--calibration FILE] [--coarse yes]
//
// With --coarse, bf16 takes the kernels that err more for all layers that can (CompileOptions::coarse). SHARE
// of the mask's pixels may differ from those in fp32 with --precision auto, which is decided on the pictures
// of
// --calibration, one input after another, else on the input, as int8 is calibrated. The input's FILE holds
// the elements of the first input, row-major in its own type; other inputs, and all without it, are random.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/plan.h"
#include "saccade/model.h"
#include "saccade/quantise.h"

namespace {

using namespace saccade;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, precision = "fp32", input, calibration;
  double max_mask_change = 0.001;
  bool coarse = false;
  int threads = 1;
  std::optional<Isa> isa;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// What all threads of this process have worked.
double cpu_milliseconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// Bytes of a line of the process's status; VmHWM is the largest resident size so far.
std::int64_t memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

void fill_randomly(Tensor& tensor) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> unit(0, 1);
  if (tensor.dtype() == DType::f32)
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = unit(random);
}

void read_into(Tensor& tensor, const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (!file || size != static_cast<std::streamoff>(tensor.bytes()))
    throw std::runtime_error(fmt::format("{}: {} bytes, the input {} has {}", path,
                                         static_cast<std::int64_t>(size), shape_string(tensor.shape()),
                                         tensor.bytes()));
  file.seekg(0);
  file.read(static_cast<char*>(tensor.raw()), size);
}

std::vector<Tensor> make_inputs(const Plan& plan, const std::string& file) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : plan.inputs()) {
    inputs.push_back(Tensor::zeros(info.dtype, info.shape));
    if (inputs.size() == 1 && !file.empty())
      read_into(inputs.back(), file);
    else
      fill_randomly(inputs.back());
  }
  return inputs;
}

/// Any number of inputs, one behind the other.
std::vector<std::vector<Tensor>> make_samples(const Plan& plan, const std::string& path) {
  std::vector<std::vector<Tensor>> samples;
  std::ifstream file(path, std::ios::binary);
  while (file && file.peek() != std::ifstream::traits_type::eof()) {
    samples.push_back(make_inputs(plan, ""));
    Tensor& first = samples.back().front();
    file.read(static_cast<char*>(first.raw()), static_cast<std::streamsize>(first.bytes()));
    if (!file) throw std::runtime_error(path + ": does not hold a whole number of inputs");
  }
  if (samples.empty()) throw std::runtime_error(path + ": no inputs");
  return samples;
}

/// Shares of the multiply-adds by the precision that a kernel's name ends in.
Json executed_precision(const Plan& plan) {
  std::map<std::string, double> work;
  double all = 0;
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    const std::string name(step.kernel->name);
    const auto amount = static_cast<double>(step.multiply_adds);
    work[name.substr(name.rfind('.') + 1)] += amount;
    all += amount;
  }
  Json shares = Json::object();
  for (const auto& [precision, amount] : work)
    if (amount > 0) shares[precision] = amount / all;
  if (shares.empty()) return nullptr;
  return {{"multiply_adds", shares}};
}

Json write_outputs(std::span<const Tensor> outputs, const std::string& path) {
  Json described = Json::array();
  std::ofstream file(path, std::ios::binary);
  for (const Tensor& tensor : outputs) {
    described.push_back({{"dtype", dtype_name(tensor.dtype())}, {"shape", tensor.shape()}});
    file.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
  }
  file.close();
  if (!file) return {{"error", "cannot write " + path}};
  return {{"outputs", described}};
}

class Resident {
 public:
  explicit Resident(const Options& options)
      : start_bytes_(memory("VmRSS")),
        start_(Clock::now()),
        plan_(compile(options)),
        context_(plan_.make_context({.threads = options.threads})),
        load_ms_(milliseconds_since(start_)),
        inputs_(make_inputs(plan_, options.input)) {
    for (const TensorInfo& info : plan_.outputs()) outputs_.push_back(Tensor::zeros(info.dtype, info.shape));
    context_.run(inputs_, outputs_);
  }

  Json greeting() const {
    return {{"ready", true},
            {"chosen", chosen_},
            {"version", "this build"},
            {"precision", executed_precision(plan_)},
            {"load_ms", load_ms_},
            {"start_bytes", start_bytes_},
            {"arena_bytes", plan_.arena_bytes()},
            {"weight_bytes", plan_.weight_bytes()}};
  }

  Json answer(const std::string& question) {
    const std::size_t gap = question.find(' ');
    const std::string word = question.substr(0, gap);
    const std::string rest = gap == std::string::npos ? "" : question.substr(gap + 1);
    if (word == "run") return run(std::stoi(rest));
    if (word == "outputs") return write_outputs(outputs_, rest);
    return {{"error", "unknown question: " + question}};
  }

 private:
  Plan compile(const Options& options) {
    CompileOptions wanted;
    wanted.max_isa = options.isa;
    const auto precision = parse_precision(options.precision);
    if (!precision) throw std::runtime_error("not a precision to run in: " + options.precision);
    const Model model = Model::load(options.model);
    if (*precision != Precision::int8 && *precision != Precision::automatic) {
      wanted.precision = *precision;
      wanted.coarse = options.coarse;
      return model.compile(wanted);
    }
    // On the input that is timed where there is no other: how long bytes take does not depend on their
    // ranges.
    const Plan plan = model.compile(wanted);
    const std::vector<std::vector<Tensor>> samples =
        options.calibration.empty() ? std::vector<std::vector<Tensor>>{make_inputs(plan, options.input)}
                                    : make_samples(plan, options.calibration);
    if (*precision == Precision::int8)
      return quantised(model, samples, {wanted, {}, options.threads}).compile(wanted);
    const Fastest chosen = fastest(model, samples, {wanted, options.max_mask_change, options.threads});
    const PrecisionReport& report = chosen.report;
    chosen_ = {{"used", precision_name(report.used)},
               {"lowered", report.lowered},
               {"coarse", report.coarse},
               {"layers", report.layers},
               {"mask_change", report.mask_change},
               {"run_ms", report.run_ms},
               {"fp32_run_ms", report.fp32_run_ms}};
    return chosen.model.compile(chosen.compile);
  }

  Json run(int runs) {
    Json times = Json::array(), cpu_times = Json::array();
    for (int i = 0; i < runs; ++i) {
      const double cpu_start = cpu_milliseconds();
      const Clock::time_point start = Clock::now();
      context_.run(inputs_, outputs_);
      times.push_back(milliseconds_since(start));
      cpu_times.push_back(cpu_milliseconds() - cpu_start);
    }
    return {{"ms", times}, {"cpu_ms", cpu_times}};
  }

  std::int64_t start_bytes_;
  Clock::time_point start_;
  Json chosen_;  // what --precision auto came to
  Plan plan_;
  Context context_;
  double load_ms_;
  std::vector<Tensor> inputs_, outputs_;
};

void say(const Json& message) { std::cout << message.dump() << std::endl; }

void serve(const Options& options) {
  Resident resident(options);
  say(resident.greeting());
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "quit") {
      say({{"peak_bytes", memory("VmHWM")}});
      return;
    }
    say(resident.answer(line));
  }
}

bool parse(int argc, char** argv, Options& options) {
  if (argc < 3 || argc % 2 == 0) return false;
  options.model = argv[1];
  options.threads = std::stoi(argv[2]);
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--isa" && parse_isa(value))
      options.isa = parse_isa(value);
    else if (key == "--precision")
      options.precision = value;
    else if (key == "--input")
      options.input = value;
    else if (key == "--calibration")
      options.calibration = value;
    else if (key == "--coarse")
      options.coarse = value == "yes";
    else if (key == "--max-mask-change")
      options.max_mask_change = std::stod(value);
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    if (!parse(argc, argv, options)) {
      std::fputs(
          "usage: bench_resident MODEL THREADS [--isa ISA] [--precision PRECISION] [--input FILE] "
          "[--max-mask-change SHARE] [--calibration FILE] [--coarse yes]\n",
          stderr);
      return 2;
    }
    serve(options);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    say({{"error", e.what()}});
    return 1;
  }
}
