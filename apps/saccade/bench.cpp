// saccade bench: how long a model takes, and where.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/counted.h"
#include "base/files.h"
#include "base/json_text.h"
#include "command.h"
#include "find_model.h"
#include "layer_floor.h"
#include "limit_option.h"
#include "overwrite.h"
#include "plan_options.h"
#include "platform/machine.h"
#include "platform/thread_pool.h"
#include "precision_text.h"
#include "runtime/context.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "saccade/error.h"
#include "saccade/model.h"
#include "setting_options.h"
#include "spec/spec.h"

namespace saccade::cli {

namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
  std::string model;
  PlanOptions plan;
  std::vector<int> threads;
  std::vector<std::string> isa;
  int warmup = 3;
  int repeats = 20;
  std::string json, config;
  bool overwrite = false;
  bool layers = true;
  bool floor = false;
};

BenchOptions bench_options(const CLI::App& command) {
  const settings::Effective said = effective_settings(command, settings::kBench);
  BenchOptions options;
  options.model = said.text("model");
  if (options.model.empty()) throw UsageError("no model is named; usage: saccade bench MODEL");
  options.plan.shapes = said.values("shape");
  options.plan.disabled_passes = said.values("disable-pass");
  options.plan.limits = said.values("limit");
  options.plan.batch = said.integer("batch", 0);
  options.plan.max_memory = said.text("max-memory");
  options.plan.precision = said.text("precision");
  options.plan.tune = said.flag("tune");
  for (const std::string& threads : said.values("threads")) options.threads.push_back(std::stoi(threads));
  // What bounds them in the environment is no choice.
  if (said.source("isa") != settings::Source::environment) options.isa = said.values("isa");
  options.warmup = said.integer("warmup", 0);
  options.repeats = said.integer("repeats", 1);
  options.json = said.text("json");
  options.config = said.text("config");
  options.overwrite = said.flag("overwrite");
  options.layers = said.flag("layers");
  options.floor = said.flag("floor");
  return options;
}

// Median and quartiles, in nanoseconds.
struct Spread {
  double low = 0, median = 0, high = 0, least = 0;
};

Spread spread_of(std::vector<std::int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double q) {
    const double position = q * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    const double part = position - static_cast<double>(below);
    return static_cast<double>(samples[below]) * (1 - part) + static_cast<double>(samples[above]) * part;
  };
  return {at(0.25), at(0.5), at(0.75), static_cast<double>(samples.front())};
}

// One way to run the model: an instruction set and a number of threads.
struct Configuration {
  Isa isa;
  int threads;
  Plan plan;
  Context context;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::int64_t> runs;                    // wall time of each
  std::vector<std::vector<std::int64_t>> step_runs;  // per step
  cpu::Ceilings ceilings;                            // with --floor
  StepFloors floors;                                 // with --floor
  PrecisionReport precision;                         // with --precision auto

  const std::vector<compiler::Step>& steps() const { return plan.impl().compiled.steps; }
};

void fill(Tensor& tensor) {
  std::mt19937 random(7);
  if (tensor.dtype() == DType::f32) {
    std::uniform_real_distribution<float> uniform(0, 1);
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = uniform(random);
  } else if (tensor.dtype() == DType::u8) {
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      tensor.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random() & 255u);
  } else if (tensor.bytes() > 0) {
    std::memset(tensor.raw(), 0, tensor.bytes());
  }
}

/// Only for int8, whose time does not depend on what it is calibrated on, and auto, which is decided on them.
std::vector<Tensor> random_inputs(const Model& model, const CompileOptions& wanted) {
  std::vector<Tensor> inputs;
  if (wanted.precision != Precision::int8 && wanted.precision != Precision::automatic) return inputs;
  const std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), wanted);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.emplace_back(model.inputs()[i].dtype, shapes[i]);
    fill(inputs.back());
  }
  return inputs;
}

