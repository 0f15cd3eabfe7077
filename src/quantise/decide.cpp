#include "quantise/decide.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "compiler/compile.h"
#include "quantise/calibrate.h"
#include "quantise/search.h"
#include "quantise/selection.h"
#include "runtime/context.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade::quantise {

namespace {

using Clock = std::chrono::steady_clock;
using PlanPointer = std::shared_ptr<const runtime::PlanImpl>;

/// For looking at each layer on its own; beyond that neighbours are looked at together.
constexpr std::chrono::seconds kSensitivityTime{20};
constexpr std::chrono::milliseconds kRaceTime{1500};

/// A network as it could be run.
struct Variant {
  Precision precision = Precision::fp32;
  std::vector<std::string> fp32_layers;
  bool coarse = false;
  std::vector<std::string> exact_layers;  // of those that could be coarse
  std::optional<Recipe> recipe;           // of int8
  PlanPointer plan;
  int lowered = 0, coarse_layers = 0;
  std::string_view name;  // of those that others are compared with
};

struct Agreement {
  double mask_change = 0, miou = 0;
};

class Decider {
 public:
  Decider(const ir::Graph& graph, const std::vector<Shape>& shapes, const Question& question)
      : graph_(graph),
        shapes_(shapes),
        question_(question),
        measured_(question.measured.empty() ? question.calibration : question.measured) {
    if (question.calibration.empty())
      throw Error(ErrorCode::invalid_argument, "calibration needs at least one picture");
  }

  Decision run() {
    report_.asked = question_.asked;
    report_.calibration_pictures = static_cast<int>(question_.calibration.size());
    report_.measured_pictures = static_cast<int>(measured_.size());
    report_.labelled = !question_.truth.empty();
    fp32_.plan = compile(graph_, {});
    fp32_.name = "fp32";
    say("running in fp32");
    expected_ = run_measured(*fp32_.plan, measured_);
    for (const Sample& results : expected_)
      labels_.push_back(labels_of(results.at(question_.rule.output), question_.rule));
    report_.fp32_miou = miou_of(labels_);
    return question_.asked == Precision::int8 ? decide_bytes() : decide_fastest();
  }

 private:
  void say(std::string_view what) const {
    if (question_.progress) question_.progress(what);
  }

  compiler::Options options_of(Precision precision, const std::vector<std::string>& fp32_layers,
                               bool coarse = false, const std::vector<std::string>& exact_layers = {}) const {
    compiler::Options options;
    options.isa = question_.machine.isa;
    options.input_shapes = shapes_;
    options.disabled_passes = question_.disabled_passes;
    options.precision = precision;
    options.fp32_layers = fp32_layers;
    options.coarse = coarse;
    options.exact_layers = exact_layers;
    return options;
  }

  PlanPointer compile(const ir::Graph& graph, const compiler::Options& given) const {
    return runtime::plan_graph(graph, *question_.machine.target,
                               given.input_shapes.empty() ? options_of(Precision::fp32, {}) : given);
  }

  std::vector<Sample> run_measured(const runtime::PlanImpl& plan, std::span<const Sample> samples) const {
    // Not the owner: the plan outlives the context.
    runtime::ContextImpl context({PlanPointer{}, &plan}, question_.machine.threads);
    std::vector<Sample> results;
    for (const Sample& sample : samples) results.push_back(context.run(sample));
    return results;
  }

  double miou_of(const std::vector<std::vector<std::int32_t>>& labels) const {
    if (question_.truth.empty()) return 0;
    Overlap overlap;
    for (std::size_t i = 0; i < labels.size(); ++i) overlap.add(labels[i], question_.truth[i]);
    return overlap.mean_iou();
  }

