#include "import/tflite/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "import/graph_builder.h"
#include "import/missing.h"
#include "import/tflite/sparse.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

std::uint64_t constant_bytes(DType dtype, const Shape& shape, const LoadLimits& limits) {
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
  const std::optional<DType> dtype = tflite_dtype(tensor.type());
  if (!dtype)
    throw NotSupported{std::string("constants of ") + tflite::EnumNameTensorType(tensor.type()) +
                       " are not supported"};
  const Shape shape =
      tensor.shape() != nullptr ? Shape(tensor.shape()->begin(), tensor.shape()->end()) : Shape{};
  const std::uint64_t bytes = constant_bytes(*dtype, shape, file.limits);
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

Tensor dequantised(const Tensor& data, const tflite::Tensor& tensor) {
  const auto* q = tensor.quantization();
  const std::size_t channels = q->scale()->size();
  const auto* zeros = q->zero_point();
  if (zeros != nullptr && zeros->size() != channels && zeros->size() > 1)
    fail(fmt::format("has {} scales and {} zero points", channels, zeros->size()));
  const auto axis = static_cast<std::size_t>(std::max(q->quantized_dimension(), 0));
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
    const auto channel = static_cast<flatbuffers::uoffset_t>(
        channels > 1 ? i / static_cast<std::size_t>(inner) % channels : 0);
    const std::int64_t zero =
        zeros == nullptr || zeros->size() == 0 ? 0 : zeros->Get(zeros->size() == 1 ? 0 : channel);
    dst[i] = static_cast<float>((values[i] - static_cast<double>(zero)) *
                                static_cast<double>(q->scale()->Get(channel)));
  }
  return out;
}

}  // namespace saccade::import
