// In which precision a network runs: what was asked for, or what turns out to be fastest within a budget.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "ir/graph.h"
#include "quantise/agreement.h"
#include "quantise/observe.h"
#include "quantise/race.h"
#include "quantise/recipe.h"
#include "saccade/precision.h"

namespace saccade::quantise {

struct Budget {
  double mask_change = 0.001;       ///< share of pixels
  std::optional<double> miou_drop;  ///< where labels are given; unset: it does not matter
};

struct Question {
  Precision asked = Precision::automatic;  ///< or int8
  Budget budget;
  LabelRule rule;                   ///< how masks are read off the outputs
  std::vector<Sample> calibration;  ///< ranges are measured on these
  std::vector<Sample> measured;     ///< masks are compared on these; empty: on those of the calibration
  /// Per measured sample: the true label of each pixel of its output, negative where there is none. Empty:
  /// no labels.
  std::vector<std::vector<std::int32_t>> truth;
  std::vector<std::string> disabled_passes;
  Machine machine;
  int timing_threads = 1;  ///< that share one run when it is timed
  Race::Clock clock;       ///< by which whole networks are compared; empty: the machine's
  std::function<void(std::string_view)> progress;
};

struct Decision {
  Precision precision = Precision::fp32;  ///< fp32, bf16, or int8: then `recipe` makes the network
  Precision rest = Precision::fp32;       ///< of int8: bf16 where that is what the other layers run in
  std::vector<std::string> fp32_layers;   ///< of bf16
  bool coarse = false;                    ///< of bf16, but for `exact_layers`
  std::vector<std::string> exact_layers;
  Recipe recipe;
  PrecisionReport report;
};

/// Throws Error(invalid_argument) without pictures, Error(unsupported) for int8 where nothing can run in
/// bytes. `automatic` then is fp32, or bf16.
Decision decide(const ir::Graph& graph, const std::vector<Shape>& input_shapes, const Question& question);

void write_decision(ArchiveWriter& out, const Decision& decision);
/// Throws Error(io) for what is none.
Decision read_decision(ArchiveReader& in);

}  // namespace saccade::quantise