Configuration configure(const Model& model, const BenchOptions& options, Isa isa, int threads) {
  CompileOptions wanted = compile_options(model, options.plan);
  wanted.max_isa = isa;
  PrecisionReport precision;
  const Model chosen = in_precision(model, random_inputs(model, wanted), wanted, threads, &precision);
  Plan plan = chosen.compile(wanted);
  Context context = plan.make_context({threads});
  Configuration result{isa, threads, plan, std::move(context), {}, {}, {}, {}, {}, {}, std::move(precision)};
  for (const TensorInfo& info : plan.inputs()) {
    result.inputs.emplace_back(info.dtype, info.shape);
    fill(result.inputs.back());
  }
  // Where shapes depend on data, each run brings its own outputs.
  if (plan.impl().dynamic == nullptr)
    for (const TensorInfo& info : plan.outputs()) result.outputs.emplace_back(info.dtype, info.shape);
  result.step_runs.resize(result.steps().size());
  return result;
}

void run_once(Configuration& c) {
  if (c.plan.impl().dynamic != nullptr)
    c.context.run(c.inputs);
  else
    c.context.run(c.inputs, c.outputs);
}

// Each configuration once, again and again: what disturbs the machine meanwhile disturbs all alike.
void measure(std::vector<Configuration>& configurations, const BenchOptions& options) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < options.warmup; ++i)
    for (Configuration& c : configurations) run_once(c);
  for (int i = 0; i < options.repeats; ++i) {
    for (Configuration& c : configurations) {
      const Clock::time_point start = Clock::now();
      run_once(c);
      c.runs.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    }
  }
  if (!options.layers) return;
  for (int i = 0; i < options.repeats; ++i) {
    for (Configuration& c : configurations) {
      if (c.plan.impl().dynamic != nullptr) continue;
      std::vector<std::int64_t> times(c.steps().size(), 0);
      c.context.impl().run_timed(c.inputs, c.outputs, times);
      for (std::size_t s = 0; s < times.size(); ++s) c.step_runs[s].push_back(times[s]);
    }
  }
}

// After the runs, which should find the machine as it is without it.
void find_floors(std::vector<Configuration>& configurations) {
  for (Configuration& c : configurations) {
    const auto same =
        std::find_if(configurations.begin(), configurations.end(), [&](const Configuration& other) {
          return !other.ceilings.levels.empty() && other.isa == c.isa && other.threads == c.threads;
        });
    c.ceilings = same != configurations.end() ? same->ceilings : cpu::measure_ceilings(c.isa, c.threads);
    c.floors = step_floors(c.steps(), c.ceilings);
  }
}

bool on_isa_kernel(const compiler::Step& step) {
  return !step.kernel->reference && step.kernel->isa != Isa::portable;
}

struct Shares {
  std::int64_t all = 0, isa = 0, reference = 0;
};

Shares shares_of(const Configuration& c) {
  Shares shares;
  for (const compiler::Step& step : c.steps()) {
    shares.all += step.multiply_adds;
    if (on_isa_kernel(step)) shares.isa += step.multiply_adds;
    if (step.kernel->reference) shares.reference += step.multiply_adds;
  }
  return shares;
}

double part(std::int64_t some, std::int64_t all) {
  return all == 0 ? 1.0 : static_cast<double>(some) / static_cast<double>(all);
}

std::string output_shape(const compiler::Step& step) {
  return step.dst.empty() ? "" : shape_string(step.dst[0].desc.dims);
}

