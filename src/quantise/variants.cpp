#include "quantise/variants.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>

#include "compiler/measure.h"
#include "quantise/calibrate.h"
#include "quantise/selection.h"
#include "runtime/context.h"
#include "saccade/error.h"

namespace saccade::quantise {

namespace {

// Parts of a network in bytes may need ranges that the whole did not. A calibration of large networks takes
// as long as a hundred runs.
constexpr double kCalibrationWork = 1e12;
constexpr double kRunsOfCalibration = 100;
constexpr int kFewestCalibrations = 1, kMostCalibrations = 50;

std::uint8_t bit(Level level) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(level)); }

bool is_convolution(const ir::Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }

using Kernels = std::map<std::string, std::vector<std::string_view>>;

/// By name: a layer may be several steps.
Kernels kernels_of(const runtime::PlanImpl& plan) {
  Kernels kernels;
  for (const compiler::Step& step : plan.compiled.steps)
    if (step.kernel != nullptr) kernels[step.name].push_back(step.kernel->name);
  return kernels;
}

/// Layers whose kernels are others.
std::set<std::string> changed_kernels(const runtime::PlanImpl& a, const runtime::PlanImpl& b) {
  const Kernels before = kernels_of(a);
  std::set<std::string> names;
  for (const auto& [name, kernels] : kernels_of(b)) {
    const auto found = before.find(name);
    if (found != before.end() && found->second != kernels) names.insert(name);
  }
  return names;
}

}  // namespace

int Variant::count(Level level) const {
  return static_cast<int>(std::count(levels.begin(), levels.end(), level));
}

Variants::Variants(const ir::Graph& graph, const std::vector<Shape>& shapes, const Question& question)
    : graph_(graph), shapes_(shapes), question_(question) {}

const ir::Graph& Variants::prepared() {
  if (prepared_) return *prepared_;
  prepared_ = prepare(graph_, shapes_, question_.disabled_passes);
  for (const ir::Node& node : prepared_->nodes) {
    work_ += static_cast<double>(compiler::multiply_adds(*prepared_, node));
    if (is_convolution(node)) add_name(layer_name(*prepared_, node));
  }
  const double affordable = kCalibrationWork / (kRunsOfCalibration * std::max(1.0, work_));
  calibrations_left_ =
      static_cast<int>(std::clamp(affordable, double{kFewestCalibrations}, double{kMostCalibrations}));
  return *prepared_;
}

std::size_t Variants::add_name(const std::string& name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    names_.push_back(name);
    allowed_.push_back(bit(Level::fp32));
    return names_.size() - 1;
  }
  return static_cast<std::size_t>(found - names_.begin());
}

void Variants::allow_bytes() {
  draft_ = draft(prepared(), question_.calibration.front(), question_.machine, {});
  for (const std::string& name : layers(prepared())) {
    std::uint8_t& levels = allowed_[add_name(name)];
    levels = static_cast<std::uint8_t>(levels | bit(Level::int8));
  }
}

void Variants::calibrate() {
  if (whole_) return;
  CalibrationOptions options;
  options.progress = question_.progress;
  whole_ = quantise::calibrate(prepared(), question_.calibration, question_.machine, options).recipe;
}

void Variants::allow_halves() {
  runtime::check_precision(Precision::bf16, question_.machine.isa);
  (void)prepared();  // refuses networks whose shapes depend on data
  if (names_.empty()) throw Error(ErrorCode::unsupported, "the network has no convolutions");
  for (std::uint8_t& levels : allowed_)
    levels = static_cast<std::uint8_t>(levels | bit(Level::bf16) | bit(Level::coarse));
  const std::set<std::string> changed =
      changed_kernels(*make(all(Level::bf16))->plan, *make(all(Level::coarse))->plan);
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!changed.contains(names_[i]))
      allowed_[i] = static_cast<std::uint8_t>(allowed_[i] & ~bit(Level::coarse));
}

bool Variants::allows(std::size_t layer, Level level) const { return (allowed_[layer] & bit(level)) != 0; }

bool Variants::allows(Level level) const { return count(level) > 0; }

int Variants::count(Level level) const {
  return static_cast<int>(std::count_if(allowed_.begin(), allowed_.end(),
                                        [&](auto levels) { return (levels & bit(level)) != 0; }));
}

Levels Variants::all(Level level) const {
  Levels levels(names_.size(), Level::fp32);
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (allows(i, level))
      levels[i] = level;
    else if (level == Level::coarse && allows(i, Level::bf16))
      levels[i] = Level::bf16;
  return levels;
}

compiler::Options Variants::options() const {
  compiler::Options options;
  options.isa = question_.machine.isa;
  options.input_shapes = shapes_;
  options.disabled_passes = question_.disabled_passes;
  return options;
}

