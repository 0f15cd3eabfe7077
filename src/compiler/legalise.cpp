#include "compiler/legalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "compiler/chain.h"
#include "compiler/edit.h"
#include "compiler/layout.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "ops/inverted_residual.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Calls `ask` with the node's query, its operands dense and in one order throughout, until that has an
// answer.
template <class Ask>
auto asked(const ir::Graph& graph, const Node& node, Ask ask) {
  std::vector<const Tensor*> constants;
  for (const ValueId id : node.inputs) constants.push_back(graph.constant(id));
  for (const Layout layout : {Layout::channels_last, Layout::plain}) {
    const auto desc = [&](ValueId id) -> TensorDesc {
      if (id == ir::kNoValue) return {};
      const Shape& dims = *known_shape(graph, id);
      const Layout used = is_picture(graph, id) ? layout : Layout::plain;
      TensorDesc dense{true, graph.value(id).dtype, used, dims, dense_strides(dims, used)};
      if (graph.constant(id) == nullptr) return dense;
      const TensorDesc plain{true, graph.value(id).dtype, Layout::plain, dims,
                             dense_strides(dims, Layout::plain)};
      return node.op == "ElementwiseChain" ? dense : plain;
    };
    std::vector<TensorDesc> inputs, outputs;
    for (const ValueId id : node.inputs) inputs.push_back(desc(id));
    for (const ValueId id : node.outputs) outputs.push_back(desc(id));
    if (auto answer = ask(KernelQuery{node, inputs, constants, outputs, Precision::fp32})) return answer;
  }
  return decltype(ask(std::declval<const KernelQuery&>())){};
}

// The cheapest kernel that can run the node.
std::optional<Choice> best_of(const ir::Graph& graph, const Node& node, const KernelTable& kernels) {
  return asked(graph, node, [&](const KernelQuery& query) {
    const Choice choice = kernels.best(query);
    return choice.kernel != nullptr ? std::optional(choice) : std::nullopt;
  });
}
// The same by measured times.
std::optional<Choice> fastest_of(const ir::Graph& graph, const Node& node, const KernelTable& kernels) {
  return asked(graph, node, [&](const KernelQuery& query) { return kernels.fastest(query); });
}

bool runs(const ir::Graph& graph, const Node& node, const KernelTable& kernels) {
  return best_of(graph, node, kernels).has_value();
}

// The node that applies what is left of an epilogue to `x`.
Node activation_node(ir::Graph& graph, const Node& fused, ValueId x) {
  const std::string activation = fused.text("activation", "none");
  Node node{fused.name + ":activation", "", {x}, {}, {}};
  if (activation == "relu") node.op = "Relu";
  if (activation == "sigmoid") node.op = "Sigmoid";
  if (activation == "hard_swish") node.op = "HardSwish";
  if (activation == "silu") node.op = "Silu";
  if (activation == "tanh") node.op = "Tanh";
  if (activation == "leaky_relu") {
    node.op = "LeakyRelu";
    node.attributes["alpha"] = fused.real("activation_alpha", 0.01f);
  }
  if (activation == "hard_sigmoid") {
    node.op = "HardSigmoid";
    node.attributes["alpha"] = fused.real("activation_alpha", 0.2f);
    node.attributes["beta"] = fused.real("activation_beta", 0.5f);
  }
  if (activation == "clip") {
    node.op = "Clip";
    node.inputs.push_back(add_floats(graph, node.name + ":low", {}, {fused.real("activation_alpha", 0)}));
    node.inputs.push_back(add_floats(graph, node.name + ":high", {}, {fused.real("activation_beta", 0)}));
  }
  return node;
}

