#include "compiler/passes/canonicalise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "compiler/passes/canonical_windows.h"
#include "compiler/rewrite.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Replaces a node that does nothing by its input 0.
bool bypass(Edit& edit, std::size_t index) {
  edit.replace(index, edit.graph().nodes[index].inputs[0]);
  return true;
}

bool other_outputs_used(const Edit& edit, const Node& node) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNoValue &&
        (!edit.uses().of(node.outputs[i]).empty() || edit.uses().is_output(node.outputs[i])))
      return true;
  return false;
}

bool same_shape(const ir::Graph& graph, ValueId a, ValueId b) {
  const Shape* x = known_shape(graph, a);
  const Shape* y = known_shape(graph, b);
  return x != nullptr && y != nullptr && *x == *y;
}

bool all_equal(const ir::Graph& graph, const Node& node, std::size_t slot, std::int64_t value) {
  if (!node.has_input(slot)) return true;
  const std::optional<std::vector<std::int64_t>> values = integer_constant(graph, node.inputs[slot]);
  return values && std::all_of(values->begin(), values->end(), [&](std::int64_t v) { return v == value; });
}

bool resize_does_nothing(const ir::Graph& graph, const Node& node) {
  if (node.text("coordinate_transformation", "half_pixel") == "tf_crop_and_resize") return false;
  if (!node.has_input(2)) return true;  // sizes equal to the input's: every coordinate maps to itself
  const Tensor* scales = graph.constant_input(node, 2);
  if (scales == nullptr || scales->dtype() != DType::f32) return false;
  const std::span<const float> values = scales->values<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return v == 1.0f; });
}

bool drop_no_op(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.inputs.empty() || node.outputs.empty() || node.inputs[0] == ir::kNoValue ||
      node.outputs[0] == ir::kNoValue)
    return false;
  if (other_outputs_used(edit, node)) return false;
  if (node.op == "Identity" || node.op == "Dropout") return bypass(edit, index);
  if (node.op == "Concat" && node.inputs.size() == 1) return bypass(edit, index);
  if (node.op == "Split" && node.outputs.size() == 1) return bypass(edit, index);
  if (!same_shape(graph, node.inputs[0], node.outputs[0])) return false;
  if (graph.value(node.inputs[0]).dtype != graph.value(node.outputs[0]).dtype) return false;
  if (node.op == "Cast" || node.op == "Reshape" || node.op == "Expand" || node.op == "Tile" ||
      node.op == "Squeeze" || node.op == "Unsqueeze" || node.op == "Flatten")
    return bypass(edit, index);
  if (node.op == "Slice" && all_equal(graph, node, 4, 1)) return bypass(edit, index);
  if (node.op == "Pad" && all_equal(graph, node, 1, 0)) return bypass(edit, index);
  if (node.op == "Clip" && !node.has_input(1) && !node.has_input(2)) return bypass(edit, index);
  if (node.op == "Resize" && resize_does_nothing(graph, node)) return bypass(edit, index);
  if (node.op == "Transpose") {
    const std::vector<std::int64_t> perm = node.integers("perm");
    const bool identity = !perm.empty() && std::is_sorted(perm.begin(), perm.end());
    if (identity) return bypass(edit, index);
  }
  return false;
}

// x + 0, x - 0, x * 1, x / 1, x ^ 1.
bool drop_neutral(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  const bool sum = node.op == "Add" || node.op == "Sub";
  const bool product = node.op == "Mul" || node.op == "Div" || node.op == "Pow";
  if (!sum && !product) return false;
  const bool commutes = node.op == "Add" || node.op == "Mul";
  for (std::size_t slot = 0; slot < 2; ++slot) {
    if (slot == 0 && !commutes) continue;
    const Tensor* tensor = graph.constant(node.inputs[slot]);
    const ValueId other = node.inputs[1 - slot];
    if (tensor == nullptr || tensor->dtype() != DType::f32 || !same_shape(graph, other, node.outputs[0]))
      continue;
    const std::span<const float> values = tensor->values<float>();
    const float neutral = sum ? 0.0f : 1.0f;
    if (values.empty() || !std::all_of(values.begin(), values.end(), [&](float v) { return v == neutral; }))
      continue;
    edit.replace(index, other);
    return true;
  }
  return false;
}

// A quotient in front of Round decides between two integers, so it is left as exact as it is; and one in
// front of Sign, which is the scale of something quantised by its range.
bool is_rounded(const Edit& edit, ValueId id) {
  const std::vector<ir::Uses::Use>& uses = edit.uses().of(id);
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Uses::Use& use) {
    const std::string& op = edit.graph().nodes[use.node].op;
    return op == "Round" || op == "Sign";
  });
}

// x - c = x + (-c); x / c = x * (1 / c); x ^ 2 = x * x; x ^ 0.5 = sqrt(x).
bool rewrite_constant_operand(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if ((node.op != "Sub" && node.op != "Div" && node.op != "Pow") || node.inputs.size() != 2) return false;
  const Tensor* tensor = graph.constant(node.inputs[1]);
  if (tensor == nullptr || tensor->dtype() != DType::f32 || graph.value(node.inputs[0]).dtype != DType::f32)
    return false;
  if (node.op == "Pow") {
    if (tensor->count() != 1 || !same_shape(graph, node.inputs[0], node.outputs[0])) return false;
    const float exponent = tensor->data<float>()[0];
    if (exponent != 2.0f && exponent != 0.5f) return false;
    Node made{node.name, exponent == 2.0f ? "Mul" : "Sqrt", {node.inputs[0]}, {}, {}};
    if (exponent == 2.0f) made.inputs.push_back(node.inputs[0]);
    edit.replace(index, edit.insert(index, std::move(made)));
    return true;
  }
  if (node.op == "Div" && is_rounded(edit, node.outputs[0])) return false;
  std::vector<float> values;
  for (const float v : tensor->values<float>()) {
    const float changed = node.op == "Sub" ? -v : 1.0f / v;
    if (!std::isnormal(changed) && changed != 0.0f)
      return false;  // division by zero or by a denormal stays what it is
    values.push_back(changed);
  }
  const ValueId constant = add_floats(graph, node.name + ":constant", tensor->shape(), values);
  Node made{
      edit.graph().nodes[index].name, edit.graph().nodes[index].op == "Sub" ? "Add" : "Mul", {}, {}, {}};
  made.inputs = {edit.graph().nodes[index].inputs[0], constant};
  edit.replace(index, edit.insert(index, std::move(made)));
  return true;
}

