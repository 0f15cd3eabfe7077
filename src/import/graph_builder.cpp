#include "import/graph_builder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

constexpr std::array kAllTypes = {DType::f32, DType::f16, DType::bf16,   DType::f64, DType::i8,
                                  DType::u8,  DType::i16, DType::u16,    DType::i32, DType::u32,
                                  DType::i64, DType::u64, DType::boolean};

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

template <class T>
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(tensor.count()));
  for (const T v : tensor.values<T>()) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      out.push_back(static_cast<double>(to_float(v)));
    else
      out.push_back(static_cast<double>(v));
  }
  return out;
}

template <class T>
std::vector<std::int64_t> integer_values(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  std::vector<std::int64_t> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](T v) { return static_cast<std::int64_t>(v); });
  return out;
}

/// Out-of-range values saturate, NaN becomes 0: a cast of a constant must not be undefined behaviour.
template <class T>
T saturate(double v) {
  if constexpr (std::is_same_v<T, bool>) return v != 0;
  if (v != v) return T{0};
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (v <= kLow) return std::numeric_limits<T>::lowest();
  if (v >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

template <class T>
void store(Tensor& tensor, const std::vector<double>& values) {
  std::transform(values.begin(), values.end(), tensor.data<T>(), [](double v) {
    if constexpr (std::is_same_v<T, Half>)
      return to_half(static_cast<float>(v));
    else if constexpr (std::is_same_v<T, BFloat16>)
      return to_bfloat16(static_cast<float>(v));
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(v);
    else
      return saturate<T>(v);
  });
}

Tensor from_doubles(DType dtype, Shape shape, const std::vector<double>& values) {
  Tensor tensor(dtype, std::move(shape));
  switch (dtype) {
    case DType::f32:
      store<float>(tensor, values);
      break;
    case DType::f16:
      store<Half>(tensor, values);
      break;
    case DType::bf16:
      store<BFloat16>(tensor, values);
      break;
    case DType::f64:
      store<double>(tensor, values);
      break;
    case DType::i8:
      store<std::int8_t>(tensor, values);
      break;
    case DType::u8:
      store<std::uint8_t>(tensor, values);
      break;
    case DType::i16:
      store<std::int16_t>(tensor, values);
      break;
    case DType::u16:
      store<std::uint16_t>(tensor, values);
      break;
    case DType::i32:
      store<std::int32_t>(tensor, values);
      break;
    case DType::u32:
      store<std::uint32_t>(tensor, values);
      break;
    case DType::i64:
      store<std::int64_t>(tensor, values);
      break;
    case DType::u64:
      store<std::uint64_t>(tensor, values);
      break;
    case DType::boolean:
      store<bool>(tensor, values);
      break;
  }
  return tensor;
}

}  // namespace

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DType dtype : kAllTypes)
    if (name == dtype_name(dtype)) return dtype;
  return std::nullopt;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return numbers<float>(tensor);
    case DType::f16:
      return numbers<Half>(tensor);
    case DType::bf16:
      return numbers<BFloat16>(tensor);
    case DType::f64:
      return numbers<double>(tensor);
    case DType::i8:
      return numbers<std::int8_t>(tensor);
    case DType::u8:
      return numbers<std::uint8_t>(tensor);
    case DType::i16:
      return numbers<std::int16_t>(tensor);
    case DType::u16:
      return numbers<std::uint16_t>(tensor);
    case DType::i32:
      return numbers<std::int32_t>(tensor);
    case DType::u32:
      return numbers<std::uint32_t>(tensor);
    case DType::i64:
      return numbers<std::int64_t>(tensor);
    case DType::u64:
      return numbers<std::uint64_t>(tensor);
    case DType::boolean:
      return numbers<bool>(tensor);
  }
  return {};
}

std::vector<std::int64_t> to_integers(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::i8:
      return integer_values<std::int8_t>(tensor);
    case DType::u8:
      return integer_values<std::uint8_t>(tensor);
    case DType::i16:
      return integer_values<std::int16_t>(tensor);
    case DType::u16:
      return integer_values<std::uint16_t>(tensor);
    case DType::i32:
      return integer_values<std::int32_t>(tensor);
    case DType::u32:
      return integer_values<std::uint32_t>(tensor);
    case DType::i64:
      return integer_values<std::int64_t>(tensor);
    case DType::u64:
      return integer_values<std::uint64_t>(tensor);
    case DType::boolean:
      return integer_values<bool>(tensor);
    default:
      throw Error(ErrorCode::invalid_model, std::string("a constant of ") + dtype_name(tensor.dtype()) +
                                                " stands where integers are expected");
  }
}

Tensor cast_tensor(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (tensor.dtype() == DType::f16 && dtype == DType::f32) {
    Tensor out(DType::f32, tensor.shape());
    const auto values = tensor.values<Half>();
    std::transform(values.begin(), values.end(), out.data<float>(), [](Half h) { return to_float(h); });
    return out;
  }
  return from_doubles(dtype, tensor.shape(), to_doubles(tensor));
}

