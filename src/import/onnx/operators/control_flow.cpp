// If, Loop and Scan: graphs inside nodes. What an inner graph takes from the graphs around it becomes further
// inputs of the node, behind the operator's own.
#include <fmt/format.h>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

std::shared_ptr<const ir::Graph> read_graph(OnnxOperator& op, std::string_view name,
                                            std::vector<ir::ValueId>& inputs,
                                            const std::vector<DType>& types = {}) {
  onnx::GraphProto* proto = op.graph(name);
  if (proto == nullptr) op.invalid(fmt::format("attribute '{}' is missing", name));
  std::vector<std::string> captured;
  std::shared_ptr<const ir::Graph> graph = op.read_subgraph(*proto, captured, types);
  for (const std::string& outer : captured) inputs.push_back(op.value_of(outer));
  return graph;
}

std::vector<DType> output_types(const ir::Graph& graph, std::size_t from) {
  std::vector<DType> types;
  for (std::size_t i = from; i < graph.outputs.size(); ++i)
    types.push_back(graph.value(graph.outputs[i]).dtype);
  return types;
}

void translate_if(OnnxOperator& op) {
  std::vector<ir::ValueId> inputs{op.input(0)};
  const auto then_branch = read_graph(op, "then_branch", inputs);
  const auto else_branch = read_graph(op, "else_branch", inputs);
  if (then_branch->outputs.size() != op.output_count() || else_branch->outputs.size() != op.output_count())
    op.invalid(fmt::format("its branches give {} and {} values, the node has {} outputs",
                           then_branch->outputs.size(), else_branch->outputs.size(), op.output_count()));
  op.finish_typed("If", std::move(inputs), {{"then_branch", then_branch}, {"else_branch", else_branch}},
                  output_types(*then_branch, 0));
}

void translate_loop(OnnxOperator& op) {
  if (op.input_count() < 2) op.invalid("has fewer than two inputs");
  std::vector<ir::ValueId> inputs = op.inputs();
  const auto states = static_cast<std::int64_t>(inputs.size()) - 2;
  std::vector<DType> types{DType::i64, DType::boolean};
  for (std::size_t i = 2; i < inputs.size(); ++i) types.push_back(op.dtype(op.input(i)));
  const auto body = read_graph(op, "body", inputs, types);
  if (body->inputs.size() != inputs.size())
    op.invalid(fmt::format("its body takes {} values, {} are given", body->inputs.size(), inputs.size()));
  op.finish_typed("Loop", std::move(inputs), {{"body", body}, {"states", states}}, output_types(*body, 1));
}

void translate_scan(OnnxOperator& op) {
  const bool batched = op.opset() < 9;
  std::vector<ir::ValueId> inputs = op.inputs();
  if (batched) {
    if (inputs.empty()) op.invalid("has no inputs");
    if (inputs[0] != ir::kNoValue) op.unsupported("sequence_lens is not supported");
    inputs.erase(inputs.begin());
  }
  const std::int64_t sequences = op.required_integer("num_scan_inputs");
  const std::int64_t states = static_cast<std::int64_t>(inputs.size()) - sequences;
  if (sequences < 1 || states < 0) op.invalid(fmt::format("attribute 'num_scan_inputs' is {}", sequences));
  ir::Attributes attributes{
      {"states", states}, {"sequences", sequences}, {"batched", std::int64_t{batched ? 1 : 0}}};
  if (batched) {
    attributes.emplace("input_directions", op.integers("directions"));
  } else {
    attributes.emplace("input_axes", op.integers("scan_input_axes"));
    attributes.emplace("input_directions", op.integers("scan_input_directions"));
    attributes.emplace("output_axes", op.integers("scan_output_axes"));
    attributes.emplace("output_directions", op.integers("scan_output_directions"));
  }
  std::vector<DType> types;
  for (const ir::ValueId id : inputs) {
    if (id == ir::kNoValue) op.invalid("a state or sequence is missing");
    types.push_back(op.dtype(id));
  }
  const auto body = read_graph(op, "body", inputs, types);
  if (body->inputs.size() != inputs.size())
    op.invalid(fmt::format("its body takes {} values, {} are given", body->inputs.size(), inputs.size()));
  attributes.emplace("body", body);
  op.finish_typed("Scan", std::move(inputs), std::move(attributes), output_types(*body, 0));
}

constexpr OnnxTranslation kTranslations[] = {
    {"If", translate_if},
    {"Loop", translate_loop},
    {"Scan", translate_scan, 8},
};

}  // namespace

std::span<const OnnxTranslation> control_flow_translations() { return kTranslations; }

}  // namespace saccade::import
