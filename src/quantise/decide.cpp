#include "quantise/decide.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "quantise/mix.h"
#include "quantise/selection.h"
#include "quantise/sensitivity.h"
#include "quantise/variants.h"
#include "runtime/context.h"
#include "saccade/error.h"

namespace saccade::quantise {

namespace {

constexpr std::chrono::milliseconds kRaceTime{1500};
constexpr double kNoise = 0.97;  // what is not below this share of a time may be as long
constexpr int kQuestions = 24;   // mixes that are tried in a family

struct Agreement {
  double mask_change = 0, miou = 0;
  bool within = false;  // the budget
};

/// A variant that may be used.
struct Candidate {
  Variant variant;
  Agreement agreement;
  double ns = 0;  // of a run, in one race with fp32
};

/// Levels that are mixed with each other, and the fastest of their mixes.
struct Family {
  std::vector<Level> levels;
  Levels start;
  std::map<std::string, double> times;  // of the steps of `start`
};

/// What other pictures may change by: the mean and its standard error. What just fits some pictures, found by
/// looking at these, would be too much for half of the others.
double expected_change(const std::vector<double>& changes) {
  constexpr double kOfOne = 0.25;  // where there is no other picture to tell by
  const auto count = static_cast<double>(changes.size());
  const double mean = std::accumulate(changes.begin(), changes.end(), 0.0) / count;
  if (changes.size() == 1) return mean * (1 + kOfOne);
  double squares = 0;
  for (const double change : changes) squares += (change - mean) * (change - mean);
  return mean + std::sqrt(squares / (count - 1) / count);
}

class Decider {
 public:
  Decider(const ir::Graph& graph, const std::vector<Shape>& shapes, const Question& question)
      : graph_(graph),
        question_(question),
        measured_(question.measured.empty() ? question.calibration : question.measured),
        variants_(graph, shapes, question) {
    if (question.calibration.empty())
      throw Error(ErrorCode::invalid_argument, "calibration needs at least one picture");
  }

  Decision run() {
    report_.asked = question_.asked;
    report_.calibration_pictures = static_cast<int>(question_.calibration.size());
    report_.measured_pictures = static_cast<int>(measured_.size());
    report_.labelled = !question_.truth.empty();
    fp32_ = *variants_.make(variants_.all(Level::fp32));
    say("running in fp32");
    runtime::ContextImpl context(fp32_.plan, question_.machine.threads);
    for (const Sample& sample : measured_) {
      const Sample results = context.run(sample);
      labels_.push_back(labels_of(results.at(question_.rule.output), question_.rule));
    }
    report_.fp32_miou = miou_of(labels_);
    if (is_quantised(graph_)) return as_it_is("quantised already");
    return question_.asked == Precision::int8 ? decide_bytes() : decide_fastest();
  }

 private:
  void say(std::string_view what) const {
    if (question_.progress) question_.progress(what);
  }

  // ---- masks

  double miou_of(const std::vector<std::vector<std::int32_t>>& labels) const {
    if (question_.truth.empty()) return 0;
    Overlap overlap;
    for (std::size_t i = 0; i < labels.size(); ++i) overlap.add(labels[i], question_.truth[i]);
    return overlap.mean_iou();
  }

  /// With `judging`, pictures that cannot save the budget any more are left out.
  Agreement agreement_of(const Variant& variant, bool judging = false) const {
    std::vector<std::vector<std::int32_t>> labels;
    std::vector<double> changes;
    double sum = 0;
    runtime::ContextImpl context(variant.plan, question_.machine.threads);
    for (std::size_t s = 0; s < measured_.size(); ++s) {
      const Sample results = context.run(measured_[s]);
      labels.push_back(labels_of(results.at(question_.rule.output), question_.rule));
      changes.push_back(changed_share(labels_[s], labels.back()));
      sum += changes.back();
      if (judging && sum > question_.budget.mask_change * static_cast<double>(measured_.size())) return {};
    }
    Agreement agreement{sum / static_cast<double>(measured_.size()), miou_of(labels)};
    agreement.within = expected_change(changes) <= question_.budget.mask_change &&
                       (question_.truth.empty() || !question_.budget.miou_drop ||
                        report_.fp32_miou - agreement.miou <= *question_.budget.miou_drop);
    return agreement;
  }