std::optional<Recipe> Variants::recipe_of(const std::vector<std::string>& single) {
  std::optional<Recipe> recipe = part_of(prepared(), whole_ ? *whole_ : *draft_, single);
  if (recipe) return recipe;
  if (!whole_) return draft(prepared(), question_.calibration.front(), question_.machine, single);
  const auto known = calibrated_.find(single);
  if (known != calibrated_.end()) return known->second;
  if (calibrations_left_ == 0) return std::nullopt;
  --calibrations_left_;
  CalibrationOptions options;
  options.fp32_layers = single;
  return calibrated_[single] =
             quantise::calibrate(prepared(), question_.calibration, question_.machine, options).recipe;
}

std::optional<Variant> Variants::make(const Levels& levels) {
  Variant variant;
  variant.levels = levels;
  std::vector<std::string> no_bytes;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == Level::fp32 && allowed_[i] != bit(Level::fp32)) variant.fp32_layers.push_back(names_[i]);
    if (levels[i] != Level::int8 && allows(i, Level::int8)) no_bytes.push_back(names_[i]);
    if (levels[i] == Level::bf16 && allows(i, Level::coarse)) variant.exact_layers.push_back(names_[i]);
  }
  const bool bytes = variant.count(Level::int8) > 0;
  variant.coarse = variant.count(Level::coarse) > 0;
  if (!variant.coarse) variant.exact_layers.clear();
  variant.rest = variant.coarse || variant.count(Level::bf16) > 0 ? Precision::bf16 : Precision::fp32;
  variant.precision = bytes ? Precision::int8 : variant.rest;
  compiler::Options wanted = options();
  wanted.precision = variant.rest;
  if (variant.rest == Precision::bf16) {
    wanted.fp32_layers = variant.fp32_layers;
    wanted.coarse = variant.coarse;
    wanted.exact_layers = variant.exact_layers;
  }
  if (!bytes) {
    variant.plan = runtime::plan_graph(graph_, *question_.machine.target, wanted);
    return variant;
  }
  variant.recipe = recipe_of(no_bytes);
  if (!variant.recipe) return std::nullopt;
  variant.plan = runtime::plan_graph(apply(prepared(), *variant.recipe), *question_.machine.target, wanted);
  return variant;
}

std::optional<Recipe> part_of(const ir::Graph& prepared, const Recipe& whole,
                              const std::vector<std::string>& fp32_layers) {
  const Selection before = select(prepared, whole.fp32_layers), after = select(prepared, fp32_layers);
  std::map<ir::ValueId, Grid> grids;
  for (std::size_t i = 0; i < before.values.size(); ++i) grids[before.values[i]] = whole.grids[i];
  Recipe part;
  part.fp32_layers = fp32_layers;
  part.equalisations = whole.equalisations;
  const ir::Uses uses(prepared);
  for (const ir::ValueId id : after.values) {
    auto found = grids.find(id);
    // Elements that are moved before they are rounded: the whole rounds them before they are moved.
    if (found == grids.end()) found = grids.find(moved_from(prepared, uses, id));
    if (found == grids.end()) return std::nullopt;
    part.grids.push_back(found->second);
  }
  for (const Recipe::Correction& correction : whole.corrections)
    if (after.convolves[correction.node]) part.corrections.push_back(correction);
  return part;
}

std::map<std::string, double> step_times(const Variant& variant, const Sample& sample, int threads) {
  constexpr std::size_t kRuns = 5;
  runtime::ContextImpl context(variant.plan, threads);
  Sample results = context.run(sample);
  const auto& steps = variant.plan->compiled.steps;
  std::vector<std::vector<std::int64_t>> runs(kRuns, std::vector<std::int64_t>(steps.size()));
  std::vector<std::int64_t> totals;
  for (std::vector<std::int64_t>& times : runs) {
    context.run_timed(sample, results, times);
    totals.push_back(std::accumulate(times.begin(), times.end(), std::int64_t{0}));
  }
  // Single steps of several threads by the median: where threads wait for a processor, a step's time may be
  // counted in another's.
  const std::size_t rank = threads == 1 ? 0 : kRuns / 2;
  double sum = 0;
  std::map<std::string, double> result;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::array<std::int64_t, kRuns> times{};
    for (std::size_t run = 0; run < kRuns; ++run) times[run] = runs[run][s];
    std::sort(times.begin(), times.end());
    result[steps[s].name] += static_cast<double>(times[rank]);
    sum += static_cast<double>(times[rank]);
  }
  result[""] = threads == 1 ? sum : static_cast<double>(*std::min_element(totals.begin(), totals.end()));
  return result;
}

}  // namespace saccade::quantise
