#include "import/onnx/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "import/missing.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

constexpr std::int32_t kExternal = 1;

struct ElementType {
  std::string_view name;
  std::optional<DType> dtype;
};

/// By number, from 0.
constexpr std::array<ElementType, 29> kElementTypes = {{
    {"UNDEFINED", std::nullopt},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::i8},
    {"UINT16", DType::u16},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT64", DType::i64},
    {"STRING", std::nullopt},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", std::nullopt},
    {"COMPLEX128", std::nullopt},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", std::nullopt},
    {"FLOAT8E4M3FNUZ", std::nullopt},
    {"FLOAT8E5M2", std::nullopt},
    {"FLOAT8E5M2FNUZ", std::nullopt},
    {"UINT4", DType::u8},
    {"INT4", DType::i8},
    {"FLOAT4E2M1", std::nullopt},
    {"FLOAT8E8M0", std::nullopt},
    {"UINT2", std::nullopt},
    {"INT2", std::nullopt},
    {"FLOAT6E2M3", std::nullopt},
    {"FLOAT6E3M2", std::nullopt},
}};

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

/// Values of a repeated field, narrowed to the element type's bits as the format stores them (16-bit floats
/// as their bits).
template <class To, class From>
Tensor narrowed(DType dtype, const Shape& shape, const From& field) {
  Tensor tensor(dtype, shape);
  auto* out = static_cast<To*>(tensor.raw());
  std::transform(field.begin(), field.end(), out, [](auto v) { return static_cast<To>(v); });
  return tensor;
}

template <class Field>
void expect_count(const Field& field, const char* name, const Shape& shape, std::int64_t count) {
  if (field.size() != count)
    fail(fmt::format("{} holds {} values, expected {} for shape {}", name, field.size(), count,
                     shape_string(shape)));
}

/// bool is a byte that is 0 or 1; a file may hold anything.
Tensor normalised_bools(const Shape& shape, const std::byte* data) {
  Tensor tensor(DType::boolean, shape);
  auto* out = static_cast<std::uint8_t*>(tensor.raw());
  std::transform(data, data + tensor.count(), out,
                 [](std::byte b) { return static_cast<std::uint8_t>(b != std::byte{0}); });
  return tensor;
}

Tensor view_or_copy(DType dtype, const Shape& shape, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner) {
  if (dtype == DType::boolean) return normalised_bools(shape, bytes.data());
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % dtype_size(dtype) == 0 && owner != nullptr &&
      !bytes.empty())
    return Tensor::view(dtype, shape, const_cast<std::byte*>(bytes.data()),
                        std::move(owner));  // constants are never written
  Tensor tensor(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

/// Two values a byte, the first in the low half.
Tensor unpacked(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  Tensor tensor(dtype, shape);
  auto* out = static_cast<std::uint8_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const unsigned both = std::to_integer<unsigned>(bytes[static_cast<std::size_t>(i / 2)]);
    const unsigned half = i % 2 == 0 ? both & 15u : both >> 4;
    out[i] = static_cast<std::uint8_t>(dtype == DType::i8 && half > 7 ? half | 0xf0u : half);
  }
  return tensor;
}

Tensor from_typed_fields(const onnx::TensorProto& proto, DType dtype, const Shape& shape,
                         std::int64_t count) {
  switch (dtype) {
    case DType::f32:
      expect_count(proto.float_data(), "float_data", shape, count);
      return narrowed<float>(dtype, shape, proto.float_data());
    case DType::f64:
      expect_count(proto.double_data(), "double_data", shape, count);
      return narrowed<double>(dtype, shape, proto.double_data());
    case DType::i64:
      expect_count(proto.int64_data(), "int64_data", shape, count);
      return narrowed<std::int64_t>(dtype, shape, proto.int64_data());
    case DType::u64:
      expect_count(proto.uint64_data(), "uint64_data", shape, count);
      return narrowed<std::uint64_t>(dtype, shape, proto.uint64_data());
    case DType::u32:
      expect_count(proto.uint64_data(), "uint64_data", shape, count);
      return narrowed<std::uint32_t>(dtype, shape, proto.uint64_data());
    default:
      break;
  }
  const auto& field = proto.int32_data();
  expect_count(field, "int32_data", shape, count);
  switch (dtype) {
    case DType::i32:
      return narrowed<std::int32_t>(dtype, shape, field);
    case DType::i16:
      return narrowed<std::int16_t>(dtype, shape, field);
    case DType::i8:
      return narrowed<std::int8_t>(dtype, shape, field);
    case DType::u8:
      return narrowed<std::uint8_t>(dtype, shape, field);
    case DType::boolean: {
      Tensor tensor(dtype, shape);
      std::transform(field.begin(), field.end(), tensor.data<bool>(), [](std::int32_t v) { return v != 0; });
      return tensor;
    }
    default:
      return narrowed<std::uint16_t>(dtype, shape, field);  // u16, f16, bf16
  }
}

}  // namespace

std::optional<DType> onnx_dtype(std::int32_t data_type) {
  if (data_type < 0 || static_cast<std::size_t>(data_type) >= kElementTypes.size()) return std::nullopt;
  return kElementTypes[static_cast<std::size_t>(data_type)].dtype;
}

bool is_four_bit(std::int32_t data_type) {
  const std::string name = onnx_dtype_name(data_type);
  return name == "INT4" || name == "UINT4";
}

