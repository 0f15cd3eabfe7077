#include "import/onnx/operator.h"

#include <fmt/format.h>

#include "saccade/error.h"

namespace saccade::import {

namespace {

// Values of AttributeProto.type.
constexpr int kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kFloats = 6, kInts = 7,
              kStrings = 8;

/// Files of the first IR versions leave `type` out: what is there tells it.
int type_of(const onnx::AttributeProto& attribute) {
  if (attribute.type() != 0) return attribute.type();
  if (attribute.has_f()) return kFloat;
  if (attribute.has_i()) return kInt;
  if (attribute.has_s()) return kString;
  if (attribute.has_t()) return kTensor;
  if (attribute.has_g()) return kGraph;
  if (attribute.floats_size() > 0) return kFloats;
  if (attribute.ints_size() > 0) return kInts;
  if (attribute.strings_size() > 0) return kStrings;
  return 0;
}

}  // namespace

OnnxOperator::OnnxOperator(onnx::NodeProto& node, std::int64_t opset, GraphBuilder& builder,
                           OnnxTensors& tensors, std::vector<ir::ValueId> inputs)
    : node_(node),
      opset_(opset),
      builder_(builder),
      tensors_(tensors),
      inputs_(std::move(inputs)),
      label_(node.name()) {
  for (int i = 0; label_.empty() && i < node.output_size(); ++i) label_ = node.output(i);
}

void OnnxOperator::invalid(const std::string& message) const {
  throw Error(ErrorCode::invalid_model, message);
}

ir::ValueId OnnxOperator::input(std::size_t i) const {
  if (!has_input(i)) invalid(fmt::format("input {} is missing", i));
  return inputs_[i];
}

const onnx::AttributeProto* OnnxOperator::find(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

onnx::AttributeProto* OnnxOperator::take(std::string_view name, int type, const char* wanted) {
  auto* attribute = const_cast<onnx::AttributeProto*>(find(name));  // node_ is not const
  if (attribute == nullptr) return nullptr;
  read_.emplace(name);
  const int have = type_of(*attribute);
  if (have != type && have != 0) invalid(fmt::format("attribute '{}' is not {}", name, wanted));
  return attribute;
}

std::int64_t OnnxOperator::integer(std::string_view name, std::int64_t otherwise) {
  const auto* attribute = take(name, kInt, "an integer");
  return attribute != nullptr ? attribute->i() : otherwise;
}

float OnnxOperator::real(std::string_view name, float otherwise) {
  const auto* attribute = take(name, kFloat, "a number");
  return attribute != nullptr ? attribute->f() : otherwise;
}

std::string OnnxOperator::text(std::string_view name, std::string_view otherwise) {
  const auto* attribute = take(name, kString, "a string");
  return attribute != nullptr ? attribute->s() : std::string(otherwise);
}

std::vector<std::int64_t> OnnxOperator::integers(std::string_view name) {
  const auto* attribute = take(name, kInts, "a list of integers");
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> OnnxOperator::reals(std::string_view name) {
  const auto* attribute = take(name, kFloats, "a list of numbers");
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> OnnxOperator::texts(std::string_view name) {
  const auto* attribute = take(name, kStrings, "a list of strings");
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::optional<Tensor> OnnxOperator::tensor(std::string_view name) {
  auto* attribute = take(name, kTensor, "a tensor");
  if (attribute == nullptr) return std::nullopt;
  return tensors_.take(*attribute->mutable_t(), fmt::format("attribute '{}'", name));
}

onnx::GraphProto* OnnxOperator::graph(std::string_view name) {
  auto* attribute = take(name, kGraph, "a graph");
  return attribute != nullptr ? attribute->mutable_g() : nullptr;
}

std::int64_t OnnxOperator::required_integer(std::string_view name) {
  if (!has(name)) invalid(fmt::format("attribute '{}' is missing", name));
  return integer(name, 0);
}

std::vector<std::int64_t> OnnxOperator::required_integers(std::string_view name) {
  if (!has(name)) invalid(fmt::format("attribute '{}' is missing", name));
  return integers(name);
}

std::string OnnxOperator::fresh_name(std::string_view suffix) {
  return fmt::format("{}/{}_{}", label_, suffix, fresh_++);
}

ir::ValueId OnnxOperator::emit(std::string_view op, std::vector<ir::ValueId> inputs,
                               ir::Attributes attributes) {
  return builder_.emit_one(fresh_name(op), op, std::move(inputs), std::move(attributes));
}

std::vector<ir::ValueId> OnnxOperator::emit_many(std::string_view op, std::vector<ir::ValueId> inputs,
                                                 ir::Attributes attributes, std::size_t outputs) {
  const std::string name = fresh_name(op);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(fmt::format("{}:{}", name, i));
  return builder_.emit(name, op, std::move(inputs), std::move(attributes), names);
}

void OnnxOperator::finish(std::string_view op, std::vector<ir::ValueId> inputs, ir::Attributes attributes,
                          std::size_t outputs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(outputs, output_count()); ++i) names.push_back(output_name(i));
  const std::vector<ir::ValueId> ids =
      builder_.emit(label_, op, std::move(inputs), std::move(attributes), names);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty()) results_.emplace_back(names[i], ids[i]);
}

void OnnxOperator::finish_typed(std::string_view op, std::vector<ir::ValueId> inputs,
                                ir::Attributes attributes, const std::vector<DType>& dtypes) {
  const std::size_t before = results_.size();
  finish(op, std::move(inputs), std::move(attributes), dtypes.size());
  for (std::size_t i = 0; i < dtypes.size() && i < output_count(); ++i)
    for (std::size_t r = before; r < results_.size(); ++r)
      if (results_[r].first == output_name(i)) builder_.graph.value(results_[r].second).dtype = dtypes[i];
}

void OnnxOperator::finish_values(const std::vector<ir::ValueId>& values) {
  for (std::size_t i = 0; i < std::min(values.size(), output_count()); ++i) {
    if (output_name(i).empty()) continue;
    const std::string name = output_name(i);
    results_.emplace_back(name, builder_.emit(label_, "Identity", {values[i]}, {}, {name}).front());
  }
}

void OnnxOperator::finish_constant(Tensor tensor) {
  if (wants_output(0))
    results_.emplace_back(output_name(0), builder_.graph.add_constant(output_name(0), std::move(tensor)));
}

void OnnxOperator::mark_four_bits() {
  for (const auto& [name, id] : results_) builder_.four_bit.insert(id);
}

void OnnxOperator::finish_reading() const {
  for (const onnx::AttributeProto& attribute : node_.attribute())
    if (!read_.contains(attribute.name()))
      unsupported(fmt::format("attribute '{}' is not known", attribute.name()));
  for (std::size_t i = 0; i < output_count(); ++i) {
    if (!wants_output(i)) continue;
    bool made = false;
    for (const auto& [name, id] : results_) made = made || name == output_name(i);
    if (!made) unsupported(fmt::format("output {} ('{}') is not supported", i, output_name(i)));
  }
}

ir::ValueId align_at_axis(OnnxOperator& op, ir::ValueId a, ir::ValueId b, std::int64_t axis) {
  const auto rank = [&](ir::ValueId value) { return op.emit("Shape", {op.emit("Shape", {value})}); };
  const ir::ValueId behind =
      op.emit("Sub", {op.emit("Sub", {rank(a), rank(b)}), op.integers_constant({axis})});
  const ir::ValueId ones =
      op.emit("ConstantOfShape", {behind}, {{"value", Tensor::of<std::int64_t>({1}, {1})}});
  const ir::ValueId shape = op.emit("Concat", {op.emit("Shape", {b}), ones}, {{"axis", std::int64_t{0}}});
  return op.emit("Reshape", {b, shape});
}

void translate_unchanged(OnnxOperator& op) { op.finish(op.op(), op.inputs(), {}, op.output_count()); }

void translate_with(OnnxOperator& op, std::initializer_list<AttributeDefault> attributes) {
  ir::Attributes known;
  for (const auto& [name, otherwise] : attributes) {
    if (const auto* integer = std::get_if<std::int64_t>(&otherwise))
      known.emplace(name, op.integer(name, *integer));
    if (const auto* real = std::get_if<float>(&otherwise)) known.emplace(name, op.real(name, *real));
    if (const auto* text = std::get_if<std::string_view>(&otherwise))
      known.emplace(name, op.text(name, *text));
  }
  op.finish(op.op(), op.inputs(), std::move(known), op.output_count());
}

}  // namespace saccade::import
