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

}  // namespace saccade