Json json_of(const Configuration& c) {
  const Spread wall = spread_of(c.runs);
  const Shares shares = shares_of(c);
  Json result = {{"isa", isa_name(c.isa)},
                 {"threads", c.threads},
                 {"runs", c.runs.size()},
                 {"median_ms", wall.median / 1e6},
                 {"quartiles_ms", {wall.low / 1e6, wall.high / 1e6}},
                 {"least_ms", wall.least / 1e6},
                 {"multiply_adds", shares.all},
                 {"multiply_adds_on_isa_kernels", shares.isa},
                 {"isa_kernel_share", part(shares.isa, shares.all)},
                 {"reference_share", shares.all == 0 ? 0.0 : part(shares.reference, shares.all)},
                 {"gflops", 2 * static_cast<double>(shares.all) / wall.median},
                 {"arena_bytes", c.plan.arena_bytes()},
                 {"live_activation_bytes", c.plan.live_activation_bytes()},
                 {"thread_scratch_bytes", c.plan.thread_scratch_bytes()},
                 {"weight_bytes", c.plan.weight_bytes()}};
  if (c.precision.measured_pictures > 0) result["precision"] = precision_json(c.precision);
  if (!c.floors.kernel.empty()) {
    const double floor = total_ns(c.floors.kernel);
    result["ceilings"] = ceilings_json(c.ceilings);
    result["floor_ms"] = floor / 1e6;
    result["direct_floor_ms"] = total_ns(c.floors.direct) / 1e6;
    result["gap"] = wall.median / floor;
  }
  Json layers = Json::array();
  for (std::size_t s = 0; s < c.steps().size(); ++s) {
    const compiler::Step& step = c.steps()[s];
    Json layer = {{"name", step.name},
                  {"operator", step.op},
                  {"kernel", step.kernel->name},
                  {"isa", isa_name(step.kernel->isa)},
                  {"reference", step.kernel->reference},
                  {"isa_kernel", on_isa_kernel(step)},
                  {"output", output_shape(step)},
                  {"multiply_adds", step.multiply_adds},
                  {"bytes", step.bytes}};
    if (!c.step_runs[s].empty()) {
      const Spread time = spread_of(c.step_runs[s]);
      const double ns = std::max(time.median, 1.0);
      layer["median_us"] = time.median / 1e3;
      layer["quartiles_us"] = {time.low / 1e3, time.high / 1e3};
      layer["gflops"] = 2 * static_cast<double>(step.multiply_adds) / ns;
      layer["gbytes_per_s"] = static_cast<double>(step.bytes) / ns;
      if (!c.floors.kernel.empty() && c.floors.kernel[s].ns() > 0)
        layer["gap"] = ns / c.floors.kernel[s].ns();
    }
    if (!c.floors.kernel.empty()) {
      layer["needed_multiply_adds"] = step.needed_multiply_adds;
      layer["kernel_multiply_adds"] = step.kernel_multiply_adds();
      layer["floor_us"] = c.floors.kernel[s].ns() / 1e3;
      layer["floor_bound"] = c.floors.kernel[s].bound();
      layer["direct_floor_us"] = c.floors.direct[s].ns() / 1e3;
    }
    layers.push_back(std::move(layer));
  }
  result["layers"] = std::move(layers);
  return result;
}

void print_layers(const Configuration& c) {
  double total = 0;
  for (const auto& runs : c.step_runs) total += spread_of(runs).median;
  fmt::print("\nlayers, {} on {}\n", isa_name(c.isa), counted(c.threads, "thread"));
  fmt::print("{:>4} {:<16} {:<32} {:<18} {:>9} {:>6} {:>8} {:>7}", "#", "operator", "kernel", "output", "µs",
             "%", "GF/s", "GB/s");
  fmt::print("{}\n", c.floors.kernel.empty()
                         ? ""
                         : fmt::format(" {:>9} {:>6} {:>9} {}", "floor µs", "gap", "direct µs", "bound by"));
  for (std::size_t s = 0; s < c.steps().size(); ++s) {
    const compiler::Step& step = c.steps()[s];
    const double ns = std::max(spread_of(c.step_runs[s]).median, 1.0);
    fmt::print("{:>4} {:<16.16} {:<32.32} {:<18.18} {:>9.1f} {:>6.1f} {:>8.1f} {:>7.1f}", s, step.op,
               step.kernel->name, output_shape(step), ns / 1e3, total > 0 ? 100 * ns / total : 0,
               2 * static_cast<double>(step.multiply_adds) / ns, static_cast<double>(step.bytes) / ns);
    if (!c.floors.kernel.empty()) {
      const cpu::Floor& floor = c.floors.kernel[s];
      fmt::print(" {:>9.1f} {:>6.2f} {:>9.1f} {}", floor.ns() / 1e3, floor.ns() > 0 ? ns / floor.ns() : 0,
                 c.floors.direct[s].ns() / 1e3, floor.bound());
    }
    fmt::print("\n");
  }
  if (c.floors.kernel.empty()) return;
  const double floor = total_ns(c.floors.kernel);
  fmt::print(
      "floor: {:.3f} ms as the kernels compute, {:.3f} ms by direct convolution; the layers take {:.3f} ms "
      "({:.2f} times the first), a run {:.3f} ms ({:.2f} times)\n",
      floor / 1e6, total_ns(c.floors.direct) / 1e6, total / 1e6, total / floor,
      spread_of(c.runs).median / 1e6, spread_of(c.runs).median / floor);
  fmt::print("ceilings: {}\n", describe(c.ceilings));
}

