// TensorProto → Tensor, and the element types of ONNX.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/import.h"
#include "import/onnx/external_data.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/skeleton.h"
#include "saccade/model.h"
#include "saccade/tensor.h"

namespace saccade::import {

/// The DType of an ONNX element type number, or nullopt for those that the IR does not have (strings, 8-bit
/// floats).
std::optional<DType> onnx_dtype(std::int32_t data_type);
/// Whether values of that type are integers of four bits, which the IR keeps in int8 and uint8.
bool is_four_bit(std::int32_t data_type);
/// "FLOAT8E4M3FN", or "element type 77".
std::string onnx_dtype_name(std::int32_t data_type);

class OnnxTensors {
 public:
  /// `payloads`: what TensorProto::payload counts, parts of the source's bytes.
  OnnxTensors(std::filesystem::path model, const LoadLimits& limits, Source source = {},
              std::vector<OnnxPayload> payloads = {})
      : external_(std::move(model)),
        limits_(limits),
        source_(std::move(source)),
        payloads_(std::move(payloads)) {}

  /// Takes the data out of `proto` where it can be had without copying. `what` names the tensor in messages.
  /// Throws Error(invalid_model | limit | not_found | io), NotSupported for an element type without a DType.
  Tensor take(onnx::TensorProto& proto, const std::string& what);
  /// Files beside the model that weights were read from.
  const std::vector<SourceFile>& external_files() const noexcept { return external_.files(); }

 private:
  Tensor read(onnx::TensorProto& proto);
  void count(std::uint64_t bytes);
  Tensor read_payload(const onnx::TensorProto& proto, DType dtype, const Shape& shape, std::uint64_t bytes);

  ExternalData external_;
  LoadLimits limits_;
  Source source_;
  std::vector<OnnxPayload> payloads_;
  std::uint64_t taken_ = 0;  ///< bytes of all tensors so far
};

/// Throws Error(invalid_model | limit) unless the number of elements and bytes fits; returns the number of
/// bytes.
std::uint64_t checked_bytes(DType dtype, const Shape& shape, const LoadLimits& limits);

}  // namespace saccade::import
