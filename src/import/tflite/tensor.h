// TFLite tensors: element types, constants.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "import/tflite/tflite_generated.h"
#include "saccade/model.h"
#include "saccade/tensor.h"

namespace saccade::import {

/// The DType of a TFLite element type, or nullopt for those that the IR does not have.
std::optional<DType> tflite_dtype(tflite::TensorType type);

/// Dimensions as declared; -1 where the signature leaves one free. A tensor without dimensions is a scalar.
Shape tflite_shape(const tflite::Tensor& tensor);

std::string tflite_name(const tflite::Tensor& tensor);

/// real = (integer - zero point) * scale: one of each, or one for each index of `axis`.
struct Quantisation {
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;  ///< as many as scales
  std::int64_t axis = 0;

  bool operator==(const Quantisation&) const = default;
};

/// Whether the integers of this tensor stand for real numbers.
bool is_quantised(const tflite::Tensor& tensor);
/// How. Throws Error(invalid_model) where the numbers of scales and zero points do not fit, or a scale is not
/// above 0.
Quantisation quantisation_of(const tflite::Tensor& tensor);
/// Whether a tensor that is computed is quantised: 8 or 16 bits, with one scale.
bool is_quantised_activation(const tflite::Tensor& tensor);

/// The file, as far as constants need it.
struct TfliteFile {
  const tflite::Model* model = nullptr;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive
  LoadLimits limits;
};

/// Bytes of a constant. Throws Error(invalid_model | limit) where a dimension is not known or there are too
/// many.
std::uint64_t tflite_bytes(DType dtype, const Shape& shape, const LoadLimits& limits);

/// The data of a constant tensor, as a view into the file where it is aligned; nullopt if the tensor has
/// none. Throws Error(invalid_model | limit), NotSupported for types that the IR does not have.
std::optional<Tensor> tflite_constant(const TfliteFile& file, const tflite::Tensor& tensor);

/// The real numbers that a quantised constant stands for.
Tensor dequantised(const Tensor& data, const tflite::Tensor& tensor);

/// Constants of so many bytes stay as the file has them; what is done to them becomes nodes, which the
/// compiler folds. Importing a large model then takes no more memory than its file.
inline constexpr std::size_t kLargeConstant = 64 * 1024;

}  // namespace saccade::import