std::string onnx_dtype_name(std::int32_t data_type) {
  if (data_type < 0 || static_cast<std::size_t>(data_type) >= kElementTypes.size())
    return "element type " + std::to_string(data_type);
  return std::string(kElementTypes[static_cast<std::size_t>(data_type)].name);
}

std::uint64_t checked_bytes(DType dtype, const Shape& shape, const LoadLimits& limits) {
  if (static_cast<std::int64_t>(shape.size()) > limits.max_rank)
    throw Error(ErrorCode::limit,
                fmt::format("has {} dimensions, at most {} are allowed", shape.size(), limits.max_rank));
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
  bool overflow = false;
  bool zero = false;
  // The other dimensions of an empty tensor count too: shape rules multiply them.
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail("has the negative dimension " + std::to_string(dim));
    zero = zero || dim == 0;
    overflow = overflow || __builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes);
  }
  if (overflow) fail("has shape " + shape_string(shape) + ", whose size overflows");
  if (bytes > limits.max_tensor_bytes)
    throw Error(ErrorCode::limit,
                fmt::format("has {} bytes, at most {} are allowed", bytes, limits.max_tensor_bytes));
  return zero ? 0 : static_cast<std::uint64_t>(bytes);
}

Tensor OnnxTensors::take(onnx::TensorProto& proto, const std::string& what) {
  try {
    return read(proto);
  } catch (const Error& error) {
    throw error.within(what);
  }
}

Tensor OnnxTensors::read(onnx::TensorProto& proto) {
  const std::optional<DType> dtype = onnx_dtype(proto.data_type());
  if (!dtype) throw NotSupported{"tensors of " + onnx_dtype_name(proto.data_type()) + " are not supported"};
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const std::uint64_t unpacked_bytes = checked_bytes(*dtype, shape, limits_);
  if (unpacked_bytes == 0) return Tensor(*dtype, shape);
  count(unpacked_bytes);
  const bool packed = is_four_bit(proto.data_type());
  const std::uint64_t bytes = packed ? (unpacked_bytes + 1) / 2 : unpacked_bytes;

  if (proto.data_location() == kExternal) {
    ExternalData::Piece piece = external_.read(proto, bytes);
    if (packed) return unpacked(*dtype, shape, piece.bytes);
    return view_or_copy(*dtype, shape, piece.bytes, std::move(piece.owner));
  }
  if (proto.payload_size() > 0) return read_payload(proto, *dtype, shape, bytes);
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != bytes)
      fail(fmt::format("raw_data holds {} bytes, expected {} for {} {}", proto.raw_data().size(), bytes,
                       dtype_name(*dtype), shape_string(shape)));
    if (packed) {
      const std::string& raw = proto.raw_data();
      return unpacked(*dtype, shape, {reinterpret_cast<const std::byte*>(raw.data()), raw.size()});
    }
    auto text = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
    const std::span<const std::byte> data(reinterpret_cast<const std::byte*>(text->data()), text->size());
    return view_or_copy(*dtype, shape, data, std::move(text));
  }
  if (packed) {  // a byte in each of the field's numbers
    expect_count(proto.int32_data(), "int32_data", shape, static_cast<std::int64_t>(bytes));
    std::vector<std::byte> data;
    for (const std::int32_t value : proto.int32_data()) data.push_back(static_cast<std::byte>(value & 255));
    return unpacked(*dtype, shape, data);
  }
  return from_typed_fields(proto, *dtype, shape, element_count(shape));
}

void OnnxTensors::count(std::uint64_t bytes) {
  taken_ += bytes;
  if (taken_ > static_cast<std::uint64_t>(limits_.max_total_bytes))
    throw Error(ErrorCode::limit,
                fmt::format("the model's tensors have more than {} bytes", limits_.max_total_bytes));
}

Tensor OnnxTensors::read_payload(const onnx::TensorProto& proto, DType dtype, const Shape& shape,
                                 std::uint64_t bytes) {
  const bool more = proto.has_raw_data() || proto.float_data_size() > 0 || proto.double_data_size() > 0;
  if (proto.payload_size() > 1 || more) fail("holds its data in several pieces, expected one");
  if (proto.payload(0) >= payloads_.size()) fail("is damaged");
  const OnnxPayload& payload = payloads_[static_cast<std::size_t>(proto.payload(0))];
  const char* name = payload.field == OnnxPayload::kRawData     ? "raw_data"
                     : payload.field == OnnxPayload::kFloatData ? "float_data"
                                                                : "double_data";
  const bool fits = payload.field == OnnxPayload::kRawData ||
                    dtype == (payload.field == OnnxPayload::kFloatData ? DType::f32 : DType::f64);
  if (!fits) fail(fmt::format("holds {} where its type is {}", name, dtype_name(dtype)));
  if (payload.bytes.size() != bytes)
    fail(fmt::format("{} holds {} bytes, expected {} for {} {}", name, payload.bytes.size(), bytes,
                     dtype_name(dtype), shape_string(shape)));
  Tensor tensor = view_or_copy(dtype, shape, payload.bytes, source_.owner);
  if (source_.mapped && tensor.raw() != payload.bytes.data()) release_pages(payload.bytes);
  return tensor;
}

}  // namespace saccade::import