// Everything that keeps row-major order is a Reshape with an explicit target, and two in a row are one.
bool reshape_explicitly(Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  const bool renames = node.op == "Squeeze" || node.op == "Unsqueeze" || node.op == "Flatten";
  if (!renames && node.op != "Reshape") return false;
  const Shape* shape = known_shape(edit.graph(), node.outputs[0]);
  if (shape == nullptr || element_count(*shape) == 0) return false;
  ValueId source = node.inputs[0];
  if (const std::optional<std::size_t> earlier = edit.producer(source, "Reshape"))
    source = edit.graph().nodes[*earlier].inputs[0];
  const bool spelled = !renames && integer_constant(edit.graph(), node.inputs[1]) == std::optional(*shape);
  if (spelled && source == node.inputs[0]) return false;
  const std::string name = node.name;
  const Shape target = *shape;
  edit.replace(index, insert_reshape(edit, index, name, source, target));
  return true;
}

// ReduceX(x, axes) with explicit, sorted axes and kept dimensions.
bool keep_reduced_dimensions(Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  if (!node.op.starts_with("Reduce")) return false;
  const Shape* in = known_shape(edit.graph(), node.inputs[0]);
  const Shape* out = known_shape(edit.graph(), node.outputs[0]);
  if (in == nullptr || out == nullptr) return false;
  std::vector<std::int64_t> axes;
  if (node.has_input(1)) {
    const std::optional<std::vector<std::int64_t>> given = integer_constant(edit.graph(), node.inputs[1]);
    if (!given) return false;
    axes = *given;
  }
  const auto rank = static_cast<std::int64_t>(in->size());
  if (axes.empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return false;
    axes.resize(in->size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += rank;
  std::sort(axes.begin(), axes.end());
  if (axes.empty()) return false;
  const bool kept = node.integer("keepdims", 1) != 0;
  if (kept && node.has_input(1) && integer_constant(edit.graph(), node.inputs[1]) == std::optional(axes))
    return false;
  Node made = node;
  const Shape shape = *out;
  made.outputs.clear();
  made.inputs = {node.inputs[0], add_integers(edit.graph(), node.name + ":axes", axes)};
  made.attributes["keepdims"] = std::int64_t{1};
  made.attributes.erase("noop_with_empty_axes");
  const std::string name = made.name;
  const ValueId reduced = edit.insert(index, std::move(made));
  edit.replace(index, kept ? reduced : insert_reshape(edit, index, name + ":reshape", reduced, shape));
  return true;
}

// Broadcasting aligns at the right: spell the leading ones out.
bool align_ranks(Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  const ops::OpDef* op = ops::find(node.op);
  if (op == nullptr || (!op->is(ops::kElementwiseBinary) && node.op != "Where" && node.op != "PRelu"))
    return false;
  const Shape* out = known_shape(edit.graph(), node.outputs[0]);
  if (out == nullptr || out->size() < 2) return false;
  const std::size_t rank = out->size();
  bool changed = false;
  for (std::size_t slot = 0; slot < edit.graph().nodes[index].inputs.size(); ++slot) {
    const ValueId id = edit.graph().nodes[index].inputs[slot];
    const Shape* shape = known_shape(edit.graph(), id);
    if (shape == nullptr || shape->size() >= rank || element_count(*shape) == 0) continue;
    Shape full(rank - shape->size(), 1);
    full.insert(full.end(), shape->begin(), shape->end());
    const std::string name = edit.graph().value(id).name;
    ValueId aligned = ir::kNoValue;
    if (const Tensor* tensor = edit.graph().constant(id))
      aligned = edit.graph().add_constant(name, tensor->reshaped(full));
    else
      aligned = insert_reshape(edit, index, name + ":aligned", id, full);
    edit.graph().nodes[index].inputs[slot] = aligned;
    changed = true;
  }
  if (changed) edit.mark_changed();
  return changed;
}

constexpr std::array<Rule, 8> kRules{
    drop_no_op,    drop_neutral,        rewrite_constant_operand, reshape_explicitly,
    explicit_pads, pools_to_reductions, keep_reduced_dimensions,  align_ranks};

// The order of a Transpose may count from the end; nothing behind this pass has to think of it.
void count_from_the_front(ir::Graph& graph) {
  for (ir::Node& node : graph.nodes) {
    if (node.op != "Transpose" || !node.has("perm")) continue;
    std::vector<std::int64_t> perm = node.integers("perm");
    for (std::int64_t& axis : perm)
      if (axis < 0) axis += static_cast<std::int64_t>(perm.size());
    node.attributes["perm"] = std::move(perm);
  }
}

}  // namespace

void canonicalise(ir::Graph& graph) {
  count_from_the_front(graph);
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
