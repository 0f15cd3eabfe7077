#include "compiler/passes/eliminate_transposes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/edit.h"
#include "compiler/quantised.h"
#include "ops/infer.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;
using Perm = std::vector<std::int64_t>;

// `value` = Transpose(source, perm), not computed unless somebody needs it in this form.
struct Pending {
  ValueId source;
  Perm perm;
};

// An operand that has to be transposed the other way for a transpose to pass may be at most this part of the
// result.
constexpr std::int64_t kSmallPart = 8;

Perm inverse(const Perm& perm) {
  Perm result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    result[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

bool identity(const Perm& perm) { return std::is_sorted(perm.begin(), perm.end()); }

// Only dimensions of length 1 change places: the elements stay in order.
bool keeps_order(const Shape& source, const Perm& perm) {
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (source[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// NHWC to NCHW and its like for other ranks.
bool to_channels_first(const Perm& perm) {
  if (perm.size() < 3 || perm[0] != 0 || perm[1] != static_cast<std::int64_t>(perm.size()) - 1) return false;
  for (std::size_t i = 2; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i) - 1) return false;
  return true;
}

class Sinker {
 public:
  explicit Sinker(ir::Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    turn_inputs(nodes);
    for (Node& node : nodes) {
      if (node.op == "Transpose" && absorb(node)) continue;
      if (has_pending(node) && pass(node)) continue;
      for (ValueId& id : node.inputs) id = materialise(id);
      graph_.nodes.push_back(std::move(node));
    }
    for (ValueId& id : graph_.outputs) id = materialise(id);
  }

 private:
  const Pending* pending(ValueId id) const {
    const auto found = pending_.find(id);
    return found == pending_.end() ? nullptr : &found->second;
  }
  // Whether a transpose waits in front of the node that should move behind it. One to channels first should
  // not: that is the order in which the operators of pictures know each other.
  bool has_pending(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Pending* p = pending(id);
      return p != nullptr && !to_channels_first(p->perm);
    });
  }

  // A model that takes channels last and turns them first somewhere: turn its pictures at once, so that all
  // that comes before that place works on channels first too. In memory this moves nothing.
  void turn_inputs(const std::vector<Node>& nodes) {
    const auto turns = [](const Node& node) {
      return node.op == "Transpose" && to_channels_first(node.integers("perm"));
    };
    if (std::none_of(nodes.begin(), nodes.end(), turns)) return;
    for (const ValueId id : std::vector<ValueId>(graph_.inputs)) {
      const Shape* shape = known_shape(graph_, id);
      if (shape == nullptr || shape->size() != 4 || graph_.value(id).dtype != DType::f32) continue;
      const auto reads_channels_first = [&](const Node& node) {
        return !node.inputs.empty() && node.inputs[0] == id &&
               (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MaxPool" ||
                node.op == "AveragePool");
      };
      if (std::any_of(nodes.begin(), nodes.end(), reads_channels_first)) continue;
      const Perm first{0, 3, 1, 2};
      Node turn{graph_.value(id).name + ":channels_first", "Transpose", {id}, {}, {}};
      turn.attributes["perm"] = first;
      const ValueId turned = graph_.add_node(std::move(turn));
      infer_outputs(graph_, graph_.nodes.back());
      // The input itself is from now on that value turned back; where it is needed as it is, it is there.
      pending_[id] = {turned, inverse(first)};
      done_[id] = id;
    }
  }

  bool absorb(const Node& node) {
    const Shape* shape = known_shape(graph_, node.inputs[0]);
    if (shape == nullptr) return false;
    Perm perm = node.integers("perm");
    if (perm.empty()) {
      perm.resize(shape->size());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    if (perm.size() != shape->size()) return false;
    ValueId source = node.inputs[0];
    if (const Pending* earlier = pending(source)) {
      for (std::int64_t& axis : perm) axis = earlier->perm[static_cast<std::size_t>(axis)];
      source = earlier->source;
    }
    turned_.emplace(std::pair(source, perm), node.outputs[0]);
    pending_[node.outputs[0]] = {source, perm};
    names_[node.outputs[0]] = node.name;
    return true;
  }

  // The value in its own form: the source itself, or one transpose that is emitted here.
  ValueId materialise(ValueId id) {
    const Pending* p = pending(id);
    if (p == nullptr) return id;
    if (identity(p->perm)) return p->source;
    if (const auto done = done_.find(id); done != done_.end()) return done->second;
    const std::string name = names_[id].empty() ? graph_.value(id).name : names_[id];
    const Shape source = *known_shape(graph_, p->source);
    Node node{name, "Transpose", {p->source}, {id}, {}};
    if (keeps_order(source, p->perm)) {
      Shape target;
      for (const std::int64_t axis : p->perm) target.push_back(source[static_cast<std::size_t>(axis)]);
      node.op = "Reshape";
      node.inputs.push_back(add_integers(graph_, name + ":shape", target));
    } else {
      node.attributes["perm"] = p->perm;
    }
    infer_outputs(graph_, node);
    graph_.nodes.push_back(std::move(node));
    done_[id] = id;
    return id;
  }

  // Tries to compute `node` in the order its inputs came from.
  bool pass(const Node& node) {
    const ops::OpDef* op = ops::find(node.op);
    if (op == nullptr) return false;
    const bool elementwise = op->is(ops::kElementwiseUnary) || op->is(ops::kElementwiseBinary) ||
                             node.op == "Where" || node.op == "PRelu" || node.op == "Clip" ||
                             node.op == "Cast";
    if (elementwise) return pass_elementwise(node);
    if (node.op == "Concat") return pass_concat(node);
    const Pending* p = pending(node.inputs[0]);
    if (p == nullptr) return false;
    for (std::size_t slot = 1; slot < node.inputs.size(); ++slot)
      if (pending(node.inputs[slot]) != nullptr) return false;
    Node made = node;
    made.inputs[0] = p->source;
    const Perm perm = p->perm;
    const auto rank = static_cast<std::int64_t>(perm.size());
    const auto map = [&](std::int64_t axis) {
      return perm[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    };
    if ((node.op == "QuantizeLinear" || node.op == "DequantizeLinear") && quantisation_of(graph_, node)) {
      made.attributes.erase("axis");
    } else if (node.op == "Softmax" || node.op == "LogSoftmax") {
      made.attributes["axis"] = map(node.integer("axis", -1));
    } else if (node.op == "Split" ||
               ((node.op == "ArgMax" || node.op == "ArgMin") && node.integer("keepdims", 1) != 0)) {
      made.attributes["axis"] = map(node.integer("axis", 0));
    } else if (node.op.starts_with("Reduce") && node.integer("keepdims", 1) != 0) {
      if (node.has_input(1) && !map_axes(made, 1, map)) return false;
    } else if (node.op == "Pad") {
      if (!pass_pad(made, perm, map)) return false;
    } else if (node.op == "Slice") {
      if (!pass_slice(made, map)) return false;
    } else if (node.op == "Resize") {
      if (!pass_resize(made, perm)) return false;
    } else if (node.op == "Tile") {
      const std::optional<std::vector<std::int64_t>> repeats = integer_constant(graph_, node.inputs[1]);
      if (!repeats || repeats->size() != perm.size()) return false;
      made.inputs[1] = permuted(node.name, *repeats, perm);
    } else {
      return false;
    }
    emit(node, std::move(made), perm);
    return true;
  }

  // Appends the rewritten node; its outputs, transposed by `perm`, are those of the original one.
  void emit(const Node& original, Node made, const Perm& perm) {
    made.outputs.clear();
    for (const ValueId id : original.outputs) {
      if (id == kNoValue) {
        made.outputs.push_back(kNoValue);
        continue;
      }
      ir::Value value;
      value.name = graph_.value(id).name;
      const ValueId fresh = graph_.add_value(std::move(value));
      made.outputs.push_back(fresh);
      pending_[id] = {fresh, perm};
    }
    infer_outputs(graph_, made);
    graph_.nodes.push_back(std::move(made));
  }

  // The perm that most elements arrive with, if those that do not are few enough to be transposed back.
  std::optional<Perm> common_perm(const Node& node, std::size_t rank, bool scalars_pass) const {
    std::map<Perm, std::int64_t> votes;
    for (const ValueId id : node.inputs)
      if (const Pending* p = pending(id)) {
        const Shape* shape = known_shape(graph_, p->source);
        if (shape == nullptr || p->perm.size() != rank) return std::nullopt;
        votes[p->perm] += element_count(*shape);
      }
    if (votes.empty()) return std::nullopt;
    const auto best = std::max_element(votes.begin(), votes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::int64_t against = 0;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue || graph_.constant(id) != nullptr) continue;
      const Pending* p = pending(id);
      if (p != nullptr && p->perm == best->first) continue;
      if (turned_.contains(std::pair(id, inverse(best->first))))
        continue;  // the model itself has it both ways
      const Shape* shape = known_shape(graph_, id);
      if (shape == nullptr || (shape->size() != rank && !(scalars_pass && element_count(*shape) == 1)))
        return std::nullopt;
      against += element_count(*shape);
    }
    if (against * kSmallPart > best->second) return std::nullopt;
    return best->first;
  }

  // An operand of a node that is now computed in the other order.
  ValueId operand(ValueId id, const Perm& perm) {
    if (id == kNoValue) return id;
    if (const Pending* p = pending(id); p != nullptr && p->perm == perm) return p->source;
    const Shape shape = *known_shape(graph_, id);
    if (shape.size() != perm.size()) return materialise(id);  // a scalar
    if (const auto both = turned_.find(std::pair(id, inverse(perm))); both != turned_.end())
      return materialise(both->second);
    const std::string name = graph_.value(id).name;
    Node turn{name + ":turned", "Transpose", {materialise(id)}, {}, {}};
    turn.attributes["perm"] = inverse(perm);
    if (const Tensor* constant = graph_.constant(id)) {
      const Tensor* inputs[] = {constant};
      turn.outputs = {id};  // only counted
      return graph_.add_constant(name, ops::evaluate_node(turn, graph_, inputs).at(0));
    }
    if (keeps_order(shape, inverse(perm))) {
      Shape target;
      for (const std::int64_t axis : inverse(perm)) target.push_back(shape[static_cast<std::size_t>(axis)]);
      turn.op = "Reshape";
      turn.attributes.clear();
      turn.inputs.push_back(add_integers(graph_, name + ":shape", target));
    }
    const ValueId out = graph_.add_node(std::move(turn));
    infer_outputs(graph_, graph_.nodes.back());
    return out;
  }

  bool pass_elementwise(const Node& node) {
    const Shape* out = known_shape(graph_, node.outputs[0]);
    if (out == nullptr) return false;
    const std::size_t rank = out->size();
    for (const ValueId id : node.inputs) {
      const Shape* shape = known_shape(graph_, id);
      if (id != kNoValue && (shape == nullptr || (shape->size() != rank && element_count(*shape) != 1)))
        return false;
    }
    const std::optional<Perm> perm = common_perm(node, rank, true);
    if (!perm) return false;
    Node made = node;
    for (ValueId& id : made.inputs) id = operand(id, *perm);
    emit(node, std::move(made), *perm);
    return true;
  }

  bool pass_concat(const Node& node) {
    const Shape* out = known_shape(graph_, node.outputs[0]);
    if (out == nullptr) return false;
    const std::optional<Perm> perm = common_perm(node, out->size(), false);
    if (!perm) return false;
    const auto rank = static_cast<std::int64_t>(perm->size());
    const std::int64_t axis = node.integer("axis", 0);
    Node made = node;
    for (ValueId& id : made.inputs) id = operand(id, *perm);
    made.attributes["axis"] = (*perm)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    emit(node, std::move(made), *perm);
    return true;
  }

  template <class Map>
  bool map_axes(Node& made, std::size_t slot, const Map& map) {
    std::optional<std::vector<std::int64_t>> axes = integer_constant(graph_, made.inputs[slot]);
    if (!axes) return false;
    for (std::int64_t& axis : *axes) axis = map(axis);
    made.inputs[slot] = add_integers(graph_, made.name + ":axes", *axes);
    return true;
  }

  // A list with one entry per dimension of the transposed value, in the order of the source's dimensions.
  ValueId permuted(const std::string& name, const std::vector<std::int64_t>& values, const Perm& perm) {
    std::vector<std::int64_t> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[static_cast<std::size_t>(perm[i])] = values[i];
    return add_integers(graph_, name + ":permuted", result);
  }

  template <class Map>
  bool pass_pad(Node& made, const Perm& perm, const Map& map) {
    if (made.has_input(3)) return map_axes(made, 3, map);
    const std::optional<std::vector<std::int64_t>> pads = integer_constant(graph_, made.inputs[1]);
    if (!pads || pads->size() != 2 * perm.size()) return false;
    std::vector<std::int64_t> result(pads->size());
    for (std::size_t i = 0; i < perm.size(); ++i) {
      result[static_cast<std::size_t>(perm[i])] = (*pads)[i];
      result[static_cast<std::size_t>(perm[i]) + perm.size()] = (*pads)[i + perm.size()];
    }
    made.inputs[1] = add_integers(graph_, made.name + ":pads", result);
    return true;
  }

  template <class Map>
  bool pass_slice(Node& made, const Map& map) {
    if (made.has_input(3)) return map_axes(made, 3, map);
    const Shape* starts = known_shape(graph_, made.inputs[1]);
    if (starts == nullptr || starts->size() != 1) return false;
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < (*starts)[0]; ++i) axes.push_back(map(i));
    made.inputs.resize(std::max<std::size_t>(made.inputs.size(), 4), kNoValue);
    made.inputs[3] = add_integers(graph_, made.name + ":axes", axes);
    return true;
  }

  bool pass_resize(Node& made, const Perm& perm) {
    if (made.text("coordinate_transformation", "half_pixel") == "tf_crop_and_resize") return false;
    std::vector<std::int64_t> axes = made.integers("axes");
    if (!axes.empty()) {
      for (std::int64_t& axis : axes)
        axis =
            perm[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(perm.size()) : axis)];
      made.attributes["axes"] = axes;
      return true;
    }
    if (made.has_input(3)) {
      const std::optional<std::vector<std::int64_t>> sizes = integer_constant(graph_, made.inputs[3]);
      if (!sizes || sizes->size() != perm.size()) return false;
      made.inputs[3] = permuted(made.name, *sizes, perm);
      return true;
    }
    const Tensor* scales = graph_.constant_input(made, 2);
    if (scales == nullptr || scales->dtype() != DType::f32 ||
        scales->count() != static_cast<std::int64_t>(perm.size()))
      return false;
    std::vector<float> values(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      values[static_cast<std::size_t>(perm[i])] = scales->data<float>()[i];
    made.inputs[2] = add_floats(graph_, made.name + ":scales", {scales->count()}, values);
    return true;
  }

  ir::Graph& graph_;
  std::map<ValueId, Pending> pending_;
  std::map<std::pair<ValueId, Perm>, ValueId> turned_;  // transposes of the model: source and perm to result
  std::map<ValueId, ValueId> done_;
  std::map<ValueId, std::string> names_;
};

}  // namespace

void eliminate_transposes(ir::Graph& graph) { Sinker(graph).run(); }

}  // namespace saccade::compiler