  Agreement agreement_of(const runtime::PlanImpl& plan) const {
    std::vector<std::vector<std::int32_t>> labels;
    double changed = 0;
    runtime::ContextImpl context({PlanPointer{}, &plan}, question_.machine.threads);
    for (std::size_t s = 0; s < measured_.size(); ++s) {
      const Sample results = context.run(measured_[s]);
      labels.push_back(labels_of(results.at(question_.rule.output), question_.rule));
      changed += changed_share(labels_[s], labels.back());
    }
    return {changed / static_cast<double>(measured_.size()), miou_of(labels)};
  }

  bool within_budget(const Agreement& agreement) const {
    if (agreement.mask_change > question_.budget.mask_change) return false;
    return question_.truth.empty() || !question_.budget.miou_drop ||
           report_.fp32_miou - agreement.miou <= *question_.budget.miou_drop;
  }

  // ---- bytes

  const ir::Graph& prepared() {
    if (!prepared_) prepared_ = prepare(graph_, shapes_, question_.disabled_passes);
    return *prepared_;
  }

  void calibrate_whole() {
    CalibrationOptions options;
    options.progress = question_.progress;
    whole_ = calibrate(prepared(), question_.calibration, question_.machine, options).recipe;
    all_layers_ = layers(prepared());
    report_.layers = static_cast<int>(all_layers_.size());
  }

  Variant in_bytes(const std::vector<std::string>& fp32_layers) {
    std::optional<Recipe> recipe = part_of(prepared(), *whole_, fp32_layers);
    if (!recipe) {
      CalibrationOptions options;
      options.fp32_layers = fp32_layers;
      recipe = calibrate(prepared(), question_.calibration, question_.machine, options).recipe;
    }
    Variant variant;
    variant.precision = Precision::int8;
    variant.fp32_layers = fp32_layers;
    variant.recipe = std::move(recipe);
    variant.lowered = static_cast<int>(all_layers_.size() - fp32_layers.size());
    variant.plan = compile(apply(prepared(), *variant.recipe), {});
    return variant;
  }

  Decision decide_bytes() {
    if (is_quantised(graph_)) return as_it_is("quantised already");
    calibrate_whole();
    const Variant variant = in_bytes({});
    const Agreement agreement = agreement_of(*variant.plan);
    return made(variant, agreement, "as asked");
  }

  // ---- the fastest

  Decision decide_fastest() {
    if (is_quantised(graph_)) return as_it_is("quantised already");
    std::vector<std::pair<Variant, Agreement>> good;
    try_bytes(good);
    try_halves(good);
    try_coarse(good);
    if (good.empty()) return as_it_is("fastest within the budget");
    // What is fastest, against fp32, all in one race.
    say("comparing times");
    std::vector<const Variant*> variants{&fp32_};
    for (const auto& [variant, agreement] : good) variants.push_back(&variant);
    const Race race = race_of(variants);
    report_.fp32_run_ms = race.median_ns(0) / 1e6;
    std::size_t best = 0;
    for (std::size_t i = 1; i < variants.size(); ++i)
      if (race.faster(i, 0) && (best == 0 || race.median_ns(i) < race.median_ns(best))) best = i;
    for (std::size_t i = 1; i < variants.size(); ++i)
      if (i != best)
        note(good[i - 1].first, good[i - 1].second, race.median_ns(i) / 1e6,
             race.faster(i, 0) ? "slower than what is used" : "not faster than fp32");
    if (best == 0) return as_it_is("fastest within the budget");
    Decision decision = made(good[best - 1].first, good[best - 1].second, "used");
    decision.report.run_ms = decision.report.candidates.back().run_ms = race.median_ns(best) / 1e6;
    return decision;
  }

  Race race_of(const std::vector<const Variant*>& variants) const {
    std::vector<std::unique_ptr<runtime::ContextImpl>> contexts;
    std::vector<Sample> results;
    for (const Variant* variant : variants) {
      contexts.push_back(std::make_unique<runtime::ContextImpl>(variant->plan, question_.timing_threads));
      results.push_back(contexts.back()->run(measured_[0]));
    }
    std::vector<std::function<void()>> runners;
    for (std::size_t i = 0; i < variants.size(); ++i)
      runners.emplace_back([&, i] { contexts[i]->run(measured_[0], results[i]); });
    Race race(question_.clock);
    race.run(runners, kRaceTime);
    return race;
  }

