#include "compiler/passes/recognise_activations.h"

#include <array>
#include <cmath>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// x and c of op(x, c) or op(c, x), with c a scalar constant that leaves the shape alone.
struct WithScalar {
  ValueId x;
  float c;
};

std::optional<WithScalar> with_scalar(const ir::Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<float> c = scalar_constant(graph, node.inputs[slot]);
    const Shape* in = known_shape(graph, node.inputs[1 - slot]);
    const Shape* out = known_shape(graph, node.outputs[0]);
    if (c && in != nullptr && out != nullptr && *in == *out &&
        graph.value(node.inputs[1 - slot]).dtype == DType::f32)
      return WithScalar{node.inputs[1 - slot], *c};
  }
  return std::nullopt;
}

// The producer of `id` by an operator `op` if nothing else reads `id`.
std::optional<std::size_t> sole_producer(const Edit& edit, ValueId id, std::string_view op) {
  const std::optional<std::size_t> producer = edit.producer(id, op);
  if (!producer || !edit.uses().single(id)) return std::nullopt;
  return producer;
}

bool near(float a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b) + 1e-12; }

struct Bounds {
  std::optional<float> low, high;
};

std::optional<Bounds> bounds_of(const ir::Graph& graph, const Node& clip) {
  Bounds bounds;
  if (clip.has_input(1)) {
    bounds.low = scalar_constant(graph, clip.inputs[1]);
    if (!bounds.low) return std::nullopt;
  }
  if (clip.has_input(2)) {
    bounds.high = scalar_constant(graph, clip.inputs[2]);
    if (!bounds.high) return std::nullopt;
  }
  return bounds;
}

ValueId scalar(ir::Graph& graph, const std::string& name, float value) {
  return add_floats(graph, name, {}, {value});
}

// Max and Min with a scalar are one-sided clips; two clips in a row with low <= high are one.
bool clips(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op == "Max" || node.op == "Min") {
    const std::optional<WithScalar> match = with_scalar(graph, node);
    if (!match || std::isnan(match->c)) return false;
    Node made{node.name, "Clip", {match->x, ir::kNoValue, ir::kNoValue}, {}, {}};
    made.inputs[node.op == "Max" ? 1 : 2] = scalar(graph, made.name + ":bound", match->c);
    if (graph.nodes[index].op == "Max") made.inputs.pop_back();
    edit.replace(index, edit.insert(index, std::move(made)));
    return true;
  }
  if (node.op != "Clip" || graph.value(node.inputs[0]).dtype != DType::f32) return false;
  const std::optional<Bounds> outer = bounds_of(graph, node);
  if (!outer) return false;
  if (outer->low && *outer->low == 0.0f && !outer->high) {
    edit.replace(index, edit.insert(index, Node{node.name, "Relu", {node.inputs[0]}, {}, {}}));
    return true;
  }
  const std::optional<std::size_t> earlier = sole_producer(edit, node.inputs[0], "Clip");
  if (!earlier) return false;
  const std::optional<Bounds> inner = bounds_of(graph, graph.nodes[*earlier]);
  if (!inner || (outer->low && inner->low) || (outer->high && inner->high)) return false;
  const float low = outer->low ? *outer->low : inner->low ? *inner->low : 0;
  const float high = outer->high ? *outer->high : inner->high ? *inner->high : 0;
  if ((!outer->low && !inner->low) || (!outer->high && !inner->high) || !(low <= high)) return false;
  const std::string name = node.name;
  const ValueId x = graph.nodes[*earlier].inputs[0];
  const ValueId low_id = scalar(graph, name + ":low", low);
  const ValueId high_id = scalar(graph, name + ":high", high);
  edit.replace(index, edit.insert(index, Node{name, "Clip", {x, low_id, high_id}, {}, {}}));
  edit.remove(*earlier);
  return true;
}

// clip(x + a, 0, b) * (1 / b) = clip(x / b + a / b, 0, 1)
bool hard_sigmoid(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Mul") return false;
  const std::optional<WithScalar> product = with_scalar(graph, node);
  if (!product) return false;
  const std::optional<std::size_t> clip = sole_producer(edit, product->x, "Clip");
  if (!clip) return false;
  const std::optional<Bounds> bounds = bounds_of(graph, graph.nodes[*clip]);
  if (!bounds || !bounds->low || !bounds->high || *bounds->low != 0.0f ||
      !near(product->c, 1.0 / *bounds->high))
    return false;
  const std::optional<std::size_t> add = sole_producer(edit, graph.nodes[*clip].inputs[0], "Add");
  if (!add) return false;
  const std::optional<WithScalar> sum = with_scalar(graph, graph.nodes[*add]);
  if (!sum) return false;
  Node made{node.name, "HardSigmoid", {sum->x}, {}, {}};
  made.attributes["alpha"] = product->c;
  made.attributes["beta"] = sum->c * product->c;
  edit.replace(index, edit.insert(index, std::move(made)));
  edit.remove(*clip);
  edit.remove(*add);
  return true;
}