Tensor transpose_tensor(const Tensor& tensor, const std::vector<std::int64_t>& perm) {
  const std::size_t rank = tensor.rank();
  Shape shape(rank);
  std::vector<std::int64_t> stride(rank, 1);  // of the source, by output axis
  for (std::size_t i = 0; i < rank; ++i) {
    const auto from = static_cast<std::size_t>(perm.at(i));
    shape[i] = tensor.dim(from);
    for (std::size_t k = from + 1; k < rank; ++k) stride[i] *= tensor.dim(k);
  }
  Tensor out(tensor.dtype(), shape);
  const std::size_t size = dtype_size(tensor.dtype());
  const auto* src = static_cast<const std::byte*>(tensor.raw());
  auto* dst = static_cast<std::byte*>(out.raw());
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < out.count(); ++i, dst += size) {
    std::memcpy(dst, src + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      offset += stride[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

DType result_dtype(const ir::Graph& graph, const ir::Node& node, std::size_t index) {
  const auto input = [&](std::size_t i) {
    return node.has_input(i) ? graph.value(node.inputs[i]).dtype : DType::f32;
  };
  const std::string_view op = node.op;
  if (is_one_of(op, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not",
                     "IsNaN", "IsInf"}))
    return DType::boolean;
  if (is_one_of(op, {"Shape", "Size", "ArgMax", "ArgMin", "NonZero", "NonMaxSuppression"})) return DType::i64;
  if (is_one_of(op, {"TopK", "MaxPool"}) && index == 1) return DType::i64;
  if (op == "Unique" && index > 0) return DType::i64;
  if (is_one_of(op, {"CosineWindow", "MelWeightMatrix", "EyeLike", "RandomNormal", "RandomUniform"}) &&
      node.has("dtype"))
    return parse_dtype(node.text("dtype", "float32")).value_or(DType::f32);
  if (op == "LayerNormalization" && index > 0) return DType::f32;
  if (op == "TfIdfVectorizer") return DType::f32;
  if (op == "RMSNormalization") return input(1);
  if (op == "Attention" && (index == 1 || index == 2)) return input(index);
  if (op == "Cast" || op == "BitCast") return parse_dtype(node.text("to", "float32")).value_or(DType::f32);
  if (op == "ConstantOfShape") {
    const Tensor* value = node.tensor("value");
    return value != nullptr ? value->dtype() : DType::f32;
  }
  if (op == "Where") return input(1);
  if (op == "OneHot") return input(2);
  if (op == "QuantizeLinear") return node.has_input(2) ? input(2) : DType::u8;
  if (op == "DequantizeLinear") return input(1);
  if (op == "QLinearConv" || op == "QLinearMatMul") return input(7);
  if (op == "ConvInteger" || op == "MatMulInteger") return DType::i32;
  if (op == "DynamicQuantizeLinear") return index == 1 ? DType::f32 : DType::u8;
  return input(0);
}

ir::ValueId GraphBuilder::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  return graph.add_constant(name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                           std::span<const std::int64_t>(values)));
}

ir::ValueId GraphBuilder::integer(const std::string& name, std::int64_t value) {
  return graph.add_constant(name, Tensor::of<std::int64_t>({}, {value}));
}

ir::ValueId GraphBuilder::reals(const std::string& name, DType dtype, Shape shape,
                                const std::vector<double>& values) {
  return graph.add_constant(name, from_doubles(dtype, std::move(shape), values));
}

std::vector<ir::ValueId> GraphBuilder::emit(const std::string& node_name, std::string_view op,
                                            std::vector<ir::ValueId> inputs, ir::Attributes attributes,
                                            const std::vector<std::string>& output_names) {
  ir::Node node;
  node.name = node_name;
  node.op = op;
  node.inputs = std::move(inputs);
  while (!node.inputs.empty() && node.inputs.back() == ir::kNoValue) node.inputs.pop_back();
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    ir::ValueId id = ir::kNoValue;
    if (!output_names[i].empty()) {
      ir::Value value;
      value.name = output_names[i];
      value.dtype = result_dtype(graph, node, i);
      id = graph.add_value(std::move(value));
    }
    node.outputs.push_back(id);
  }
  while (node.outputs.size() > 1 && node.outputs.back() == ir::kNoValue) node.outputs.pop_back();
  std::vector<ir::ValueId> outputs = node.outputs;
  outputs.resize(output_names.size(), ir::kNoValue);
  graph.nodes.push_back(std::move(node));
  return outputs;
}

ir::ValueId GraphBuilder::emit_one(const std::string& name, std::string_view op,
                                   std::vector<ir::ValueId> inputs, ir::Attributes attributes) {
  return emit(name, op, std::move(inputs), std::move(attributes), {name}).front();
}

}  // namespace saccade::import