  /// Time of each step by its name, the least of some runs.
  std::map<std::string, double> step_times(const Variant& variant) const {
    constexpr int kRuns = 3;
    runtime::ContextImpl context(variant.plan, question_.timing_threads);
    Sample results = context.run(measured_[0]);
    const auto& steps = variant.plan->compiled.steps;
    std::vector<std::int64_t> least(steps.size());
    for (int run = 0; run < kRuns; ++run) {
      std::vector<std::int64_t> times(steps.size());
      context.run_timed(measured_[0], results, times);
      for (std::size_t s = 0; s < steps.size(); ++s)
        least[s] = run == 0 ? times[s] : std::min(least[s], times[s]);
    }
    std::map<std::string, double> result;
    for (std::size_t s = 0; s < steps.size(); ++s) result[steps[s].name] += static_cast<double>(least[s]);
    return result;
  }

  void try_bytes(std::vector<std::pair<Variant, Agreement>>& good) {
    try {
      calibrate_whole();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      report_.candidates.push_back({Precision::int8, 0, 0, 0, 0, 0, error.what()});
      return;
    }
    search(
        fp32_, all_layers_, [&](const std::vector<std::string>& single) { return in_bytes(single); }, good);
  }

  void try_halves(std::vector<std::pair<Variant, Agreement>>& good) {
    try {
      runtime::check_precision(Precision::bf16, question_.machine.isa);
      (void)prepared();  // refuses networks whose shapes depend on data
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      report_.candidates.push_back({Precision::bf16, 0, 0, 0, 0, 0, error.what()});
      return;
    }
    for (const ir::Node& node : prepared().nodes)
      if (node.op == "Conv" || node.op == "ConvTranspose")
        convolutions_.push_back(layer_name(prepared(), node));
    report_.layers = std::max(report_.layers, static_cast<int>(convolutions_.size()));
    halves_ = search(
        fp32_, convolutions_, [&](const std::vector<std::string>& single) { return in_halves(single); },
        good);
  }

  Variant in_halves(const std::vector<std::string>& fp32_layers) const {
    Variant variant;
    variant.precision = Precision::bf16;
    variant.fp32_layers = fp32_layers;
    variant.lowered = static_cast<int>(convolutions_.size() - fp32_layers.size());
    variant.plan = compile(graph_, options_of(Precision::bf16, fp32_layers));
    return variant;
  }

  // ---- bf16 with kernels that err more

  /// Layers for which `coarse` has another kernel.
  static std::vector<std::string> coarse_layers(const Variant& exact, const Variant& coarse) {
    std::map<std::string, std::string_view> kernels;
    const auto steps_of = [](const Variant& variant) -> const auto& { return variant.plan->compiled.steps; };
    for (const compiler::Step& step : steps_of(exact))
      if (step.kernel != nullptr) kernels[step.name] = step.kernel->name;
    std::vector<std::string> names;
    for (const compiler::Step& step : steps_of(coarse)) {
      const auto found = kernels.find(step.name);
      if (step.kernel != nullptr && found != kernels.end() && found->second != step.kernel->name)
        names.push_back(step.name);
    }
    return names;
  }

  /// Beside what try_halves left in bf16, if that was within the budget.
  void try_coarse(std::vector<std::pair<Variant, Agreement>>& good) {
    if (!halves_) return;
    Variant exact = in_halves(*halves_);
    exact.name = "bf16";
    const auto make_of = [&](const std::vector<std::string>& exact_layers) {
      Variant variant = exact;
      variant.coarse = true;
      variant.exact_layers = exact_layers;
      variant.plan = compile(graph_, options_of(Precision::bf16, exact.fp32_layers, true, exact_layers));
      return variant;
    };
    const std::vector<std::string> names = coarse_layers(exact, make_of({}));
    search(
        exact, names,
        [&](const std::vector<std::string>& exact_layers) {
          Variant variant = make_of(exact_layers);
          variant.coarse_layers = static_cast<int>(names.size() - exact_layers.size());
          return variant;
        },
        good);
  }

