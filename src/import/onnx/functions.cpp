#include "import/onnx/functions.h"

#include <fmt/format.h>

#include "saccade/error.h"

namespace saccade::import {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

std::string key(const std::string& domain, const std::string& name, const std::string& overload) {
  return canonical_domain(domain) + "::" + name + "::" + overload;
}

/// Writes the caller's names and attributes into copies of the body's nodes.
class Expansion {
 public:
  Expansion(const onnx::NodeProto& call, const onnx::FunctionProto& function, std::string label)
      : call_(call), function_(function), label_(std::move(label)) {
    names_.emplace("", "");
    for (int i = 0; i < function.input_size(); ++i)
      names_[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < call.output_size() && !call.output(i).empty()) names_[function.output(i)] = call.output(i);
  }

  void rewrite(onnx::NodeProto& node) const {
    node.set_name(label_ + "/" + (node.name().empty() ? node.op_type() : node.name()));
    for (std::string& name : *node.mutable_input()) name = renamed(name);
    for (std::string& name : *node.mutable_output()) name = renamed(name);
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *attributes.Add() = attribute;
        if (attribute.has_g()) rewrite(*attributes.rbegin()->mutable_g());
      } else if (const onnx::AttributeProto* given = argument(attribute.ref_attr_name())) {
        *attributes.Add() = *given;
        attributes.rbegin()->set_name(attribute.name());
      }  // else the operator's own default holds
    }
    node.mutable_attribute()->Swap(&attributes);
  }

 private:
  std::string renamed(const std::string& name) const {
    const auto known = names_.find(name);
    return known != names_.end() ? known->second : label_ + "/" + name;
  }

  void rewrite(onnx::GraphProto& graph) const {
    for (auto& info : *graph.mutable_input()) info.set_name(renamed(info.name()));
    for (auto& info : *graph.mutable_output()) info.set_name(renamed(info.name()));
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(renamed(tensor.name()));
    for (auto& node : *graph.mutable_node()) rewrite(node);
  }

  /// What the caller gives for an attribute of the function, else the function's default, else nothing.
  const onnx::AttributeProto* argument(const std::string& name) const {
    for (const onnx::AttributeProto& given : call_.attribute())
      if (given.name() == name) return &given;
    for (const onnx::AttributeProto& otherwise : function_.attribute_proto())
      if (otherwise.name() == name) return &otherwise;
    return nullptr;
  }

  const onnx::NodeProto& call_;
  const onnx::FunctionProto& function_;
  std::string label_;
  std::map<std::string, std::string> names_;
};

}  // namespace

std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetProto>& declared) {
  Opsets opsets;
  for (const auto& opset : declared) {
    const auto [known, fresh] = opsets.emplace(canonical_domain(opset.domain()), opset.version());
    if (!fresh && known->second != opset.version())
      fail(fmt::format("declares operator set '{}' twice, as {} and {}", opset.domain(), known->second,
                       opset.version()));
  }
  return opsets;
}

OnnxFunctions::OnnxFunctions(const onnx::ModelProto& model) {
  for (const onnx::FunctionProto& function : model.functions())
    if (!functions_.emplace(key(function.domain(), function.name(), function.overload()), &function).second)
      fail(fmt::format("has two functions named '{}::{}'", function.domain(), function.name()));
}

const onnx::FunctionProto* OnnxFunctions::find(const onnx::NodeProto& node) const {
  const auto found = functions_.find(key(node.domain(), node.op_type(), node.overload()));
  return found != functions_.end() ? found->second : nullptr;
}

std::vector<onnx::NodeProto> OnnxFunctions::expand(const onnx::NodeProto& call,
                                                   const onnx::FunctionProto& function,
                                                   const std::string& label) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    fail(fmt::format("has {} inputs and {} outputs, the function has {} and {}", call.input_size(),
                     call.output_size(), function.input_size(), function.output_size()));
  const Expansion expansion(call, function, label);
  std::vector<onnx::NodeProto> nodes(function.node().begin(), function.node().end());
  for (onnx::NodeProto& node : nodes) expansion.rewrite(node);
  return nodes;
}

}  // namespace saccade::import
