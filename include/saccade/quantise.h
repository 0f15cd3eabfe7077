// From a model in single precision to one that runs in bytes, calibrated on samples of its inputs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "saccade/model.h"

namespace saccade {

struct QuantiseOptions {
  /// For which shapes, instruction set and passes; its precision does not matter.
  CompileOptions compile;
  /// Names of convolutions that stay in single precision; heads and squeeze-excite gates always do.
  std::vector<std::string> fp32_layers;
  int threads = 1;  ///< that calibrate
};

/// The same network with convolutions in bytes: filters symmetric with a scale a filter, activations with the
/// range that does least harm, biases corrected. `samples` are sets of inputs in the model's order, of the
/// shapes of `options`; some dozens of typical ones are enough. The result takes these shapes only; a model
/// that is quantised already is returned as it is. Throws Error(invalid_argument | shape_mismatch) for bad
/// samples, Error(unsupported) where nothing could run in bytes.
Model quantised(const Model& model, std::span<const std::vector<Tensor>> samples,
                const QuantiseOptions& options = {});

struct FastestOptions {
  /// For which shapes, instruction set and passes; its precision does not matter.
  CompileOptions compile;
  double max_mask_change = 0.001;  ///< share of the pixels whose class may differ from that in fp32
  int threads = 1;                 ///< that share a run, also when it is timed
};

/// A network and how it is to be compiled.
struct Fastest {
  Model model;
  CompileOptions compile;
  PrecisionReport report;
};

/// What Precision::automatic comes to for these samples: the fastest of what computes their masks within the
/// bound. Masks are read off the output that the model's specification names. Takes many runs of the network.
/// Throws as `quantised`, and Error(unsupported) for an output that is no picture.
Fastest fastest(const Model& model, std::span<const std::vector<Tensor>> samples,
                const FastestOptions& options = {});

}  // namespace saccade
