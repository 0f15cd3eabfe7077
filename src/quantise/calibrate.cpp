#include "quantise/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/edit.h"
#include "quantise/correct.h"
#include "quantise/filters.h"
#include "quantise/selection.h"
#include "runtime/context.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade::quantise {

namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

double mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const float x : tensor.values<float>()) sum += static_cast<double>(x) * static_cast<double>(x);
  return tensor.count() == 0 ? 0 : sum / static_cast<double>(tensor.count());
}

Tensor on_grid(const Tensor& x, const Grid& grid) {
  Tensor result(DType::f32, x.shape());
  put_on_grid(x.values<float>(), {result.data<float>(), static_cast<std::size_t>(result.count())}, grid);
  return result;
}

Tensor rounding_errors(const Tensor& x, const Grid& grid) {
  Tensor errors = on_grid(x, grid);
  const float* from = x.data<float>();
  float* to = errors.data<float>();
  for (std::int64_t i = 0; i < x.count(); ++i) to[i] -= from[i];
  return errors;
}

/// A convolution of its own, without bias: what errors of its picture become in its result.
class LoneConvolution {
 public:
  LoneConvolution(const Graph& graph, const Node& conv, const Machine& machine)
      : context_(plan(graph, conv, machine), machine.threads) {}
  double mean_square_of(const Tensor& picture) {
    return mean_square(context_.run(std::span(&picture, 1))[0]);
  }

 private:
  static std::shared_ptr<const runtime::PlanImpl> plan(const Graph& graph, const Node& conv,
                                                       const Machine& machine) {
    Graph alone;
    alone.limits = graph.limits;
    ir::Value x;
    x.name = "x";
    x.shape = *compiler::known_shape(graph, conv.inputs[0]);
    alone.inputs = {alone.add_value(std::move(x))};
    Node node = conv;
    node.inputs = {alone.inputs[0], alone.add_constant("w", *graph.constant_input(conv, 1))};
    node.outputs.clear();
    alone.outputs = {alone.add_node(std::move(node))};
    compiler::Options options;
    options.isa = machine.isa;
    options.input_shapes = {*alone.value(alone.inputs[0]).shape};
    return runtime::plan_graph(alone, *machine.target, options);
  }
  runtime::ContextImpl context_;
};

/// One way through: with or without equalisation.
class Calibrator {
 public:
  Calibrator(const Graph& prepared, std::span<const Sample> samples, const Machine& machine,
             const CalibrationOptions& options, std::vector<Equalisation> equalisations)
      : graph_(prepared),
        samples_(samples),
        probes_(samples.first(std::min(kProbes, samples.size()))),
        machine_(machine),
        options_(options) {
    equalise(graph_, equalisations);
    recipe_.fp32_layers = options.fp32_layers;
    recipe_.equalisations = std::move(equalisations);
    selection_ = select(graph_, options.fp32_layers);
  }

  /// Throws where nothing could run in bytes.
  void find_grids() {
    if (selection_.values.empty())
      throw Error(
          ErrorCode::unsupported,
          "nothing of this network could run in bytes: it has no convolution that kernels of bytes know");
    say("measuring ranges");
    find_histograms();
    say("choosing ranges");
    choose_grids();
  }

  Recipe recipe() && { return std::move(recipe_); }

  Calibration run(const Graph& prepared, std::span<const Sample> expected) {
    find_grids();
    if (options_.correct_bias) correct_biases();
    Calibration result;
    result.quantised = apply(prepared, recipe_);
    result.relative_error = quantise::relative_error(run_all(result.quantised, probes_, machine_), expected);
    result.equalised = !recipe_.equalisations.empty();
    result.chosen = chosen_;
    result.recipe = std::move(recipe_);
    return result;
  }

 private:
  void say(std::string_view what) const {
    if (options_.progress) options_.progress(what);
  }

  void find_histograms() {
    histograms_.resize(selection_.values.size());
    observe(graph_, selection_.values, samples_, machine_,
            [&](std::size_t i, std::size_t, const Tensor& seen) {
              histograms_[selection_.grid_of[i]].add(seen.values<float>());
            });
  }