  using Make = std::function<Variant(const std::vector<std::string>&)>;

  /// Lowers all layers of `base`, then takes back those that cost most for what they save, until the budget
  /// holds. Returns the layers that the budget had taken back; nothing where no part of it is within it.
  std::optional<std::vector<std::string>> search(const Variant& base, const std::vector<std::string>& names,
                                                 const Make& make,
                                                 std::vector<std::pair<Variant, Agreement>>& good) {
    if (names.empty()) return std::nullopt;
    const std::string not_faster = "not faster than " + std::string(base.name);
    Variant all = make({});
    const Precision precision = all.precision;
    const Agreement agreement = agreement_of(*all.plan);
    const bool holds_whole = within_budget(agreement);
    // What is not faster even without a budget need not be looked at layer by layer, unless some layers are.
    const std::map<std::string, double> lowered = step_times(all), single = step_times(base);
    std::vector<std::string> losers;
    double won = 0;
    for (const std::string& name : names) {
      const auto a = single.find(name), b = lowered.find(name);
      if (a == single.end() || b == lowered.end()) continue;
      if (a->second < b->second)
        losers.push_back(name);
      else
        won += a->second - b->second;
    }
    const Race race = race_of({&base, &all});
    const bool faster = race.faster(1, 0);
    const bool could_be = won > 0.05 * race.median_ns(0) && !losers.empty() && losers.size() < names.size();
    if (within_budget(agreement) && faster) {
      good.emplace_back(std::move(all), agreement);
      if (!could_be) return std::vector<std::string>{};
    } else if (!faster && !could_be) {
      note(all, agreement, race.median_ns(1) / 1e6, not_faster);
      return holds_whole ? std::optional(std::vector<std::string>{}) : std::nullopt;
    } else if (!within_budget(agreement)) {
      note(all, agreement, race.median_ns(1) / 1e6, "changes too much");
    } else {
      note(all, agreement, race.median_ns(1) / 1e6, not_faster);
    }
    // Layers that save nothing go back at once, unless the budget alone is the trouble: then error counts
    // too.
    std::vector<std::string> order = reverting_order(gains(base, names, make, single, lowered));
    std::vector<std::string> first;
    if (within_budget(agreement) || !faster) {
      const auto loses = [&](const std::string& name) {
        return std::find(losers.begin(), losers.end(), name) != losers.end();
      };
      first = losers;
      std::erase_if(order, loses);
    }
    std::map<std::size_t, std::pair<Variant, Agreement>> tried;
    say("looking for layers to leave in " + std::string(base.name));
    const auto with = [&](const std::vector<std::string>& more) {
      std::vector<std::string> fp32_layers = first;
      fp32_layers.insert(fp32_layers.end(), more.begin(), more.end());
      return fp32_layers;
    };
    const auto fits = [&](const std::vector<std::string>& more) {
      Variant variant = make(with(more));
      const Agreement found = agreement_of(*variant.plan);
      const bool holds = within_budget(found);
      if (holds) tried.insert_or_assign(more.size(), std::pair(std::move(variant), found));
      return holds;
    };
    const std::optional<std::vector<std::string>> reverted = revert_until(order, fits);
    if (reverted)
      good.push_back(std::move(tried.at(reverted->size())));
    else if (!holds_whole)
      report_.candidates.push_back({precision, 0, 0, 0, 0, 0, "no part of it is within the budget"});
    if (holds_whole) return std::vector<std::string>{};
    return reverted ? std::optional(with(*reverted)) : std::nullopt;
  }

