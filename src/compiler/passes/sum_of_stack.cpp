#include "compiler/passes/sum_of_stack.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

/// What a part of the stack was before it got the axis of size 1, where that is all that happened to it.
ValueId unstacked(const Edit& edit, ValueId part) {
  const std::optional<std::size_t> reshape = edit.producer(part, "Reshape");
  return reshape ? edit.graph().nodes[*reshape].inputs[0] : part;
}

bool rewrite(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node reduce = graph.nodes[index];
  if ((reduce.op != "ReduceSum" && reduce.op != "ReduceMean") || !reduce.has_input(1)) return false;
  const auto axes = integer_constant(graph, reduce.inputs[1]);
  const std::optional<std::size_t> source = edit.producer(reduce.inputs[0], "Concat");
  const Shape* result = known_shape(graph, reduce.outputs[0]);
  if (!axes || axes->size() != 1 || !source || !edit.uses().single(reduce.inputs[0]) || result == nullptr ||
      graph.value(reduce.inputs[0]).dtype != DType::f32)
    return false;
  const Node& concat = graph.nodes[*source];
  const Shape* stack = known_shape(graph, reduce.inputs[0]);
  if (stack == nullptr) return false;
  const auto rank = static_cast<std::int64_t>(stack->size());
  const auto positive = [&](std::int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const std::int64_t axis = positive((*axes)[0]);
  if (positive(concat.integer("axis", 0)) != axis || concat.inputs.size() < 2 ||
      (*stack)[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(concat.inputs.size()))
    return false;
  std::vector<ValueId> maps;
  for (const ValueId part : concat.inputs) {
    if (part == ir::kNoValue || (*known_shape(graph, part))[static_cast<std::size_t>(axis)] != 1)
      return false;
    maps.push_back(unstacked(edit, part));
  }
  const Shape* shape = known_shape(graph, maps[0]);
  if (shape == nullptr || element_count(*shape) == 0 ||
      std::any_of(maps.begin(), maps.end(), [&](ValueId map) {
        const Shape* other = known_shape(graph, map);
        return other == nullptr || *other != *shape;
      }))
    return false;

  const Shape out = *result;
  ValueId sum = maps[0];
  for (std::size_t i = 1; i < maps.size(); ++i)
    sum = edit.insert(index, Node{reduce.name + ":sum" + std::to_string(i), "Add", {sum, maps[i]}, {}, {}});
  if (reduce.op == "ReduceMean") {
    const ValueId each =
        add_floats(graph, reduce.name + ":each", {}, {1.0f / static_cast<float>(maps.size())});
    sum = edit.insert(index, Node{reduce.name + ":mean", "Mul", {sum, each}, {}, {}});
  }
  const ValueId to = add_integers(graph, reduce.name + ":shape", out);
  edit.replace(index, edit.insert(index, Node{reduce.name, "Reshape", {sum, to}, {}, {}}));
  edit.remove(*source);
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void sum_of_stack(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
