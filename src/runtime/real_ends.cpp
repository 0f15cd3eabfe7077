#include "runtime/real_ends.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/graph.h"
#include "runtime/model_impl.h"

namespace saccade::runtime {

namespace {

/// The dequantisation that alone reads an input, with a scale that is known; nullptr if there is none.
const ir::Node* dequantisation(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId input) {
  const auto& readers = uses.of(input);
  if (readers.empty() || uses.is_output(input)) return nullptr;
  for (const ir::Uses::Use& use : readers) {
    const ir::Node& node = graph.nodes[use.node];
    if (node.op != "DequantizeLinear" || use.slot != 0 || graph.constant_input(node, 1) == nullptr)
      return nullptr;
    if (graph.value(node.outputs[0]).dtype != DType::f32) return nullptr;
    if (node.inputs != graph.nodes[readers.front().node].inputs) return nullptr;
  }
  return &graph.nodes[readers.front().node];
}

/// A node with the scale, the zero point and the axis of `like`.
ir::Node counterpart(const char* op, const ir::Node& like, ir::ValueId from, std::string name) {
  ir::Node node{std::move(name), op, like.inputs, {}, like.attributes};
  node.inputs[0] = from;
  return node;
}

bool is_other_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

/// Integers that a float32 can stand for well enough to be rounded to.
bool is_plain_integer(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::u16 || dtype == DType::i16 ||
         dtype == DType::i32;
}

/// What results of that type become; the type itself where they may stay.
DType readable(DType dtype) {
  if (is_other_float(dtype)) return DType::f32;
  const bool stays = dtype == DType::f32 || dtype == DType::u8 || dtype == DType::i32 || dtype == DType::i64;
  return stays ? dtype : DType::i32;
}

ir::Node conversion(const char* op, std::string name, ir::ValueId from, ir::ValueId to) {
  ir::Node node{std::move(name), op, {from}, {to}, {}};
  return node;
}

ir::Node cast(std::string name, ir::ValueId from, ir::ValueId to, DType dtype) {
  ir::Node node = conversion("Cast", std::move(name), from, to);
  node.attributes.emplace("to", std::string(dtype_name(dtype)));
  return node;
}

/// A value like `id` under its name, which `id` gives up.
ir::ValueId take_place(ir::Graph& graph, ir::ValueId id, DType dtype) {
  ir::Value value = graph.value(id);
  value.dtype = dtype;
  value.constant.reset();
  graph.value(id).name += ":model";
  return graph.add_value(std::move(value));
}

}  // namespace

std::optional<ir::Graph> with_real_ends(const ir::Graph& model) {
  ir::Graph graph = model;
  const ir::Uses uses(graph);
  bool changed = false;
  std::vector<ir::Node> first;
  for (ir::ValueId& input : graph.inputs) {
    const ir::Node* node = dequantisation(graph, uses, input);
    if (node == nullptr) {
      const DType dtype = graph.value(input).dtype;
      if (!is_other_float(dtype) && !is_plain_integer(dtype)) continue;
      const ir::ValueId real = take_place(graph, input, DType::f32);
      ir::ValueId from = real;
      if (is_plain_integer(dtype)) {
        ir::Value rounded = graph.value(real);
        rounded.name += ":rounded";
        from = graph.add_value(std::move(rounded));
        first.push_back(conversion("Round", graph.value(from).name, real, from));
      }
      first.push_back(cast(graph.value(input).name, from, input, dtype));
      input = real;
      changed = true;
      continue;
    }
    ir::Value real = graph.value(input);
    real.dtype = DType::f32;
    graph.value(input).name += ":int";
    const ir::Node like = *node;
    const ir::ValueId id = graph.add_value(std::move(real));
    ir::Node quantise = counterpart("QuantizeLinear", like, id, graph.value(input).name);
    quantise.outputs = {input};
    first.push_back(std::move(quantise));
    input = id;
    changed = true;
  }
  const std::size_t count = graph.nodes.size();
  for (ir::ValueId& output : graph.outputs) {
    const std::int64_t index = uses.producer(output);
    if (index < 0 || static_cast<std::size_t>(index) >= count) continue;
    const ir::Node like = graph.nodes[static_cast<std::size_t>(index)];
    if (like.op != "QuantizeLinear" || graph.value(like.inputs[0]).dtype != DType::f32) {
      const DType dtype = graph.value(output).dtype;
      if (readable(dtype) == dtype) continue;
      const ir::ValueId result = take_place(graph, output, readable(dtype));
      graph.nodes.push_back(cast(graph.value(result).name + ":cast", output, result, readable(dtype)));
      output = result;
      changed = true;
      continue;
    }
    const std::string name = graph.value(output).name;
    graph.value(output).name += ":int";
    ir::Value real = graph.value(output);
    real.name = name;
    real.dtype = DType::f32;
    ir::Node dequantise = counterpart("DequantizeLinear", like, output, name + ":real");
    output = graph.add_value(std::move(real));
    dequantise.outputs = {output};
    graph.nodes.push_back(std::move(dequantise));
    changed = true;
  }
  if (!changed) return std::nullopt;
  graph.nodes.insert(graph.nodes.begin(), first.begin(), first.end());
  return graph;
}

Model with_real_ends(const Model& model) {
  if (!model.impl().needs_real_ends) return model;
  std::optional<ir::Graph> graph = with_real_ends(model.graph());
  if (!graph) return model;
  const std::string& identity = model.impl().identity;
  return make_model(std::move(*graph), identity.empty() ? "" : identity + " real ends", model.impl().cache);
}

}  // namespace saccade::runtime
