#include "import/onnx_model.h"

#include "saccade/error.h"

namespace saccade::import {

namespace {

void declare(onnx::ValueInfoProto& info, const std::string& name, DType dtype, const Shape& shape) {
  info.set_name(name);
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_type(dtype));
  for (const std::int64_t dim : shape) {
    auto* d = type->mutable_shape()->add_dim();
    if (dim >= 0)
      d->set_dim_value(dim);
    else
      d->set_dim_param("n" + std::to_string(type->shape().dim_size()));
  }
}

}  // namespace

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1;
    case DType::u8:
      return 2;
    case DType::i8:
      return 3;
    case DType::u16:
      return 4;
    case DType::i16:
      return 5;
    case DType::i32:
      return 6;
    case DType::i64:
      return 7;
    case DType::boolean:
      return 9;
    case DType::f16:
      return 10;
    case DType::f64:
      return 11;
    case DType::u32:
      return 12;
    case DType::u64:
      return 13;
    case DType::bf16:
      return 16;
  }
  return 0;
}

OnnxModel::OnnxModel(std::int64_t opset, std::int64_t ir_version) {
  proto.set_ir_version(ir_version);
  proto.set_producer_name("test");
  proto.mutable_graph()->set_name("graph");
  if (opset > 0) proto.add_opset_import()->set_version(opset);
}

OnnxModel& OnnxModel::input(const std::string& name, DType dtype, const Shape& shape) {
  declare(*proto.mutable_graph()->add_input(), name, dtype, shape);
  return *this;
}

OnnxModel& OnnxModel::output(const std::string& name, DType dtype, const Shape& shape) {
  declare(*proto.mutable_graph()->add_output(), name, dtype, shape);
  return *this;
}

onnx::TensorProto& OnnxModel::initializer(const std::string& name, int data_type, const Shape& shape) {
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(data_type);
  for (const std::int64_t dim : shape) tensor->add_dims(dim);
  return *tensor;
}

OnnxModel& OnnxModel::floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  initializer(name, onnx_type(DType::f32), shape).set_raw_data(values.data(), values.size() * sizeof(float));
  return *this;
}

OnnxModel& OnnxModel::integers(const std::string& name, const Shape& shape,
                               const std::vector<std::int64_t>& values) {
  auto& tensor = initializer(name, onnx_type(DType::i64), shape);
  for (const std::int64_t v : values) tensor.add_int64_data(v);
  return *this;
}

OnnxModel::Node OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs, const std::string& name) {
  auto* n = proto.mutable_graph()->add_node();
  n->set_op_type(op);
  n->set_name(name);
  for (const std::string& input : inputs) n->add_input(input);
  for (const std::string& output : outputs) n->add_output(output);
  return Node(*n);
}

onnx::AttributeProto& OnnxModel::Node::attribute(const std::string& name, int type) {
  auto* a = proto.add_attribute();
  a->set_name(name);
  a->set_type(type);
  return *a;
}

OnnxModel::Node& OnnxModel::Node::set(const std::string& name, std::int64_t value) {
  attribute(name, 2).set_i(value);
  return *this;
}
OnnxModel::Node& OnnxModel::Node::set(const std::string& name, float value) {
  attribute(name, 1).set_f(value);
  return *this;
}
OnnxModel::Node& OnnxModel::Node::set(const std::string& name, const std::string& value) {
  attribute(name, 3).set_s(value);
  return *this;
}
OnnxModel::Node& OnnxModel::Node::set(const std::string& name, const std::vector<std::int64_t>& values) {
  auto& a = attribute(name, 7);
  for (const std::int64_t v : values) a.add_ints(v);
  return *this;
}
OnnxModel::Node& OnnxModel::Node::set(const std::string& name, const std::vector<float>& values) {
  auto& a = attribute(name, 6);
  for (const float v : values) a.add_floats(v);
  return *this;
}

Imported OnnxModel::read(const std::filesystem::path& path, const LoadLimits& limits) const {
  return read_bytes(bytes(), path, limits);
}

Imported read_bytes(std::string_view bytes, const std::filesystem::path& path, const LoadLimits& limits) {
  // A heap copy of exactly this size, so that the address sanitizer sees a read past the end.
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.size());
  std::transform(bytes.begin(), bytes.end(), copy->begin(), [](char c) { return static_cast<std::byte>(c); });
  copy->shrink_to_fit();
  return read_model(*copy, copy, path, limits);
}

Refusal refusal(std::string_view bytes, const std::filesystem::path& path, const LoadLimits& limits) {
  try {
    read_bytes(bytes, path, limits);
    return {};
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
}

std::string operators(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node& node : graph.nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

}  // namespace saccade::import
