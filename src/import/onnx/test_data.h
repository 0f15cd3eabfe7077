// What the cases of ONNX's backend-test layout need beside the model: their tensors, and what lies outside
// our scope.
#pragma once

#include <filesystem>
#include <string>

#include "saccade/tensor.h"

namespace saccade::import {

/// A tensor in a file of its own (`input_0.pb`). Throws Error(not_found | io | invalid_model),
/// Error(unsupported) for sequences, optionals and element types without a DType.
NamedTensor read_onnx_tensor(const std::filesystem::path& path);

/// Facts about a model file that can be had without translating it.
struct OnnxSurvey {
  std::int64_t opset = 0;              ///< of the default domain; 0 where it declares none
  std::vector<std::string> operators;  ///< sorted, each once; of another domain with "domain::" in front
  /// Why the model is outside our scope whatever operators are known: "string tensors", "training operators",
  /// … ; "" where it is inside.
  std::string out_of_scope;
};
/// Throws Error(not_found | io | invalid_model).
OnnxSurvey survey_onnx(const std::filesystem::path& path);

}  // namespace saccade::import