  // ---- bytes as asked

  Decision decide_bytes() {
    variants_.allow_bytes();
    variants_.calibrate();
    report_.layers = variants_.count(Level::int8);
    const Variant variant = *variants_.make(variants_.all(Level::int8));
    return made(variant, agreement_of(variant), 0, "as asked");
  }

  // ---- the fastest

  Decision decide_fastest() {
    const auto allow = [&](Precision precision, void (Variants::*method)()) {
      try {
        (variants_.*method)();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        report_.candidates.push_back({precision, 0, 0, 0, 0, 0, error.what()});
      }
    };
    allow(Precision::int8, &Variants::allow_bytes);
    allow(Precision::bf16, &Variants::allow_halves);
    report_.layers = std::max(variants_.count(Level::int8), variants_.count(Level::bf16));
    fp32_.levels = variants_.all(Level::fp32);  // now that all layers have names
    for (Family& family : families()) look_at(family);
    return conclude();
  }

  /// The fastest one first.
  std::vector<Family> families() {
    say("timing layers");
    level_times_[Level::fp32] = times_of(fp32_);
    for (const Level level : {Level::bf16, Level::coarse, Level::int8})
      if (variants_.allows(level)) level_times_[level] = times_of(*variants_.make(variants_.all(level)));
    const bool halves = variants_.allows(Level::bf16), coarse = variants_.allows(Level::coarse),
               bytes = variants_.allows(Level::int8);
    std::vector<Family> found;
    if (halves && coarse)
      found.push_back({{Level::fp32, Level::bf16, Level::coarse}, variants_.all(Level::coarse), {}});
    else if (halves)
      found.push_back({{Level::fp32, Level::bf16}, variants_.all(Level::bf16), {}});
    if (bytes) found.push_back({{Level::fp32, Level::int8}, variants_.all(Level::int8), {}});
    if (halves && bytes) found.push_back({{Level::fp32, Level::bf16, Level::coarse, Level::int8}, {}, {}});
    for (Family& family : found) choose_start(family);
    // Of all levels together there is something to say only where bytes are among the fastest.
    const auto all_levels = [](const Family& family) {
      return family.levels.size() > 2 && family.levels.back() == Level::int8;
    };
    std::erase_if(found, [&](const Family& family) {
      return family.start.empty() || (all_levels(family) && !has_bytes(family.start));
    });
    std::stable_sort(found.begin(), found.end(),
                     [](const Family& a, const Family& b) { return a.times.at("") < b.times.at(""); });
    return found;
  }

  std::map<std::string, double> times_of(const Variant& variant) const {
    return step_times(variant, measured_[0], question_.timing_threads);
  }

  /// The layers' fastest levels together, where that is faster than one level for all.
  void choose_start(Family& family) {
    const std::vector<LayerWays> layers = ways_of(family);
    const Levels mixed = levels_of(family, fastest_mix(layers));
    if (!family.start.empty()) family.times = level_times_.at(family.levels.back());
    if (mixed == family.start) return;
    const std::optional<Variant> variant = variants_.make(mixed);
    if (!variant) return;
    std::map<std::string, double> times = times_of(*variant);
    if (!family.start.empty() && times.at("") >= kNoise * family.times.at("")) return;
    family.start = mixed;
    family.times = std::move(times);
  }

  std::vector<Level> allowed(const Family& family, std::size_t layer) const {
    std::vector<Level> levels;
    for (const Level level : family.levels)
      if (variants_.allows(layer, level)) levels.push_back(level);
    return levels;
  }

