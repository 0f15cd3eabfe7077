#include "interpret/interpreter.h"

#include <algorithm>

#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::interpret {

namespace {

void check_input(const ir::Value& declared, const Tensor& given) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::shape_mismatch, "input '" + declared.name + "': " + what);
  };
  if (given.empty()) refuse("no data given");
  if (given.dtype() != declared.dtype)
    refuse(std::string("expected ") + dtype_name(declared.dtype) + ", got " + dtype_name(given.dtype()));
  if (!declared.shape) return;
  const Shape& expected = *declared.shape;
  const std::string shapes = "expected " + shape_string(expected) + ", got " + shape_string(given.shape());
  if (expected.size() != given.rank()) refuse("rank differs: " + shapes);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] >= 0 && expected[i] != given.dim(i))
      refuse("dimension " + std::to_string(i) + " differs: " + shapes);
}

/// How often each value is still to be read; graph outputs are kept to the end.
std::vector<std::size_t> count_reads(const ir::Graph& graph) {
  std::vector<std::size_t> reads(graph.values.size(), 0);
  const auto count = [&](ir::ValueId id) {
    if (id != ir::kNoValue) ++reads.at(static_cast<std::size_t>(id));
  };
  for (const ir::Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), count);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), count);
  return reads;
}

/// One execution of one graph.
class Run {
 public:
  explicit Run(const ir::Graph& graph, const Options& options)
      : graph_(graph),
        options_(options),
        budget_(graph.limits),
        values_(graph.values.size()),
        reads_(count_reads(graph)) {}

  std::vector<Tensor> execute(std::span<const Tensor> inputs) {
    bind(inputs);
    for (const ir::Node& node : graph_.nodes) step(node);
    std::vector<Tensor> outputs;
    for (const ir::ValueId id : graph_.outputs) outputs.push_back(value(id));
    return outputs;
  }

 private:
  void bind(std::span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs.size())
      throw Error(ErrorCode::shape_mismatch, "the graph has " + std::to_string(graph_.inputs.size()) +
                                                 " inputs, " + std::to_string(inputs.size()) + " were given");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check_input(graph_.value(graph_.inputs[i]), inputs[i]);
      keep(graph_.inputs[i], inputs[i]);
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i)
      if (graph_.values[i].constant) values_[i] = *graph_.values[i].constant;
  }

  void step(const ir::Node& node) {
    std::vector<const Tensor*> inputs;
    for (const ir::ValueId id : node.inputs) inputs.push_back(id == ir::kNoValue ? nullptr : &value(id));
    std::vector<Tensor> outputs = ops::evaluate_node(node, graph_, inputs, &budget_);
    if (options_.observe) options_.observe(node, outputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue && reads_.at(static_cast<std::size_t>(node.outputs[i])) > 0)
        keep(node.outputs[i], std::move(outputs.at(i)));
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue && --reads_[static_cast<std::size_t>(id)] == 0) drop(id);
  }

  void keep(ir::ValueId id, Tensor tensor) {
    budget_.hold(tensor);
    value(id) = std::move(tensor);
  }

  void drop(ir::ValueId id) {
    if (!graph_.value(id).constant) budget_.release(value(id));
    value(id) = Tensor();
  }

  Tensor& value(ir::ValueId id) { return values_.at(static_cast<std::size_t>(id)); }

  const ir::Graph& graph_;
  const Options& options_;
  ops::Budget budget_;
  std::vector<Tensor> values_;
  std::vector<std::size_t> reads_;
};

}  // namespace

std::vector<Tensor> run(const ir::Graph& graph, std::span<const Tensor> inputs, const Options& options) {
  return Run(graph, options).execute(inputs);
}

}  // namespace saccade::interpret