  /// The error that each layer brings when it alone is lowered, and the time that it saves.
  std::vector<LayerGain> gains(const Variant& base, const std::vector<std::string>& names, const Make& make,
                               const std::map<std::string, double>& single,
                               const std::map<std::string, double>& lowered) {
    const std::span<const Sample> probe(measured_.data(), 1);
    const std::vector<Sample> expected = run_measured(*base.plan, probe);
    std::vector<LayerGain> result;
    const Clock::time_point start = Clock::now();
    std::size_t group = 1;
    for (std::size_t begin = 0; begin < names.size();) {
      const std::size_t end = std::min(begin + group, names.size());
      say("measuring what layers do to the result");
      std::vector<std::string> others(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(begin));
      others.insert(others.end(), names.begin() + static_cast<std::ptrdiff_t>(end), names.end());
      const Variant alone = make(others);
      const double error = relative_error(run_measured(*alone.plan, probe), expected);
      for (std::size_t i = begin; i < end; ++i) {
        const auto a = single.find(names[i]), b = lowered.find(names[i]);
        const double time = a == single.end() || b == lowered.end() ? 1.0 : a->second - b->second;
        result.push_back({names[i], error / static_cast<double>(end - begin), time});
      }
      begin = end;
      const auto each = (Clock::now() - start) / static_cast<std::int64_t>(result.size() / group + 1);
      const auto left = kSensitivityTime - (Clock::now() - start);
      const auto affordable =
          left.count() <= 0 ? std::int64_t{1}
                            : std::max<std::int64_t>(
                                  1, left / std::max<Clock::duration>(each, std::chrono::microseconds(1)));
      group = std::max<std::size_t>(1, (names.size() - begin + static_cast<std::size_t>(affordable) - 1) /
                                           static_cast<std::size_t>(affordable));
    }
    return result;
  }

  void note(const Variant& variant, const Agreement& agreement, double ms, std::string verdict) {
    report_.candidates.push_back(
        {variant.precision, variant.lowered, variant.coarse_layers, agreement.mask_change,
         report_.labelled ? report_.fp32_miou - agreement.miou : 0, ms, std::move(verdict)});
  }

  Decision made(const Variant& variant, const Agreement& agreement, std::string verdict) {
    note(variant, agreement, 0, std::move(verdict));
    Decision decision{variant.precision,
                      variant.fp32_layers,
                      variant.coarse,
                      variant.exact_layers,
                      variant.recipe.value_or(Recipe{}),
                      report_};
    decision.report.used = variant.precision;
    decision.report.lowered = variant.lowered;
    decision.report.fp32_layers = variant.fp32_layers;
    decision.report.coarse = variant.coarse_layers;
    decision.report.exact_layers = variant.exact_layers;
    decision.report.mask_change = agreement.mask_change;
    decision.report.miou = agreement.miou;
    return decision;
  }

  Decision as_it_is(std::string verdict) {
    report_.candidates.push_back({Precision::fp32, 0, 0, 0, 0, report_.fp32_run_ms, std::move(verdict)});
    Decision decision{Precision::fp32, {}, false, {}, {}, report_};
    decision.report.miou = report_.fp32_miou;
    decision.report.run_ms = report_.fp32_run_ms;
    return decision;
  }

  const ir::Graph& graph_;
  const std::vector<Shape>& shapes_;
  const Question& question_;
  const std::vector<Sample>& measured_;
  PrecisionReport report_;
  Variant fp32_;
  std::vector<Sample> expected_;
  std::vector<std::vector<std::int32_t>> labels_;
  std::optional<ir::Graph> prepared_;
  std::optional<Recipe> whole_;
  std::vector<std::string> all_layers_, convolutions_;
  std::optional<std::vector<std::string>> halves_;  // layers without which bf16 is within the budget
};

void write_names(ArchiveWriter& out, const std::vector<std::string>& names) {
  out.number(static_cast<std::uint64_t>(names.size()));
  for (const std::string& name : names) out.text(name);
}

std::vector<std::string> read_names(ArchiveReader& in) {
  std::vector<std::string> names(in.count(sizeof(std::uint64_t)));
  for (std::string& name : names) name = in.text();
  return names;
}

}  // namespace

