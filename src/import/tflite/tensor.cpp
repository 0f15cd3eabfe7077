#include "import/tflite/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/graph_builder.h"
#include "import/missing.h"
#include "import/tflite/sparse.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

/// Data inside the tables, or behind them where the file is too large for their offsets.
std::span<const std::byte> buffer_bytes(const TfliteFile& file, std::uint32_t index) {
  const auto* buffers = file.model->buffers();
  if (buffers == nullptr || index >= buffers->size())
    fail(fmt::format("refers to buffer {} of {}", index, buffers == nullptr ? 0 : buffers->size()));
  const tflite::Buffer* buffer = buffers->Get(index);
  if (buffer == nullptr) return {};
  if (buffer->offset() > 1) {
    if (buffer->offset() > file.bytes.size() || buffer->size() > file.bytes.size() - buffer->offset())
      fail(fmt::format("refers to bytes {} + {} of a file of {}", buffer->offset(), buffer->size(),
                       file.bytes.size()));
    return file.bytes.subspan(static_cast<std::size_t>(buffer->offset()),
                              static_cast<std::size_t>(buffer->size()));
  }
  if (buffer->data() == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(buffer->data()->data()), buffer->data()->size()};
}

}  // namespace

std::uint64_t tflite_bytes(DType dtype, const Shape& shape, const LoadLimits& limits) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail("is a constant with an unknown dimension: " + shape_string(shape));
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      fail("has shape " + shape_string(shape) + ", whose size overflows");
  }
  if (bytes > limits.max_tensor_bytes)
    throw Error(ErrorCode::limit,
                fmt::format("has {} bytes, at most {} are allowed", bytes, limits.max_tensor_bytes));
  return static_cast<std::uint64_t>(bytes);
}

namespace {

/// Two to a byte, the first in the lower half.
Tensor unpacked_int4(const Shape& shape, std::span<const std::byte> data, const LoadLimits& limits) {
  const std::uint64_t count = tflite_bytes(DType::i8, shape, limits);
  if (data.size() != (count + 1) / 2)
    fail(fmt::format("has {} bytes of data, expected {} for int4 {}", data.size(), (count + 1) / 2,
                     shape_string(shape)));
  Tensor out(DType::i8, shape);
  for (std::size_t i = 0; i < count; ++i) {
    const int four = std::to_integer<int>(data[i / 2] >> (i % 2 * 4)) & 15;
    out.data<std::int8_t>()[i] = static_cast<std::int8_t>(four < 8 ? four : four - 16);
  }
  return out;
}

}  // namespace

