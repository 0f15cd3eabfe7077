// Post-training quantisation: from a network in single precision and samples of what it will see to a recipe.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantise/observe.h"
#include "quantise/range.h"
#include "quantise/recipe.h"

namespace saccade::quantise {

struct CalibrationOptions {
  std::vector<std::string> fp32_layers;
  /// Unset: for each tensor the one that does least harm to the results of the convolutions that read it.
  std::optional<Estimator> estimator;
  bool correct_bias = true;
  /// Unset: if it brings the outputs nearer.
  std::optional<bool> equalise;
  /// Called between steps with what is done next; may throw to end it.
  std::function<void(std::string_view)> progress;
};

struct Calibration {
  Recipe recipe;
  ir::Graph quantised;  ///< apply(prepared, recipe)
  /// Mean squared error of the outputs on the samples looked at closely, relative to their mean square.
  double relative_error = 0;
  bool equalised = false;
  std::array<int, kEstimators.size()> chosen{};  ///< how many grids each estimator made
};

/// `prepared` as `prepare` returns it. All samples count for ranges; the first kProbes are looked at closely.
/// Throws Error(invalid_argument) without samples, Error(unsupported) where nothing could run in bytes.
Calibration calibrate(const ir::Graph& prepared, std::span<const Sample> samples, const Machine& machine,
                      const CalibrationOptions& options = {});

/// With the extremes of a single sample as ranges and nothing corrected: the kernels that will run, in a
/// tenth of the time. Throws as `calibrate`.
Recipe draft(const ir::Graph& prepared, const Sample& sample, const Machine& machine,
             const std::vector<std::string>& fp32_layers);

inline constexpr std::size_t kProbes = 2;

/// Mean squared difference of all outputs of single precision, relative to the mean square of `expected`.
double relative_error(std::span<const Sample> results, std::span<const Sample> expected);

}  // namespace saccade::quantise