  void choose_grids() {
    const std::size_t count = selection_.values.size();
    std::vector<std::array<Grid, kEstimators.size()>> candidates(count);
    for (std::size_t i = 0; i < count; ++i)
      if (selection_.grid_of[i] == i)
        for (std::size_t e = 0; e < kEstimators.size(); ++e)
          if (!options_.estimator || *options_.estimator == kEstimators[e])
            candidates[i][e] = quantise::grid_of(estimate(histograms_[i], kEstimators[e]));
    std::vector<std::array<double, kEstimators.size()>> errors(count);
    if (!options_.estimator) measure_errors(candidates, errors);
    recipe_.grids.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t root = selection_.grid_of[i];
      if (root != i) {
        recipe_.grids[i] = recipe_.grids[root];
        continue;
      }
      std::size_t best = 0;
      if (options_.estimator) {
        while (kEstimators[best] != *options_.estimator) ++best;
      } else {
        best = static_cast<std::size_t>(std::min_element(errors[i].begin(), errors[i].end()) -
                                        errors[i].begin());
      }
      recipe_.grids[i] = candidates[i][best];
      ++chosen_[best];
    }
  }

  /// For each grid and candidate: the sum, over all who read what lies on it, of the errors that it brings
  /// their results, relative to these.
  void measure_errors(const std::vector<std::array<Grid, kEstimators.size()>>& candidates,
                      std::vector<std::array<double, kEstimators.size()>>& errors) {
    std::vector<std::vector<std::size_t>> readers(selection_.values.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (selection_.convolves[n] && graph_.nodes[n].inputs[0] == selection_.values[selection_.picture[n]])
        readers[selection_.picture[n]].push_back(n);
    observe(
        graph_, selection_.values, probes_, machine_, [&](std::size_t i, std::size_t, const Tensor& seen) {
          const std::size_t root = selection_.grid_of[i];
          const auto& grids = candidates[root];
          const auto weigh = [&](const std::function<double(const Tensor&)>& size) {
            const double whole = std::max(size(seen), 1e-30);
            std::array<double, kEstimators.size()> sizes{};
            for (std::size_t e = 0; e < kEstimators.size(); ++e) {
              const auto same =
                  static_cast<std::size_t>(std::find(grids.begin(), grids.end(), grids[e]) - grids.begin());
              sizes[e] = same < e ? sizes[same] : size(rounding_errors(seen, grids[e])) / whole;
              errors[root][e] += sizes[e];
            }
          };
          for (const std::size_t reader : readers[i]) {
            LoneConvolution conv(graph_, graph_.nodes[reader], machine_);
            weigh([&](const Tensor& x) { return conv.mean_square_of(x); });
          }
          if (readers[i].empty()) weigh(mean_square);
        });
  }

  void correct_biases() {
    say("correcting biases");
    std::vector<ValueId> pictures;  // each once, however many convolutions read it
    std::vector<std::size_t> grids;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const ValueId x = selection_.convolves[n] ? graph_.nodes[n].inputs[0] : ir::kNoValue;
      if (x == ir::kNoValue || std::find(pictures.begin(), pictures.end(), x) != pictures.end()) continue;
      pictures.push_back(x);
      grids.push_back(selection_.picture[n]);
    }
    std::vector<Means> real(pictures.size()), rounded(pictures.size());
    const double weight = 1.0 / static_cast<double>(probes_.size());
    observe(graph_, pictures, probes_, machine_, [&](std::size_t i, std::size_t, const Tensor& seen) {
      add_means(seen, weight, real[i]);
      add_means(on_grid(seen, recipe_.grids[grids[i]]), weight, rounded[i]);
    });
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!selection_.convolves[n]) continue;
      const Node& conv = graph_.nodes[n];
      const auto i = static_cast<std::size_t>(std::find(pictures.begin(), pictures.end(), conv.inputs[0]) -
                                              pictures.begin());
      const ByteFilters filters = byte_filters(graph_, conv, recipe_.grids[grids[i]].scale);
      recipe_.corrections.push_back({n, bias_shift(graph_, conv, filters.real_weights, real[i], rounded[i])});
    }
  }

  Graph graph_;
  std::span<const Sample> samples_, probes_;
  const Machine& machine_;
  const CalibrationOptions& options_;
  Recipe recipe_;
  Selection selection_;
  std::vector<Histogram> histograms_;
  std::array<int, kEstimators.size()> chosen_{};
};

}  // namespace

double relative_error(std::span<const Sample> results, std::span<const Sample> expected) {
  double wrong = 0, whole = 0;
  for (std::size_t s = 0; s < results.size(); ++s)
    for (std::size_t o = 0; o < results[s].size(); ++o) {
      if (results[s][o].dtype() != DType::f32) continue;
      const auto got = results[s][o].values<float>(), want = expected[s][o].values<float>();
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
        wrong += difference * difference,
            whole += static_cast<double>(want[i]) * static_cast<double>(want[i]);
      }
    }
  return wrong / std::max(whole, 1e-30);
}

Calibration calibrate(const Graph& prepared, std::span<const Sample> samples, const Machine& machine,
                      const CalibrationOptions& options) {
  if (samples.empty()) throw Error(ErrorCode::invalid_argument, "calibration needs at least one picture");
  const std::vector<Sample> expected =
      run_all(prepared, samples.first(std::min(kProbes, samples.size())), machine);
  std::vector<Equalisation> equalisations;
  if (options.equalise.value_or(true)) equalisations = find_equalisations(prepared);
  const bool either = !options.equalise && !equalisations.empty();
  Calibration best =
      Calibrator(prepared, samples, machine, options, either ? std::vector<Equalisation>{} : equalisations)
          .run(prepared, expected);
  if (!either) return best;
  Calibration other =
      Calibrator(prepared, samples, machine, options, std::move(equalisations)).run(prepared, expected);
  return other.relative_error < best.relative_error ? other : best;
}

Recipe draft(const Graph& prepared, const Sample& sample, const Machine& machine,
             const std::vector<std::string>& fp32_layers) {
  CalibrationOptions options;
  options.fp32_layers = fp32_layers;
  options.estimator = Estimator::extremes;
  Calibrator calibrator(prepared, std::span(&sample, 1), machine, options, {});
  calibrator.find_grids();
  return std::move(calibrator).recipe();
}

}  // namespace saccade::quantise
