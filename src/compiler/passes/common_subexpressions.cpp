#include "compiler/passes/common_subexpressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

struct KeyText {
  std::optional<std::string> operator()(std::int64_t v) const { return fmt::format("i{}", v); }
  std::optional<std::string> operator()(float v) const { return fmt::format("f{}", v); }
  std::optional<std::string> operator()(const std::string& v) const {
    return fmt::format("s{}:{}", v.size(), v);
  }
  std::optional<std::string> operator()(const std::vector<std::int64_t>& v) const {
    return fmt::format("I{}", fmt::join(v, ","));
  }
  std::optional<std::string> operator()(const std::vector<float>& v) const {
    return fmt::format("F{}", fmt::join(v, ","));
  }
  std::optional<std::string> operator()(const std::vector<std::string>& v) const {
    std::string text = "S";
    for (const std::string& each : v) text += fmt::format("{}:{}", each.size(), each);
    return text;
  }
  std::optional<std::string> operator()(const Tensor&) const { return std::nullopt; }
  std::optional<std::string> operator()(const std::shared_ptr<const ir::Graph>&) const {
    return std::nullopt;
  }
};

// Small integer constants, such as axes and sizes, of which a model may have one for each reader.
std::optional<std::string> small_integers(const Tensor& tensor) {
  constexpr std::int64_t kMost = 8;
  if (tensor.dtype() != DType::i64 || tensor.count() > kMost) return std::nullopt;
  const std::int64_t* values = tensor.data<std::int64_t>();
  return fmt::format("{}:{}", fmt::join(tensor.shape(), "x"),
                     fmt::join(values, values + tensor.count(), ","));
}

// Equal for nodes that compute the same; nullopt where that cannot be told.
std::optional<std::string> key_of(const ir::Node& node) {
  const ops::OpDef* op = ops::find(node.op);
  if (op == nullptr || op->is(ops::kNondeterministic)) return std::nullopt;
  std::string key = fmt::format("{}({})>{}", node.op, fmt::join(node.inputs, ","), node.outputs.size());
  for (const auto& [name, value] : node.attributes) {
    const std::optional<std::string> text = std::visit(KeyText{}, value);
    if (!text) return std::nullopt;
    key += fmt::format(" {}={}", name, *text);
  }
  return key;
}

}  // namespace

void common_subexpressions(ir::Graph& graph) {
  std::map<std::string, std::size_t> seen;
  std::map<std::string, ir::ValueId> constants;
  std::vector<ir::ValueId> target(graph.values.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = static_cast<ir::ValueId>(i);
    const std::optional<Tensor>& constant = graph.values[i].constant;
    if (const std::optional<std::string> key = constant ? small_integers(*constant) : std::nullopt)
      target[i] = constants.emplace(*key, target[i]).first->second;
  }
  std::vector<ir::Node> kept;
  for (ir::Node& node : graph.nodes) {
    for (ir::ValueId& id : node.inputs)
      if (id != ir::kNoValue) id = target[static_cast<std::size_t>(id)];
    if (const std::optional<std::string> key = key_of(node)) {
      const auto [found, fresh] = seen.emplace(*key, kept.size());
      if (!fresh) {
        const ir::Node& first = kept[found->second];
        bool replaceable = true;
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
          if (node.outputs[i] != ir::kNoValue && first.outputs[i] == ir::kNoValue) replaceable = false;
        if (replaceable) {
          for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i] != ir::kNoValue)
              target[static_cast<std::size_t>(node.outputs[i])] = first.outputs[i];
          continue;
        }
      }
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  for (ir::ValueId& id : graph.outputs)
    if (!graph.value(id).constant) id = target[static_cast<std::size_t>(id)];
}

}  // namespace saccade::compiler
