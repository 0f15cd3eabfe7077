#include "quantise/sensitivity.h"

#include <algorithm>
#include <cstddef>

#include "runtime/context.h"

namespace saccade::quantise {

namespace {

// Multiply-adds of all runs for one level. A variant takes as long to make as to run once or twice.
constexpr double kWork = 6e12;
constexpr std::size_t kFewestProbes = 12;

Tensor run(const Variant& variant, const Question& question, const Sample& probe) {
  runtime::ContextImpl context(variant.plan, question.machine.threads);
  return context.run(probe).at(question.rule.output);
}

}  // namespace

Sensitivity::Sensitivity(Variants& variants, const Question& question, const std::vector<Sample>& measured,
                         const Variant& fp32)
    : variants_(variants),
      question_(question),
      probe_(measured.front()),
      exact_(run(fp32, question, probe_)) {}

double Sensitivity::error(std::size_t layer, Level level) {
  if (level == Level::fp32) return 0;
  if (level == Level::coarse) return errors(Level::bf16)[layer] + errors(level)[layer];
  return errors(level)[layer];
}

const std::vector<double>& Sensitivity::errors(Level level) {
  std::vector<double>& found = errors_[static_cast<std::size_t>(level)];
  if (found.empty()) found = measure(level);
  return found;
}

Tensor Sensitivity::output_of(const Levels& levels) {
  if (question_.progress) question_.progress("measuring what layers do to the result");
  const std::optional<Variant> variant = variants_.make(levels);
  return variant ? run(*variant, question_, probe_) : Tensor{};
}

std::vector<double> Sensitivity::measure(Level level) {
  const std::size_t count = variants_.names().size();
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < count; ++i)
    if (variants_.allows(i, level)) layers.push_back(i);
  std::vector<double> result(count, 0.0);
  if (layers.empty()) return result;
  const bool without = level == Level::bf16;
  const Levels base =
      without || level == Level::coarse ? variants_.all(Level::bf16) : variants_.all(Level::fp32);
  const Brink brink(level == Level::coarse ? output_of(base) : exact_, question_.rule);
  const double whole = without ? brink.moved(output_of(base)) : 0;
  const auto probes =
      std::max(kFewestProbes, static_cast<std::size_t>(kWork / std::max(1.0, variants_.work())));
  const std::size_t group = (layers.size() + probes - 1) / probes;
  for (std::size_t begin = 0; begin < layers.size(); begin += group) {
    const std::size_t end = std::min(begin + group, layers.size());
    Levels levels = base;
    for (std::size_t i = begin; i < end; ++i) levels[layers[i]] = without ? Level::fp32 : level;
    const Tensor output = output_of(levels);
    // What cannot be made alone counts as the worst so far.
    const double moved =
        output.count() == 0 ? *std::max_element(result.begin(), result.end()) : brink.moved(output);
    const double error = without ? std::max(0.0, whole - moved) : moved;
    for (std::size_t i = begin; i < end; ++i) result[layers[i]] = error / static_cast<double>(end - begin);
  }
  return result;
}

}  // namespace saccade::quantise