  Levels levels_of(const Family& family, const Mix& mix) const {
    Levels levels;
    for (std::size_t i = 0; i < mix.size(); ++i) levels.push_back(allowed(family, i)[mix[i]]);
    return levels;
  }

  /// With times, as far as steps are known again in all variants; the rest of the time is divided up evenly
  /// among the other layers.
  std::vector<LayerWays> ways_of(const Family& family) const {
    const std::vector<std::string>& names = variants_.names();
    std::vector<bool> known(names.size(), true);
    for (std::size_t i = 0; i < names.size(); ++i)
      for (const auto& [level, times] : level_times_) known[i] = known[i] && times.contains(names[i]);
    const auto others = static_cast<double>(std::count(known.begin(), known.end(), false));
    std::map<Level, double> rest;
    for (const auto& [level, times] : level_times_) {
      rest[level] = times.at("");
      for (std::size_t i = 0; i < names.size(); ++i)
        if (known[i]) rest[level] -= times.at(names[i]);
    }
    std::vector<LayerWays> layers;
    for (std::size_t i = 0; i < names.size(); ++i) {
      LayerWays layer{names[i], {}};
      for (const Level level : allowed(family, i))
        layer.ways.push_back({known[i] ? level_times_.at(level).at(names[i]) : rest[level] / others, 0});
      layers.push_back(std::move(layer));
    }
    return layers;
  }

  /// Calibrates bytes and compares masks only where time is to be saved.
  void look_at(const Family& family) {
    const double ns = family.times.at(""), ms = ns / 1e6;
    if (ns >= kNoise * level_times_.at(Level::fp32).at(""))
      return note_slow(family, ms, "not faster than fp32");
    if (best_ && ns >= kNoise * best_ns_) return note_slow(family, ms, "slower than what is used");
    if (has_bytes(family.start)) variants_.calibrate();
    const std::optional<Variant> start = variants_.make(family.start);
    if (!start) return;
    const Agreement agreement = agreement_of(*start);
    if (agreement.within) return enter(*start, agreement);
    note(*start, agreement, ms, "changes too much");
    search(family);
  }

  void search(const Family& family) {
    std::vector<LayerWays> layers = ways_of(family);
    // What the start does is the fastest, whatever single layers seemed to take.
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::vector<Level> levels = allowed(family, i);
      const auto at =
          static_cast<std::size_t>(std::find(levels.begin(), levels.end(), family.start[i]) - levels.begin());
      for (std::size_t way = 0; way < levels.size(); ++way)
        if (way != at)
          layers[i].ways[way].time = std::max(layers[i].ways[way].time, layers[i].ways[at].time + 1);
    }
    if (!sensitivity_) {
      say("measuring what layers do to the result");
      sensitivity_.emplace(variants_, question_, measured_, fp32_);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::vector<Level> levels = allowed(family, i);
      for (std::size_t way = 0; way < levels.size(); ++way)
        layers[i].ways[way].error = sensitivity_->error(i, levels[way]);
    }
    say("looking for layers to compute more exactly");
    std::optional<Candidate> held;
    const auto holds = [&](const Mix& mix) {
      say("looking for layers to compute more exactly");
      const Levels levels = levels_of(family, mix);
      if (levels == family.start) return false;  // known
      std::optional<Variant> variant = variants_.make(levels);
      if (!variant) return false;
      const Agreement agreement = agreement_of(*variant, true);
      if (agreement.within) held = Candidate{std::move(*variant), agreement, 0};
      return agreement.within;
    };
    if (find_mix(layers, holds, kQuestions) && held)
      enter(held->variant, held->agreement);
    else
      report_.candidates.push_back(
          {precision_of(family.start), 0, 0, 0, 0, 0, "no part of it is within the budget"});
  }

  static bool has_bytes(const Levels& levels) {
    return std::find(levels.begin(), levels.end(), Level::int8) != levels.end();
  }

  static Precision precision_of(const Levels& levels) {
    return has_bytes(levels) ? Precision::int8 : Precision::bf16;
  }