class Legaliser {
 public:
  Legaliser(ir::Graph& graph, const KernelTable& kernels) : graph_(graph), kernels_(kernels) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      const std::vector<Node> stores = widen(node);
      legalise(std::move(node));
      for (const Node& store : stores) emit(store);
    }
    drop_unused();
  }

 private:
  void legalise(Node node) {
    if (node.op == "InvertedResidual" && split_block(node)) return;
    if (node.op == "Conv" && node.has_input(4) && !runs(graph_, node, kernels_)) split_gate(node);
    if (node.outputs.size() == 1 && split(node)) return;
    emit(std::move(node));
  }

  bool narrow(ValueId id) const { return id != ir::kNoValue && graph_.value(id).dtype == DType::bf16; }

  // Whether the node computes with bf16 and would do better with f32: always where only its reference kernel
  // does bf16.
  bool wants_wide(const Node& node) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return narrow(id); }) &&
        std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return narrow(id); }))
      return false;
    const ops::OpDef* op = ops::find(node.op);
    const bool block = node.op == "InvertedResidual";
    if (op == nullptr || (op->is(ops::kNativeHalf) && !block)) return false;
    for (const std::string_view moves :
         {"Concat", "Reshape", "Identity", "Transpose", "Reorder", "Slice", "Split"})
      if (node.op == moves) return false;
    for (const auto& [name, value] : node.attributes)
      if (std::holds_alternative<std::shared_ptr<const ir::Graph>>(value)) return false;
    return block ? costs_less_wide(node) : !runs(graph_, node, kernels_);
  }

  // Whether a block on f32, with conversions around it, is cheaper than on bf16 or the only one with kernels:
  // where nothing computes with bf16, one pass over the rows may be worth more than halves of bytes.
  bool costs_less_wide(const Node& block) {
    const std::vector<std::vector<Node>> narrow_ways = ways_of(block);
    if (least_of(narrow_ways, false).ns < 0) return true;
    // Of one element: six bytes read or written and a few operations a vector.
    constexpr double kConversionNanoseconds = 0.3;
    double cost = 0;
    const auto converted = [&](ValueId id) {
      cost += kConversionNanoseconds * static_cast<double>(element_count(*known_shape(graph_, id)));
      const ValueId made = fresh(id, graph_.value(id).name);
      graph_.value(made).dtype = DType::f32;
      return made;
    };
    Node wide = without_storage(block);
    for (std::size_t i = 0; i < wide.inputs.size(); ++i) {
      if (!narrow(wide.inputs[i])) continue;
      const auto found = wide_.find(wide.inputs[i]);
      if (i == ops::kBlockResidual && wide.inputs[i] == block.inputs[0])
        wide.inputs[i] = wide.inputs[0];
      else
        wide.inputs[i] = found != wide_.end() ? found->second : converted(wide.inputs[i]);
    }
    if (narrow(wide.outputs[0])) wide.outputs[0] = converted(wide.outputs[0]);
    infer_outputs(graph_, wide);
    const std::vector<std::vector<Node>> wide_ways = ways_of(wide);
    for (const bool timed : {true, false}) {
      if (timed && !kernels_.has_timer()) continue;
      const double narrow_ns = least_of(narrow_ways, timed).ns, wide_ns = least_of(wide_ways, timed).ns;
      if (timed && (narrow_ns < 0 || wide_ns < 0)) continue;
      return wide_ns >= 0 && wide_ns + cost < narrow_ns;
    }
    return false;
  }

  // The node without what says that results are stored as bf16 or f32.
  static Node without_storage(Node node) {
    for (const char* const key : {"to", "expand_to", "depthwise_to", "project_to"}) {
      const std::string to = node.text(key, "");
      if (to == dtype_name(DType::bf16) || to == dtype_name(DType::f32)) node.attributes.erase(key);
    }
    return node;
  }

  // Makes a node that no kernel does (or does well) on bf16 one on f32, with what it reads converted; returns
  // the nodes that store its results as bf16.
  std::vector<Node> widen(Node& node) {
    if (!wants_wide(node)) return {};
    Node wide = without_storage(node);
    for (ValueId& id : wide.inputs)
      if (narrow(id)) id = widened(id);
    std::vector<Node> stores;
    for (ValueId& id : wide.outputs)
      if (narrow(id)) id = fresh(id, graph_.value(id).name + ":wide");
    infer_outputs(graph_, wide);
    for (std::size_t i = 0; i < wide.outputs.size(); ++i) {
      if (wide.outputs[i] == node.outputs[i]) continue;
      if (graph_.value(wide.outputs[i]).dtype != DType::f32) return {};
      wide_[node.outputs[i]] = wide.outputs[i];
      stores.push_back({graph_.value(wide.outputs[i]).name,
                        "Cast",
                        {wide.outputs[i]},
                        {node.outputs[i]},
                        {{"to", std::string(dtype_name(DType::bf16))}}});
    }
    node = std::move(wide);
    return stores;
  }

  // A bf16 value as f32, made once; what was computed as f32 is taken as it was before it was stored.
  ValueId widened(ValueId id) {
    if (const auto found = wide_.find(id); found != wide_.end()) return found->second;
    const std::string name = graph_.value(id).name + ":wide";
    ValueId made = ir::kNoValue;
    if (const Tensor* constant = graph_.constant(id)) {
      made = graph_.add_constant(name, ops::convert(*constant, DType::f32));
    } else {
      made = fresh(id, name);
      graph_.value(made).dtype = DType::f32;
      emit({name, "Cast", {id}, {made}, {{"to", std::string(dtype_name(DType::f32))}}});
    }
    return wide_[id] = made;
  }

  // Conversions that nobody needs after all.
  void drop_unused() {
    std::vector<bool> used(graph_.values.size(), false);
    const auto mark = [&](ValueId id) {
      if (id != ir::kNoValue) used[static_cast<std::size_t>(id)] = true;
    };
    for (const ValueId id : graph_.outputs) mark(id);
    std::vector<Node> kept;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      Node& node = graph_.nodes[n];
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return id != ir::kNoValue && used[static_cast<std::size_t>(id)]; }))
        continue;
      for (const ValueId id : node.inputs) mark(id);
      kept.push_back(std::move(node));
    }
    graph_.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }

  // As it is, or as a chain if only that has a kernel.
  void emit(Node node) {
    if (node.op != "ElementwiseChain" && chainable(graph_, node) && !runs(graph_, node, kernels_)) {
      const Node* list[] = {&node};
      Node chain = make_chain(graph_, list);
      chain.outputs = node.outputs;
      if (runs(graph_, chain, kernels_)) node = std::move(chain);
    }
    graph_.nodes.push_back(std::move(node));
  }

  // Convolution and matrix product without their epilogue, if only so they run.
  bool split(const Node& node) {
    const bool residual = node.op == "Conv" && node.has_input(3);
    const bool activation = node.text("activation", "none") != "none";
    const bool residual_last = residual && node.integer("residual_last", 0) != 0;
    if (!residual && !activation) return false;
    if (runs(graph_, node, kernels_)) return false;
    Node bare = node;
    bare.attributes.erase("residual_last");
    if (!residual_last) {
      bare.attributes.erase("activation");
      bare.attributes.erase("activation_alpha");
      bare.attributes.erase("activation_beta");
    }
    if (residual) bare.inputs[3] = ir::kNoValue;
    while (!bare.inputs.empty() && bare.inputs.back() == ir::kNoValue) bare.inputs.pop_back();
    ValueId x = fresh(node.outputs[0], node.name + ":bare");
    bare.outputs = {x};
    if (residual_last) {
      if (!split(bare)) emit(std::move(bare));
      Node add{node.name + ":residual", "Add", {x, node.inputs[3]}, node.outputs, {}};
      emit(std::move(add));
      return true;
    }
    if (!runs(graph_, bare, kernels_)) return false;
    graph_.nodes.push_back(std::move(bare));
    std::vector<Node> rest;
    if (residual) {
      Node add{node.name + ":residual", "Add", {x, node.inputs[3]}, {}, {}};
      x = activation ? fresh(node.outputs[0], add.name) : node.outputs[0];
      add.outputs = {x};
      rest.push_back(std::move(add));
    }
    if (activation) {
      Node last = activation_node(graph_, node, x);
      last.outputs = {node.outputs[0]};
      rest.push_back(std::move(last));
    }
    if (rest.size() == 2 && chainable(graph_, rest[0]) && chainable(graph_, rest[1])) {
      const Node* list[] = {&rest[0], &rest[1]};
      Node chain = make_chain(graph_, list);
      chain.outputs = node.outputs;
      rest = {std::move(chain)};
    }
    for (Node& each : rest) emit(std::move(each));
    return true;
  }

  // Multiplies the input in a node of its own.
  void split_gate(Node& conv) {
    Node mul{conv.name + ":gate", "Mul", {conv.inputs[0], conv.inputs[4]}, {}, {}};
    mul.outputs = {fresh(conv.inputs[0], mul.name)};
    conv.inputs[0] = mul.outputs[0];
    conv.inputs.pop_back();
    while (conv.inputs.back() == ir::kNoValue) conv.inputs.pop_back();
    emit(std::move(mul));
  }

  // The ways to compute a block: in parts, in two, whole.
  std::vector<std::vector<Node>> ways_of(const Node& block) {
    const std::vector<Node> parts = parts_of(block);
    const std::size_t middle = block.has_input(ops::kBlockExpandWeights) ? 1 : 0;
    std::vector<std::vector<Node>> ways{parts};
    if (parts.size() == 3) {
      ways.push_back({joined(&parts[0], parts[1], nullptr), parts[2]});
      ways.push_back({parts[0], joined(nullptr, parts[1], &parts[2])});
    }
    ways.push_back({joined(middle == 1 ? &parts[0] : nullptr, parts[middle],
                           middle + 1 < parts.size() ? &parts[middle + 1] : nullptr)});
    return ways;
  }
  /// One of several ways to compute the same.
  struct Cost {
    std::size_t way = 0;  ///< of the list
    double ns = -1;       ///< negative: none has kernels
  };
  // The cheapest of them. By measured times, where `timed`: of ways that predictions find near the best; may
  // be none then.
  Cost least_of(const std::vector<std::vector<Node>>& ways, bool timed) const {
    Cost least;
    const auto consider = [&](std::size_t way, double ns) {
      if (ns >= 0 && (least.ns < 0 || ns < least.ns)) least = {way, ns};
    };
    std::vector<double> predicted;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      predicted.push_back(cost_of(ways[i], false));
      consider(i, predicted.back());
    }
    if (!timed || least.ns < 0) return least;
    const Cost by_prediction = least;
    least = {};
    double counted = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (predicted[i] < 0 || predicted[i] > KernelTable::kTried * by_prediction.ns) continue;
      const double ns = cost_of(ways[i], true);
      if (ns < 0) return {};
      const double counts = i == by_prediction.way ? ns : KernelTable::handicapped(ns, batch_of(ways[i]));
      if (least.ns >= 0 && counts >= counted) continue;
      least = {i, ns};
      counted = counts;
    }
    return least;
  }
  std::int64_t batch_of(const std::vector<Node>& nodes) const {
    const Shape& shape = *known_shape(graph_, nodes[0].outputs[0]);
    return shape.empty() ? 1 : shape[0];
  }
  Cost least_of(const std::vector<std::vector<Node>>& ways) const {
    if (kernels_.has_timer() && ways.size() > 1)
      if (const Cost timed = least_of(ways, true); timed.ns >= 0) return timed;
    return least_of(ways, false);
  }

  // Takes a block apart where its parts, or two of them and the third, are cheaper than the whole or no
  // kernel can run it. Returns whether it did.
  bool split_block(const Node& block) {
    const std::vector<std::vector<Node>> ways = ways_of(block);
    const std::size_t chosen = least_of(ways).way;
    if (chosen + 1 == ways.size()) return false;
    for (const Node& node : ways[chosen])
      if (node.op == "InvertedResidual" || !split(node)) emit(node);
    return true;
  }

  // The convolutions of a block, with values of their own between them.
  std::vector<Node> parts_of(const Node& block) {
    std::vector<Node> nodes;
    ValueId source = block.inputs[ops::kBlockSource];
    std::vector<ops::BlockPart> parts = ops::block_parts(block);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Node node = std::move(parts[i].node);
      node.inputs = {source};
      for (const std::size_t slot : parts[i].slots)
        node.inputs.push_back(block.has_input(slot) ? block.inputs[slot] : ir::kNoValue);
      while (node.inputs.back() == ir::kNoValue) node.inputs.pop_back();
      const bool last = i + 1 == parts.size();
      source = last ? block.outputs[0] : fresh(block.outputs[0], node.name);
      node.outputs = {source};
      if (!last) infer_outputs(graph_, node);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }
  static Node joined(const Node* expand, const Node& depthwise, const Node* project) {
    Node node = ops::make_block(expand, depthwise, project);
    node.outputs = project != nullptr ? project->outputs : depthwise.outputs;
    return node;
  }
  // Nanoseconds; negative where some node has no kernel, or cannot be timed.
  double cost_of(const std::vector<Node>& nodes, bool timed) const {
    double sum = 0;
    for (const Node& node : nodes) {
      const std::optional<Choice> choice =
          timed ? fastest_of(graph_, node, kernels_) : best_of(graph_, node, kernels_);
      if (!choice) return -1;
      sum += choice->cost;
    }
    return sum;
  }

  // A new value of the type of `like`.
  ValueId fresh(ValueId like, const std::string& name) {
    ir::Value value = graph_.value(like);
    value.name = name;
    return graph_.add_value(std::move(value));
  }

  ir::Graph& graph_;
  const KernelTable& kernels_;
  std::map<ValueId, ValueId> wide_;  // bf16 values that exist as f32 too
};

}  // namespace

void legalise(ir::Graph& graph, const KernelTable& kernels) { Legaliser(graph, kernels).run(); }

}  // namespace saccade::compiler
