#include "import/onnx/order.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "saccade/error.h"

namespace saccade::import {

namespace {

/// Adds to `names` what the graphs inside `node` use without making it: names of the graph around.
void collect_captured(const onnx::NodeProto& node, std::set<std::string>& names) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const onnx::GraphProto& graph = attribute.g();
    std::unordered_set<std::string> made;
    for (const auto& input : graph.input()) made.insert(input.name());
    for (const auto& initializer : graph.initializer()) made.insert(initializer.name());
    for (const auto& inner : graph.node()) made.insert(inner.output().begin(), inner.output().end());
    std::set<std::string> used;
    for (const auto& inner : graph.node()) {
      used.insert(inner.input().begin(), inner.input().end());
      collect_captured(inner, used);
    }
    for (const auto& output : graph.output()) used.insert(output.name());
    for (const std::string& name : used)
      if (!made.contains(name)) names.insert(name);
  }
}

std::set<std::string> names_read(const onnx::NodeProto& node) {
  std::set<std::string> names(node.input().begin(), node.input().end());
  collect_captured(node, names);
  names.erase("");
  return names;
}

}  // namespace

std::string describe(const onnx::NodeProto& node) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
  return "node '" + name + "' (" + (node.domain().empty() ? "" : node.domain() + "::") + node.op_type() + ")";
}

std::vector<std::size_t> topological_order(const OnnxNodes& nodes,
                                           const std::function<bool(const std::string&)>& is_known,
                                           const std::function<bool(const std::string&)>& is_taken) {
  const auto count = static_cast<std::size_t>(nodes.size());
  const auto node = [&](std::size_t i) -> const onnx::NodeProto& { return nodes.Get(static_cast<int>(i)); };
  std::unordered_map<std::string, std::size_t> maker;
  for (std::size_t i = 0; i < count; ++i)
    for (const std::string& name : node(i).output()) {
      if (name.empty()) continue;
      if (is_taken(name))
        throw Error(ErrorCode::invalid_model,
                    describe(node(i)) + " makes '" + name + "', which is already an input or initialiser");
      if (const auto [other, fresh] = maker.emplace(name, i); !fresh)
        throw Error(ErrorCode::invalid_model,
                    describe(node(i)) + " makes '" + name + "', as does " + describe(node(other->second)));
    }

  std::vector<std::vector<std::size_t>> readers(count);
  std::vector<std::size_t> waiting(count, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (const std::string& name : names_read(node(i))) {
      if (const auto made_by = maker.find(name); made_by != maker.end()) {
        readers[made_by->second].push_back(i);
        ++waiting[i];
      } else if (!is_known(name)) {
        throw Error(ErrorCode::invalid_model,
                    describe(node(i)) + " reads '" + name + "', which nothing in the model makes");
      }
    }

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const std::size_t reader : readers[i])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (order.size() == count) return order;
  for (std::size_t i = 0; i < count; ++i)
    if (waiting[i] != 0)
      throw Error(ErrorCode::invalid_model, describe(node(i)) + " is part of a cycle, or reads from one");
  return order;
}

}  // namespace saccade::import
