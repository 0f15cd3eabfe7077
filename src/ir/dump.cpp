#include "ir/dump.h"

#include <fmt/format.h>

namespace saccade::ir {

namespace {

std::string type_text(const Value& value) {
  return fmt::format("{}[{}]", dtype_name(value.dtype), value.shape ? shape_string(*value.shape) : "?");
}

std::string reference(const Graph& graph, ValueId id) {
  return id == kNoValue ? "_" : fmt::format("%{}'{}'", id, graph.value(id).name);
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return "[" + text + "]";
}

struct AttributeText {
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(float v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
  std::string operator()(const std::vector<std::int64_t>& v) const { return list(v); }
  std::string operator()(const std::vector<float>& v) const { return list(v); }
  std::string operator()(const std::vector<std::string>& v) const { return list(v); }
  std::string operator()(const Tensor& v) const {
    return fmt::format("{}[{}]", dtype_name(v.dtype()), shape_string(v.shape()));
  }
  std::string operator()(const std::shared_ptr<const Graph>& v) const {
    return fmt::format("graph of {} nodes", v ? v->nodes.size() : 0);
  }
};

}  // namespace

std::string dump(const Graph& graph) {
  std::string text = fmt::format("graph '{}'\n", graph.name);
  for (const ValueId id : graph.inputs)
    text += fmt::format("  input {}: {}\n", reference(graph, id), type_text(graph.value(id)));
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].constant)
      text += fmt::format("  constant {}: {}\n", reference(graph, static_cast<ValueId>(i)),
                          type_text(graph.values[i]));
  for (const Node& node : graph.nodes) {
    std::string outputs, inputs, attributes;
    for (const ValueId id : node.outputs) {
      if (!outputs.empty()) outputs += ", ";
      outputs += reference(graph, id);
      if (id != kNoValue) outputs += ": " + type_text(graph.value(id));
    }
    for (const ValueId id : node.inputs) inputs += (inputs.empty() ? "" : ", ") + reference(graph, id);
    for (const auto& [key, value] : node.attributes)
      attributes +=
          fmt::format("{}{}={}", attributes.empty() ? "" : ", ", key, std::visit(AttributeText{}, value));
    text += fmt::format("  {} = {}({}) {{{}}} '{}'\n", outputs, node.op, inputs, attributes, node.name);
  }
  for (const ValueId id : graph.outputs) text += fmt::format("  output {}\n", reference(graph, id));
  return text;
}

}  // namespace saccade::ir
