// Runs a graph over the slices of sequences. Inputs: `states` values that go from one slice to the next,
// `sequences` tensors that are sliced along their axes, and what the body takes besides. The body takes
// states, slices and the rest, and gives the next states and values that are stacked along the output axes.
// `batched`: states and sequences have a leading dimension whose entries are scanned on their own (axes do
// not count it).
#include "ops/indexing.h"
#include "ops/subgraph.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"body", AttributeKind::graph, true},           {"states", AttributeKind::integer, true},
    {"sequences", AttributeKind::integer, true},    {"input_axes", AttributeKind::integers},
    {"input_directions", AttributeKind::integers},  {"output_axes", AttributeKind::integers},
    {"output_directions", AttributeKind::integers}, {"batched", AttributeKind::integer}};

struct Layout {
  const ir::Graph& body;
  std::size_t states, sequences, stacked;
  bool batched;
  std::vector<std::size_t> axes;  ///< of the sequences, without the batch
  std::int64_t length = 0;
  std::int64_t batch = 1;
};

std::int64_t entry(const ir::Node& node, const char* attribute, std::size_t i) {
  const std::vector<std::int64_t> list = node.integers(attribute);
  return i < list.size() ? list[i] : 0;
}

Shape without_batch(const Shape& shape, bool batched) {
  return batched ? Shape(shape.begin() + 1, shape.end()) : shape;
}

Layout layout_of(const NodeView& context) {
  const ir::Node& node = context.node();
  const std::int64_t states = node.integer("states", 0), sequences = node.integer("sequences", 0);
  const ir::Graph& body = subgraph(context, "body", context.input_count());
  if (states < 0 || sequences < 1 ||
      static_cast<std::size_t>(states) + static_cast<std::size_t>(sequences) > context.input_count() ||
      body.outputs.size() < static_cast<std::size_t>(states))
    context.fail("the body does not fit " + std::to_string(states) + " states and " +
                 std::to_string(sequences) + " sequences");
  Layout layout{body, static_cast<std::size_t>(states), static_cast<std::size_t>(sequences),
                0,    node.integer("batched", 0) != 0,  {}};
  layout.stacked = body.outputs.size() - layout.states;
  if (node.outputs.size() > body.outputs.size()) context.fail("has more outputs than the body gives");
  if (layout.batched) {
    for (std::size_t i = 0; i < layout.states + layout.sequences; ++i) {
      if (context.rank(i) == 0) context.mismatch("input " + std::to_string(i) + " has no batch");
      if (i == 0) layout.batch = context.shape(0)[0];
      if (context.shape(i)[0] != layout.batch) context.mismatch("the batches of the inputs differ");
    }
  }
  for (std::size_t i = 0; i < layout.sequences; ++i) {
    const Shape shape = without_batch(context.shape(layout.states + i), layout.batched);
    layout.axes.push_back(normalize_axis(context, entry(node, "input_axes", i), shape.size()));
    const std::int64_t length = shape[layout.axes.back()];
    if (i > 0 && length != layout.length)
      context.mismatch("the sequences have lengths " + std::to_string(layout.length) + " and " +
                       std::to_string(length));
    layout.length = length;
  }
  return layout;
}

std::vector<TensorType> body_types(const NodeView& context, const Layout& layout) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    TensorType type = context.type(i);
    if (i < layout.states + layout.sequences) type.shape = without_batch(type.shape, layout.batched);
    if (i >= layout.states && i < layout.states + layout.sequences)
      type.shape.erase(type.shape.begin() + static_cast<std::ptrdiff_t>(layout.axes[i - layout.states]));
    types.push_back(std::move(type));
  }
  return types;
}

void infer(InferContext& context) {
  const Layout layout = layout_of(context);
  const std::vector<TensorType> types = body_types(context, layout);
  std::vector<const Tensor*> data(types.size(), nullptr);
  for (std::size_t i = layout.states + layout.sequences; i < types.size(); ++i) data[i] = context.constant(i);
  const std::optional<std::vector<TensorType>> given = infer_subgraph(context, layout.body, types, data);
  if (!given) throw UnknownShape{0};
  for (std::size_t i = 0; i < given->size(); ++i) {
    Shape shape = (*given)[i].shape;
    if (i < layout.states) {
      if (shape != types[i].shape) throw UnknownShape{0};
    } else {
      const std::size_t axis =
          normalize_axis(context, entry(context.node(), "output_axes", i - layout.states), shape.size() + 1);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), layout.length);
    }
    if (layout.batched) shape.insert(shape.begin(), layout.batch);
    context.output(i, (*given)[i].dtype, shape);
  }
}

/// One scan; gives all outputs of the body's kind.
std::vector<Tensor> scan(const EvalContext& context, const Layout& layout, std::vector<Tensor> inputs) {
  const ir::Node& node = context.node();
  const std::vector<Tensor> sequences(
      inputs.begin() + static_cast<std::ptrdiff_t>(layout.states),
      inputs.begin() + static_cast<std::ptrdiff_t>(layout.states + layout.sequences));
  std::vector<Stack> stacks;
  const auto given = infer_subgraph(context, layout.body, body_types(context, layout));
  for (std::size_t i = 0; i < layout.stacked; ++i)
    stacks.emplace_back(context, entry(node, "output_axes", i),
                        given ? (*given)[layout.states + i] : TensorType{});
  for (std::int64_t t = 0; t < layout.length; ++t) {
    check_iteration(context, t);
    for (std::size_t i = 0; i < layout.sequences; ++i) {
      const bool backwards = entry(node, "input_directions", i) != 0;
      inputs[layout.states + i] =
          slice_of(sequences[i], layout.axes[i], backwards ? layout.length - 1 - t : t);
    }
    std::vector<Tensor> results = run_subgraph(context, layout.body, inputs);
    for (std::size_t i = 0; i < layout.states; ++i) inputs[i] = std::move(results[i]);
    for (std::size_t i = 0; i < layout.stacked; ++i) stacks[i].push(std::move(results[layout.states + i]));
  }
  std::vector<Tensor> outputs(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(layout.states));
  for (std::size_t i = 0; i < layout.stacked; ++i)
    outputs.push_back(stacks[i].join(entry(node, "output_directions", i) != 0));
  return outputs;
}

void evaluate(EvalContext& context) {
  const Layout layout = layout_of(context);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.input(i));
  std::vector<Tensor> outputs;
  if (!layout.batched) {
    outputs = scan(context, layout, inputs);
  } else {
    std::vector<Stack> stacks;
    const auto given = infer_subgraph(context, layout.body, body_types(context, layout));
    for (std::size_t i = 0; i < layout.body.outputs.size(); ++i)
      stacks.emplace_back(context, 0, given ? (*given)[i] : TensorType{});
    for (std::int64_t n = 0; n < layout.batch; ++n) {
      check_iteration(context, n);
      std::vector<Tensor> one = inputs;
      for (std::size_t i = 0; i < layout.states + layout.sequences; ++i) one[i] = slice_of(inputs[i], 0, n);
      std::vector<Tensor> results = scan(context, layout, std::move(one));
      for (std::size_t i = 0; i < results.size(); ++i) stacks[i].push(std::move(results[i]));
    }
    for (const Stack& stack : stacks) outputs.push_back(stack.join());
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set(i, std::move(outputs[i]));
}

}  // namespace

constinit const OpDef kScan{.name = "Scan",
                            .attributes = kAttributes,
                            .max_inputs = -1,
                            .max_outputs = -1,
                            .traits = kRunsGraph | kNativeHalf | kDataDependentShape,
                            .infer = infer,
                            .evaluate = evaluate};

}  // namespace saccade::ops
