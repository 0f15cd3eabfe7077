// Repeats a graph. Inputs: the trip count (absent: no limit), the condition (absent: true), `states` values
// that go from one iteration to the next, and what the body takes besides. The body takes the iteration's
// number, the condition, the states and the rest, and gives the next condition, the next states and values
// that are stacked.
#include <algorithm>
#include <limits>

#include "ops/indexing.h"
#include "ops/subgraph.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"body", AttributeKind::graph, true},
                                        {"states", AttributeKind::integer, true}};

struct Layout {
  const ir::Graph& body;
  std::size_t states;
  std::size_t stacked;
};

Layout layout_of(const NodeView& context) {
  const std::int64_t states = context.node().integer("states", 0);
  const ir::Graph& body = subgraph(context, "body", context.input_count());
  if (states < 0 || static_cast<std::size_t>(states) + 2 > context.input_count() ||
      body.outputs.size() < static_cast<std::size_t>(states) + 1)
    context.fail("the body does not give " + std::to_string(states) + " states");
  const std::size_t stacked = body.outputs.size() - 1 - static_cast<std::size_t>(states);
  if (context.node().outputs.size() > static_cast<std::size_t>(states) + stacked)
    context.fail("has more outputs than the body gives");
  return {body, static_cast<std::size_t>(states), stacked};
}

/// Types of the body's inputs in the first iteration.
std::vector<TensorType> first_types(const NodeView& context) {
  std::vector<TensorType> types{{DType::i64, {}}, {DType::boolean, {}}};
  for (std::size_t i = 2; i < context.input_count(); ++i) types.push_back(context.type(i));
  return types;
}

/// Whether the body leaves the condition as it was.
bool condition_stays(const ir::Graph& body) {
  ir::ValueId id = body.outputs[0];
  for (std::size_t i = body.nodes.size(); i-- > 0;)
    if (body.nodes[i].op == "Identity" && body.nodes[i].outputs[0] == id) id = body.nodes[i].inputs[0];
  if (id == body.inputs[1]) return true;
  const Tensor* constant = body.constant(id);
  return constant != nullptr && constant->dtype() == DType::boolean && constant->count() == 1 &&
         *constant->data<bool>();
}

void infer(InferContext& context) {
  const Layout layout = layout_of(context);
  const std::vector<TensorType> types = first_types(context);
  std::vector<const Tensor*> data(types.size(), nullptr);
  for (std::size_t i = 2 + layout.states; i < types.size(); ++i) data[i] = context.constant(i);
  const std::optional<std::vector<TensorType>> given = infer_subgraph(context, layout.body, types, data);
  if (!given) throw UnknownShape{0};
  for (std::size_t i = 0; i < layout.states; ++i)
    if ((*given)[1 + i].shape != types[2 + i].shape) throw UnknownShape{0};
  std::int64_t trips = -1;
  if (layout.stacked > 0) {
    const bool runs = !context.has(1) || (context.constant(1) != nullptr && condition(context, 1));
    if (!runs || !condition_stays(layout.body) || !context.has(0)) throw UnknownShape{0};
    trips = std::max<std::int64_t>(scalar_integer(context, 0), 0);
  }
  for (std::size_t i = 0; i < layout.states; ++i)
    context.output(i, (*given)[1 + i].dtype, (*given)[1 + i].shape);
  for (std::size_t i = layout.states; i < layout.states + layout.stacked; ++i) {
    Shape shape = (*given)[1 + i].shape;
    shape.insert(shape.begin(), trips);
    context.output(i, (*given)[1 + i].dtype, shape);
  }
}

void evaluate(EvalContext& context) {
  const Layout layout = layout_of(context);
  const std::int64_t limit =
      context.has(0) ? scalar_integer(context, 0) : std::numeric_limits<std::int64_t>::max();
  bool runs = context.has(1) ? condition(context, 1) : true;
  std::vector<Tensor> inputs(context.input_count());
  for (std::size_t i = 2; i < inputs.size(); ++i) inputs[i] = context.input(i);
  std::vector<Stack> stacks;
  const auto given = infer_subgraph(context, layout.body, first_types(context));
  for (std::size_t i = 0; i < layout.stacked; ++i) {
    // Without an iteration nothing tells dimensions that depend on data; they are 0 then.
    const ir::Value& value = layout.body.value(layout.body.outputs[1 + layout.states + i]);
    TensorType type{value.dtype, value.shape.value_or(Shape{})};
    for (std::int64_t& dim : type.shape) dim = std::max<std::int64_t>(dim, 0);
    stacks.emplace_back(context, 0, given ? (*given)[1 + layout.states + i] : type);
  }
  for (std::int64_t i = 0; i < limit && runs; ++i) {
    check_iteration(context, i);
    inputs[0] = Tensor::of<std::int64_t>({}, {i});
    inputs[1] = Tensor::of<bool>({}, {runs});
    std::vector<Tensor> results = run_subgraph(context, layout.body, inputs);
    if (results[0].dtype() != DType::boolean || results[0].count() != 1)
      context.fail("the body's condition is not one bool");
    runs = *results[0].data<bool>();
    for (std::size_t s = 0; s < layout.states; ++s) inputs[2 + s] = std::move(results[1 + s]);
    for (std::size_t s = 0; s < layout.stacked; ++s)
      stacks[s].push(std::move(results[1 + layout.states + s]));
  }
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set(i, i < layout.states ? inputs[2 + i] : stacks[i - layout.states].join());
}

}  // namespace

constinit const OpDef kLoop{.name = "Loop",
                            .attributes = kAttributes,
                            .min_inputs = 0,
                            .max_inputs = -1,
                            .max_outputs = -1,
                            .traits = kRunsGraph | kNativeHalf | kDataDependentShape,
                            .infer = infer,
                            .evaluate = evaluate};

}  // namespace saccade::ops
