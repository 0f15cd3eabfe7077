// One of two graphs, by a condition. Inputs behind the condition are what then_branch takes, then what
// else_branch takes.
#include "ops/subgraph.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"then_branch", AttributeKind::graph, true},
                                        {"else_branch", AttributeKind::graph, true}};

struct Branch {
  const ir::Graph& graph;
  std::size_t first;  ///< input of the node that is its first
};

Branch branch(const NodeView& context, bool then) {
  const std::size_t count = context.node().graph("then_branch")->inputs.size();
  if (count + 1 > context.input_count()) context.fail("then_branch takes more inputs than the node has");
  if (then) return {subgraph(context, "then_branch", count), 1};
  return {subgraph(context, "else_branch", context.input_count() - 1 - count), 1 + count};
}

std::optional<std::vector<TensorType>> infer_branch(const NodeView& context, bool then) {
  const Branch taken = branch(context, then);
  std::vector<TensorType> types;
  std::vector<const Tensor*> data;
  for (std::size_t i = 0; i < taken.graph.inputs.size(); ++i) {
    types.push_back(context.type(taken.first + i));
    data.push_back(context.constant(taken.first + i));
  }
  return infer_subgraph(context, taken.graph, types, data);
}

void infer(InferContext& context) {
  if (context.dtype(0) != DType::boolean || element_count(context.shape(0)) != 1)
    context.fail("the condition must be one bool");
  std::optional<std::vector<TensorType>> types;
  if (context.constant(0) != nullptr) {
    types = infer_branch(context, condition(context, 0));
  } else {
    types = infer_branch(context, true);
    const std::optional<std::vector<TensorType>> others = infer_branch(context, false);
    if (types && others && types->size() == others->size())
      for (std::size_t i = 0; i < types->size(); ++i)
        if ((*types)[i].shape != (*others)[i].shape) throw UnknownShape{0};
    if (!others) types.reset();
  }
  if (!types) throw UnknownShape{0};
  if (types->size() != context.node().outputs.size())
    context.fail("a branch has " + std::to_string(types->size()) + " outputs, the node has " +
                 std::to_string(context.node().outputs.size()));
  for (std::size_t i = 0; i < types->size(); ++i) context.output(i, (*types)[i].dtype, (*types)[i].shape);
}

void evaluate(EvalContext& context) {
  const Branch taken = branch(context, condition(context, 0));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < taken.graph.inputs.size(); ++i)
    inputs.push_back(context.input(taken.first + i));
  std::vector<Tensor> outputs = run_subgraph(context, taken.graph, inputs);
  if (outputs.size() != context.output_count())
    context.fail("the branch has " + std::to_string(outputs.size()) + " outputs, the node has " +
                 std::to_string(context.output_count()));
  for (std::size_t i = 0; i < outputs.size(); ++i) context.set(i, std::move(outputs[i]));
}

}  // namespace

constinit const OpDef kIf{.name = "If",
                          .attributes = kAttributes,
                          .max_inputs = -1,
                          .max_outputs = -1,
                          .traits = kRunsGraph | kNativeHalf,
                          .infer = infer,
                          .evaluate = evaluate};

}  // namespace saccade::ops