std::optional<DType> tflite_dtype(tflite::TensorType type) {
  switch (type) {
    case tflite::TensorType::FLOAT32:
      return DType::f32;
    case tflite::TensorType::FLOAT16:
      return DType::f16;
    case tflite::TensorType::BFLOAT16:
      return DType::bf16;
    case tflite::TensorType::FLOAT64:
      return DType::f64;
    case tflite::TensorType::INT8:
      return DType::i8;
    case tflite::TensorType::UINT8:
      return DType::u8;
    case tflite::TensorType::INT16:
      return DType::i16;
    case tflite::TensorType::UINT16:
      return DType::u16;
    case tflite::TensorType::INT32:
      return DType::i32;
    case tflite::TensorType::UINT32:
      return DType::u32;
    case tflite::TensorType::INT64:
      return DType::i64;
    case tflite::TensorType::UINT64:
      return DType::u64;
    case tflite::TensorType::BOOL:
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

Shape tflite_shape(const tflite::Tensor& tensor) {
  const auto* dims = tensor.shape();
  const auto* signature = tensor.shape_signature();
  if (signature != nullptr && signature->size() > 0 && (dims == nullptr || signature->size() == dims->size()))
    dims = signature;
  if (dims == nullptr) return {};
  Shape shape(dims->begin(), dims->end());
  for (std::int64_t& dim : shape) dim = std::max<std::int64_t>(dim, -1);
  return shape;
}

std::string tflite_name(const tflite::Tensor& tensor) {
  return tensor.name() != nullptr ? tensor.name()->str() : "";
}

bool is_quantised(const tflite::Tensor& tensor) {
  const auto* q = tensor.quantization();
  return q != nullptr && q->scale() != nullptr && q->scale()->size() > 0 &&
         tensor.type() != tflite::TensorType::FLOAT32 && tensor.type() != tflite::TensorType::FLOAT16;
}

std::optional<Tensor> tflite_constant(const TfliteFile& file, const tflite::Tensor& tensor) {
  if (tensor.buffer() == 0) return std::nullopt;  // by convention the empty buffer
  const std::span<const std::byte> data = buffer_bytes(file, tensor.buffer());
  if (data.empty()) return std::nullopt;
  if (tensor.type() == tflite::TensorType::INT4 && tensor.sparsity() == nullptr)
    return unpacked_int4(
        tensor.shape() != nullptr ? Shape(tensor.shape()->begin(), tensor.shape()->end()) : Shape{}, data,
        file.limits);
  const std::optional<DType> dtype = tflite_dtype(tensor.type());
  if (!dtype)
    throw NotSupported{std::string("constants of ") + tflite::EnumNameTensorType(tensor.type()) +
                       " are not supported"};
  const Shape shape =
      tensor.shape() != nullptr ? Shape(tensor.shape()->begin(), tensor.shape()->end()) : Shape{};
  const std::uint64_t bytes = tflite_bytes(*dtype, shape, file.limits);
  if (tensor.sparsity() != nullptr) return densified(*tensor.sparsity(), *dtype, shape, data);
  if (bytes != data.size())
    fail(fmt::format("has {} bytes of data, expected {} for {} {}", data.size(), bytes, dtype_name(*dtype),
                     shape_string(shape)));
  if (*dtype == DType::boolean) {  // a file may hold other bytes than 0 and 1
    Tensor out(DType::boolean, shape);
    std::transform(data.begin(), data.end(), out.data<bool>(), [](std::byte b) { return b != std::byte{0}; });
    return out;
  }
  if (file.owner != nullptr && reinterpret_cast<std::uintptr_t>(data.data()) % dtype_size(*dtype) == 0)
    return Tensor::view(*dtype, shape, const_cast<std::byte*>(data.data()),
                        file.owner);  // constants are never written
  Tensor out(*dtype, shape);
  std::memcpy(out.raw(), data.data(), data.size());
  return out;
}

Quantisation quantisation_of(const tflite::Tensor& tensor) {
  const auto* fields = tensor.quantization();
  Quantisation q;
  q.scales.assign(fields->scale()->begin(), fields->scale()->end());
  for (const float scale : q.scales)
    if (!(scale > 0) || !std::isfinite(scale)) fail(fmt::format("has a scale of {}", scale));
  if (const auto* zeros = fields->zero_point(); zeros != nullptr && zeros->size() > 0) {
    q.zeros.resize(zeros->size());  // the verifier does not see to their alignment
    std::memcpy(q.zeros.data(), zeros->Data(), zeros->size() * sizeof(std::int64_t));
  }
  if (q.zeros.empty()) q.zeros.push_back(0);
  if (q.zeros.size() == 1) q.zeros.resize(q.scales.size(), q.zeros.front());
  if (q.zeros.size() != q.scales.size())
    fail(fmt::format("has {} scales and {} zero points", q.scales.size(), q.zeros.size()));
  if (q.scales.size() > 1) q.axis = std::max(fields->quantized_dimension(), 0);
  return q;
}

bool is_quantised_activation(const tflite::Tensor& tensor) {
  const bool integer = tensor.type() == tflite::TensorType::INT8 ||
                       tensor.type() == tflite::TensorType::UINT8 ||
                       tensor.type() == tflite::TensorType::INT16;
  return integer && is_quantised(tensor) && tensor.quantization()->scale()->size() == 1;
}

Tensor dequantised(const Tensor& data, const tflite::Tensor& tensor) {
  const Quantisation q = quantisation_of(tensor);
  const std::size_t channels = q.scales.size();
  const auto axis = static_cast<std::size_t>(q.axis);
  std::int64_t inner = 1;
  if (channels > 1) {
    if (axis >= data.rank() || data.dim(axis) != static_cast<std::int64_t>(channels))
      fail(fmt::format("has {} scales for dimension {} of shape {}", channels, axis,
                       shape_string(data.shape())));
    for (std::size_t i = axis + 1; i < data.rank(); ++i) inner *= data.dim(i);
  }
  const std::vector<double> values = to_doubles(data);
  Tensor out(DType::f32, data.shape());
  float* dst = out.data<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = channels > 1 ? i / static_cast<std::size_t>(inner) % channels : 0;
    dst[i] = static_cast<float>((values[i] - static_cast<double>(q.zeros[channel])) *
                                static_cast<double>(q.scales[channel]));
  }
  return out;
}

}  // namespace saccade::import
