// TensorProto → Tensor, and the element types of ONNX.
#pragma once

#include <optional>
#include <string>

#include "import/onnx/external_data.h"
#include "import/onnx/onnx.pb.h"
#include "saccade/model.h"
#include "saccade/tensor.h"

namespace saccade::import {

/// The DType of an ONNX element type number, or nullopt for those that the IR does not have (strings, 4-bit,
/// 8-bit floats).
std::optional<DType> onnx_dtype(std::int32_t data_type);
/// "FLOAT8E4M3FN", or "element type 77".
std::string onnx_dtype_name(std::int32_t data_type);

class OnnxTensors {
 public:
  OnnxTensors(std::filesystem::path model, const LoadLimits& limits)
      : external_(std::move(model)), limits_(limits) {}

  /// Takes the data out of `proto` where it can be had without copying. `what` names the tensor in messages.
  /// Throws Error(invalid_model | limit | not_found | io), NotSupported for an element type without a DType.
  Tensor take(onnx::TensorProto& proto, const std::string& what);

 private:
  Tensor read(onnx::TensorProto& proto);

  ExternalData external_;
  LoadLimits limits_;
};

/// Throws Error(invalid_model | limit) unless the number of elements and bytes fits; returns the number of
/// bytes.
std::uint64_t checked_bytes(DType dtype, const Shape& shape, const LoadLimits& limits);

}  // namespace saccade::import