void print_summary(const std::vector<Configuration>& configurations) {
  fmt::print("{:<10} {:>7} {:>10} {:>21} {:>8} {:>12} {:>10}\n", "isa", "threads", "median ms",
             "quartiles ms", "GF/s", "ISA kernels", "arena MB");
  for (const Configuration& c : configurations) {
    const Spread wall = spread_of(c.runs);
    const Shares shares = shares_of(c);
    fmt::print("{:<10} {:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>8.1f} {:>11.1f}% {:>10.2f}\n", isa_name(c.isa),
               c.threads, wall.median / 1e6, wall.low / 1e6, wall.high / 1e6,
               2 * static_cast<double>(shares.all) / wall.median, 100 * part(shares.isa, shares.all),
               static_cast<double>(c.plan.arena_bytes()) / 1e6);
  }
}

void run(const BenchOptions& options) {
  std::vector<Isa> isas;
  for (const std::string& name : options.isa) isas.push_back(usable_isa(name));
  if (isas.empty()) isas.push_back(active_isa());
  const std::filesystem::path path = find_model(options.model);
  require_free({{options.json, "report"}}, options.overwrite,
               {path, spec::yaml_beside(path), options.config});
  const Model model = Model::load(path, load_limits(options.plan.limits));
  std::vector<Configuration> configurations;
  for (const Isa isa : isas)
    for (const int threads : options.threads)
      configurations.push_back(configure(model, options, isa, threads));
  measure(configurations, options);
  if (options.floor) find_floors(configurations);
  if (!options.json.empty()) {
    Json result = {{"model", path.string()},
                   {"sha256", model.impl().sha256},
                   {"version", SACCADE_VERSION},
                   {"cpu", platform::cpu_name()},
                   {"cpus", platform::available_cpus()},
                   {"isa_detected", isa_name(detected_isa())},
                   {"precision", options.plan.precision},
                   {"tuned", options.plan.tune},
                   {"warmup", options.warmup},
                   {"repeats", options.repeats}};
    Json shapes = Json::object();
    for (const TensorInfo& info : configurations.front().plan.inputs()) shapes[info.name] = info.shape;
    result["inputs"] = std::move(shapes);
    Json list = Json::array();
    for (const Configuration& c : configurations) list.push_back(json_of(c));
    result["configurations"] = std::move(list);
    const std::string text = json_text(result, 2) + "\n";
    write_text(options.json, text);
    if (is_standard_output(options.json)) return;
  }
  fmt::print("{}: {} ({} CPUs), {} warm-up and {} interleaved runs each\n", path.string(),
             platform::cpu_name(), platform::available_cpus(), options.warmup, options.repeats);
  print_summary(configurations);
  for (const Configuration& c : configurations)
    if (c.precision.measured_pictures > 0)
      fmt::print("{} on {}: {}\n", isa_name(c.isa), c.threads, precision_text(c.precision));
  if (options.layers) print_layers(configurations.front());
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Time a model, and each of its layers.");
  add_settings(*command, settings::kBench);
  command->callback([command] { run(bench_options(*command)); });
}

}  // namespace saccade::cli