  /// What is within the budget races against fp32 and the best so far.
  void enter(const Variant& variant, const Agreement& agreement) {
    say("comparing times");
    std::vector<const Variant*> runners{&fp32_, &variant};
    if (best_) runners.push_back(&best_->variant);
    const Race race = race_of(runners);
    fp32_ns_ = race.median_ns(0);
    Candidate entered{variant, agreement, race.median_ns(1)};
    if (best_) best_->ns = race.median_ns(2);
    if (!race.faster(1, 0)) return note(variant, agreement, entered.ns / 1e6, "not faster than fp32");
    if (best_ && entered.ns >= best_->ns)
      return note(variant, agreement, entered.ns / 1e6, "slower than what is used");
    if (best_) note(best_->variant, best_->agreement, best_->ns / 1e6, "slower than what is used");
    best_ = std::move(entered);
    best_ns_ = times_of(variant).at("");
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

  Decision conclude() {
    report_.fp32_run_ms = fp32_ns_ / 1e6;
    if (!best_) return as_it_is("fastest within the budget");
    Decision decision = made(best_->variant, best_->agreement, best_->ns / 1e6, "used");
    decision.report.run_ms = best_->ns / 1e6;
    return decision;
  }

  // ---- reports

  static int count(const Levels& levels, Level level) {
    return static_cast<int>(std::count(levels.begin(), levels.end(), level));
  }

  static int lowered(const Levels& levels) {
    return static_cast<int>(levels.size()) - count(levels, Level::fp32);
  }

  void note_slow(const Family& family, double ms, std::string verdict) {
    report_.candidates.push_back({precision_of(family.start), lowered(family.start),
                                  count(family.start, Level::coarse), 0, 0, ms, std::move(verdict)});
  }

  void note(const Variant& variant, const Agreement& agreement, double ms, std::string verdict) {
    report_.candidates.push_back(
        {variant.precision, lowered(variant.levels), variant.count(Level::coarse), agreement.mask_change,
         report_.labelled ? report_.fp32_miou - agreement.miou : 0, ms, std::move(verdict)});
  }

  Decision made(const Variant& variant, const Agreement& agreement, double ms, std::string verdict) {
    note(variant, agreement, ms, std::move(verdict));
    Decision decision{variant.precision,
                      variant.rest,
                      variant.fp32_layers,
                      variant.coarse,
                      variant.exact_layers,
                      variant.recipe.value_or(Recipe{}),
                      report_};
    decision.report.used = variant.precision;
    decision.report.lowered = lowered(variant.levels);
    decision.report.fp32_layers = variant.fp32_layers;
    decision.report.coarse = variant.count(Level::coarse);
    decision.report.exact_layers = variant.exact_layers;
    decision.report.mask_change = agreement.mask_change;
    decision.report.miou = agreement.miou;
    return decision;
  }

  Decision as_it_is(std::string verdict) {
    report_.candidates.push_back({Precision::fp32, 0, 0, 0, 0, report_.fp32_run_ms, std::move(verdict)});
    Decision decision;
    decision.report = report_;
    decision.report.miou = report_.fp32_miou;
    decision.report.run_ms = report_.fp32_run_ms;
    return decision;
  }

  const ir::Graph& graph_;
  const Question& question_;
  const std::vector<Sample>& measured_;
  Variants variants_;
  PrecisionReport report_;
  Variant fp32_;
  std::vector<std::vector<std::int32_t>> labels_;
  std::map<Level, std::map<std::string, double>> level_times_;  // of steps, where all layers are at a level
  std::optional<Sensitivity> sensitivity_;
  std::optional<Candidate> best_;
  double best_ns_ = 0, fp32_ns_ = 0;
};

}  // namespace

Decision decide(const ir::Graph& graph, const std::vector<Shape>& input_shapes, const Question& question) {
  return Decider(graph, input_shapes, question).run();
}

}  // namespace saccade::quantise