Decision decide(const ir::Graph& graph, const std::vector<Shape>& input_shapes, const Question& question) {
  return Decider(graph, input_shapes, question).run();
}

std::optional<Recipe> part_of(const ir::Graph& prepared, const Recipe& whole,
                              const std::vector<std::string>& fp32_layers) {
  const Selection before = select(prepared, whole.fp32_layers), after = select(prepared, fp32_layers);
  std::map<ir::ValueId, Grid> grids;
  for (std::size_t i = 0; i < before.values.size(); ++i) grids[before.values[i]] = whole.grids[i];
  Recipe part;
  part.fp32_layers = fp32_layers;
  part.equalisations = whole.equalisations;
  for (const ir::ValueId id : after.values) {
    const auto found = grids.find(id);
    if (found == grids.end()) return std::nullopt;
    part.grids.push_back(found->second);
  }
  for (const Recipe::Correction& correction : whole.corrections)
    if (after.convolves[correction.node]) part.corrections.push_back(correction);
  return part;
}

void write_decision(ArchiveWriter& out, const Decision& decision) {
  const PrecisionReport& r = decision.report;
  out.number(decision.precision);
  write_names(out, decision.fp32_layers);
  out.number(static_cast<std::uint8_t>(decision.coarse));
  write_names(out, decision.exact_layers);
  write_recipe(out, decision.recipe);
  out.number(r.asked);
  out.number(r.used);
  out.number(std::int64_t{r.layers});
  out.number(std::int64_t{r.lowered});
  write_names(out, r.fp32_layers);
  out.number(std::int64_t{r.coarse});
  write_names(out, r.exact_layers);
  out.number(std::int64_t{r.calibration_pictures});
  out.number(std::int64_t{r.measured_pictures});
  for (const double x : {r.mask_change, r.miou, r.fp32_miou, r.run_ms, r.fp32_run_ms}) out.number(x);
  out.number(static_cast<std::uint8_t>(r.labelled));
  out.number(static_cast<std::uint64_t>(r.candidates.size()));
  for (const PrecisionReport::Candidate& c : r.candidates) {
    out.number(c.precision);
    out.number(std::int64_t{c.lowered});
    out.number(std::int64_t{c.coarse});
    for (const double x : {c.mask_change, c.miou_drop, c.run_ms}) out.number(x);
    out.text(c.verdict);
  }
}

Decision read_decision(ArchiveReader& in) {
  Decision decision;
  PrecisionReport& r = decision.report;
  const auto count = [&] { return static_cast<int>(in.number<std::int64_t>()); };
  decision.precision = in.choice(Precision::automatic);
  decision.fp32_layers = read_names(in);
  decision.coarse = in.flag();
  decision.exact_layers = read_names(in);
  decision.recipe = read_recipe(in);
  r.asked = in.choice(Precision::automatic);
  r.used = in.choice(Precision::automatic);
  r.layers = count(), r.lowered = count();
  r.fp32_layers = read_names(in);
  r.coarse = count();
  r.exact_layers = read_names(in);
  r.calibration_pictures = count(), r.measured_pictures = count();
  for (double* x : {&r.mask_change, &r.miou, &r.fp32_miou, &r.run_ms, &r.fp32_run_ms})
    *x = in.number<double>();
  r.labelled = in.flag();
  r.candidates.resize(in.count(6 * sizeof(std::uint64_t) + 1));
  for (PrecisionReport::Candidate& c : r.candidates) {
    c.precision = in.choice(Precision::automatic);
    c.lowered = count(), c.coarse = count();
    for (double* x : {&c.mask_change, &c.miou_drop, &c.run_ms}) *x = in.number<double>();
    c.verdict = in.text();
  }
  if (decision.precision == Precision::automatic || decision.precision == Precision::fp16)
    ArchiveReader::fail();
  r.from_cache = true;
  return decision;
}

}  // namespace saccade::quantise