bool is_swish_gate(const Node& node) {
  return near(node.real("alpha", 0.2f), 1.0 / 6.0) && near(node.real("beta", 0.5f), 0.5);
}

// x * hard_sigmoid(x), x * sigmoid(x)
bool gated(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Mul" || node.inputs.size() != 2) return false;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    for (const std::string_view op : {"HardSigmoid", "Sigmoid"}) {
      const std::optional<std::size_t> gate = sole_producer(edit, node.inputs[slot], op);
      if (!gate || graph.nodes[*gate].inputs[0] != node.inputs[1 - slot]) continue;
      if (op == "HardSigmoid" && !is_swish_gate(graph.nodes[*gate])) continue;
      const ValueId x = node.inputs[1 - slot];
      edit.replace(index,
                   edit.insert(index, Node{node.name, op == "Sigmoid" ? "Silu" : "HardSwish", {x}, {}, {}}));
      edit.remove(*gate);
      return true;
    }
  }
  return false;
}

// (x * clip(x + 3, 0, 6)) / 6
bool hard_swish_product_first(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Mul") return false;
  const std::optional<WithScalar> scaled = with_scalar(graph, node);
  if (!scaled || !near(scaled->c, 1.0 / 6.0)) return false;
  const std::optional<std::size_t> product = sole_producer(edit, scaled->x, "Mul");
  if (!product) return false;
  const Node& mul = graph.nodes[*product];
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<std::size_t> clip = sole_producer(edit, mul.inputs[slot], "Clip");
    if (!clip) continue;
    const std::optional<Bounds> bounds = bounds_of(graph, graph.nodes[*clip]);
    if (!bounds || bounds->low != 0.0f || bounds->high != 6.0f) continue;
    const std::optional<std::size_t> add = sole_producer(edit, graph.nodes[*clip].inputs[0], "Add");
    if (!add) continue;
    const std::optional<WithScalar> sum = with_scalar(graph, graph.nodes[*add]);
    if (!sum || sum->c != 3.0f || sum->x != mul.inputs[1 - slot]) continue;
    edit.replace(index, edit.insert(index, Node{node.name, "HardSwish", {sum->x}, {}, {}}));
    edit.remove(*product);
    edit.remove(*clip);
    edit.remove(*add);
    return true;
  }
  return false;
}

// The factors of a product of products that nothing else reads; `inner` are the nodes inside it.
void factors_of(const Edit& edit, const Node& product, std::vector<ValueId>& factors,
                std::vector<std::size_t>& inner) {
  for (const ValueId id : product.inputs) {
    const std::optional<std::size_t> nested = sole_producer(edit, id, "Mul");
    if (nested && inner.size() < 2) {
      inner.push_back(*nested);
      factors_of(edit, edit.graph().nodes[*nested], factors, inner);
    } else {
      factors.push_back(id);
    }
  }
}

// x * (1 + erf(x * sqrt(1 / 2))) * 0.5, the factors in any order
bool gelu(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Mul") return false;
  std::vector<ValueId> factors;
  std::vector<std::size_t> inner;
  factors_of(edit, node, factors, inner);
  if (factors.size() != 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::optional<std::size_t> add = sole_producer(edit, factors[i], "Add");
    if (!add) continue;
    const std::optional<WithScalar> sum = with_scalar(graph, graph.nodes[*add]);
    if (!sum || sum->c != 1.0f) return false;
    const std::optional<std::size_t> erf = sole_producer(edit, sum->x, "Erf");
    if (!erf) return false;
    const std::optional<std::size_t> scaled = sole_producer(edit, graph.nodes[*erf].inputs[0], "Mul");
    if (!scaled) return false;
    const std::optional<WithScalar> argument = with_scalar(graph, graph.nodes[*scaled]);
    if (!argument || !near(argument->c, std::sqrt(0.5))) return false;
    const ValueId x = argument->x, a = factors[(i + 1) % 3], b = factors[(i + 2) % 3];
    const Shape* shape = known_shape(graph, node.outputs[0]);
    if ((a != x && b != x) || scalar_constant(graph, a == x ? b : a) != 0.5f || shape == nullptr ||
        *shape != *known_shape(graph, x))
      return false;
    edit.replace(index, edit.insert(index, Node{node.name, "Gelu", {x}, {}, {}}));
    for (const std::size_t n : inner) edit.remove(n);
    for (const std::size_t n : {*add, *erf, *scaled}) edit.remove(n);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 5> kRules{clips, hard_sigmoid, gated, hard_swish_product_first, gelu};

}  // namespace

void recognise_activations(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
