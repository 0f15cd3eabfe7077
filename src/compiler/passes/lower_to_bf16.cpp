#include "compiler/passes/lower_to_bf16.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "compiler/chain.h"
#include "compiler/edit.h"
#include "compiler/kept_layers.h"
#include "ops/inverted_residual.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

bool has_past(const Node& node) {
  for (std::size_t i = 4; i < node.inputs.size(); ++i)
    if (node.has_input(i)) return true;
  return false;
}

// Whole numbers are multiplied exactly, as what they were quantised from.
bool multiplies_reals(const ir::Graph& graph, const Node& product) {
  const Tensor* weights = graph.constant(product.inputs[1]);
  return graph.constant(product.inputs[0]) == nullptr && product.text("activation", "none") == "none" &&
         (weights == nullptr || (weights->dtype() == DType::f32 && !integer_weights(*weights)));
}

// How an operator takes narrow values.
enum class Kind {
  layer,  // narrow or wide data in, either out: a convolution, where the network's values begin
  chain,  // the same, element by element
  mean,   // narrow in, wide out
  mover,  // in and out are of one type
  other,  // wide only
};

template <std::size_t N>
bool one_of(std::string_view op, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

Kind kind_of(const ir::Graph& graph, const Node& node) {
  constexpr std::array<std::string_view, 4> kLayers{"Conv", "ConvTranspose", "InvertedResidual",
                                                    "LayerNormalization"};
  constexpr std::array<std::string_view, 2> kMeans{"GlobalAveragePool", "ReduceMean"};
  constexpr std::array<std::string_view, 14> kMovers{
      "MaxPool", "AveragePool",  "Resize",       "Concat",  "Slice",    "Split",     "Pad",
      "Reorder", "DepthToSpace", "SpaceToDepth", "Reshape", "Identity", "Transpose", "Gather"};
  if (node.outputs.empty() || node.outputs[0] == ir::kNoValue) return Kind::other;
  const bool single = node.outputs.size() == 1;
  if (one_of(node.op, kLayers)) return single ? Kind::layer : Kind::other;
  if (one_of(node.op, kMeans)) return Kind::mean;
  if (node.op == "MatMul") return multiplies_reals(graph, node) ? Kind::layer : Kind::other;
  // Attention takes queries, keys and values of one type and returns that.
  if (node.op == "Attention") return single && !has_past(node) ? Kind::mover : Kind::other;
  if (one_of(node.op, kMovers))
    return node.op == "MaxPool" && node.outputs.size() > 1 ? Kind::other : Kind::mover;
  if (node.op == "ElementwiseChain" || (node.op != "Cast" && chainable(graph, node))) return Kind::chain;
  return Kind::other;
}

// Inputs that hold data, as opposed to weights, sizes and axes.
std::vector<std::size_t> data_slots(const ir::Graph& graph, const Node& node, Kind kind) {
  std::vector<std::size_t> slots{0};
  if (node.op == "Conv") slots = {0, 3, 4};
  if (node.op == "MatMul" && kind == Kind::layer && graph.constant(node.inputs[1]) == nullptr) slots = {0, 1};
  if (node.op == "Attention") slots = {0, 1, 2};
  if (node.op == "InvertedResidual") slots = {ops::kBlockSource, ops::kBlockResidual};
  if (kind == Kind::chain || node.op == "Concat") {
    slots.clear();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) slots.push_back(i);
  }
  // The value that fills has the type of the data.
  if (node.op == "Pad") slots.push_back(2);
  std::erase_if(slots, [&](std::size_t slot) { return !node.has_input(slot); });
  return slots;
}

bool one_of_names(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Narrowing {
 public:
  Narrowing(ir::Graph& graph, const std::vector<std::string>& wide_layers)
      : graph_(graph),
        uses_(graph),
        narrow_(graph.values.size(), false),
        near_end_(graph.values.size(), false) {
    if (const Shape* shape = graph.inputs.empty() ? nullptr : known_shape(graph, graph.inputs[0]);
        shape != nullptr && !shape->empty())
      batch_ = shape->front();
    for (const Node& node : graph.nodes) {
      kinds_.push_back(kind_of(graph, node));
      kept_.push_back(keeps(node, wide_layers));
    }
    choose();
  }

  void apply() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (std::size_t n = 0; n < nodes.size(); ++n) rewrite(std::move(nodes[n]), n);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  bool narrow(ValueId id) const {
    return id != ir::kNoValue && index(id) < narrow_.size() && narrow_[index(id)];
  }

  bool keeps(const Node& node, const std::vector<std::string>& names) const {
    return one_of_names(layer_name(graph_, node), names);
  }

  // A picture of more than one pixel, or tokens of more than one; single ones are gates and means.
  bool picture(ValueId id) const {
    if (id == ir::kNoValue) return false;
    const Shape* shape = known_shape(graph_, id);
    if (shape == nullptr || shape->size() < 3 || graph_.value(id).dtype != DType::f32) return false;
    if (shape->size() == 4) return (*shape)[2] * (*shape)[3] > 1;
    // The batch need not come first. Without it, so that what is stored as bf16 does not depend on it.
    const auto tokens_end = shape->end() - 1, batch = std::find(shape->begin(), tokens_end, batch_);
    for (auto size = shape->begin(); size != tokens_end; ++size)
      if (size != batch && *size > 1) return true;
    return false;
  }

  // What graph inputs and outputs are made of or make without a convolution between.
  void mark_ends() {
    for (const ValueId id : graph_.inputs) near_end_[index(id)] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (kinds_[n] == Kind::layer || kinds_[n] == Kind::mean) continue;
      // A picture that others are written into is not the input any more.
      const auto of_input = [&](std::size_t slot) {
        const ValueId id = node.inputs[slot];
        return graph_.constant(id) != nullptr || near_end_[index(id)];
      };
      const std::vector<std::size_t> slots = data_slots(graph_, node, kinds_[n]);
      if (!std::all_of(slots.begin(), slots.end(), of_input)) continue;
      for (const ValueId id : node.outputs)
        if (id != ir::kNoValue) near_end_[index(id)] = true;
    }
    std::vector<bool> leaves(graph_.values.size(), false);
    for (const ValueId id : graph_.outputs) leaves[index(id)] = true;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (kinds_[n] == Kind::layer || kinds_[n] == Kind::mean) continue;
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return id != ir::kNoValue && leaves[index(id)]; }))
        continue;
      for (const ValueId id : node.inputs)
        if (id != ir::kNoValue) leaves[index(id)] = true;
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) near_end_[i] = near_end_[i] || leaves[i];
  }

  // Whether the node reads a narrow value as it is.
  bool reads_narrow(std::size_t n, std::size_t slot) const {
    const Node& node = graph_.nodes[n];
    if (node.op == "ResizeArgMax") return slot == 0;
    if (kept_[n] || kinds_[n] == Kind::other) return false;
    const std::vector<std::size_t> slots = data_slots(graph_, node, kinds_[n]);
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) return false;
    return kinds_[n] != Kind::mover || narrow_[index(node.outputs[0])] || whole_plane(node);
  }
  // An average pool to a single pixel, which is a mean.
  bool whole_plane(const Node& node) const {
    return node.op == "AveragePool" && picture(node.inputs[0]) && !picture(node.outputs[0]);
  }

  // Whether what would have to be converted for a mover is half of what it returns (attention: reads) or
  // more.
  bool mostly_converted(std::size_t n) const {
    if (kinds_[n] != Kind::mover) return false;
    const Node& node = graph_.nodes[n];
    double converted = 0, made = 0;
    for (const std::size_t slot : data_slots(graph_, node, Kind::mover)) {
      const ValueId id = node.inputs[slot];
      if (graph_.constant(id) == nullptr && !narrow(id))
        converted += static_cast<double>(element_count(*known_shape(graph_, id)));
      if (node.op == "Attention") made += static_cast<double>(element_count(*known_shape(graph_, id)));
    }
    if (node.op == "Attention") return 2 * converted >= made;
    for (const ValueId id : node.outputs)
      made += static_cast<double>(element_count(*known_shape(graph_, id)));
    return 2 * converted >= made;
  }

  void choose() {
    mark_ends();
    // Candidates first; then those go that nobody reads as they are or that are made by conversions, until
    // all the rest are of use.
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (kept_[n] || kinds_[n] == Kind::other || kinds_[n] == Kind::mean) continue;
      const Node& node = graph_.nodes[n];
      const bool all = std::all_of(node.outputs.begin(), node.outputs.end(),
                                   [&](ValueId id) { return picture(id) && !near_end_[index(id)]; });
      for (const ValueId id : node.outputs)
        if (all) narrow_[index(id)] = true;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
        const Node& node = graph_.nodes[n];
        if (node.outputs.empty() || !narrow(node.outputs[0])) continue;
        // Attention computes more than what converting its result takes.
        const bool useful =
            node.op == "Attention" || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
              const auto& uses = uses_.of(id);
              return std::any_of(uses.begin(), uses.end(),
                                 [&](const ir::Uses::Use& use) { return reads_narrow(use.node, use.slot); });
            });
        if (useful && !mostly_converted(n)) continue;
        for (const ValueId id : node.outputs) narrow_[index(id)] = false;
        changed = true;
      }
    }
  }

  // The value in another type, converted once.
  ValueId converted(ValueId id, DType to) {
    if (graph_.value(id).dtype == to) return id;
    const auto [found, is_new] = converted_.try_emplace(id, ir::kNoValue);
    if (!is_new) return found->second;
    ir::Value value = graph_.value(id);
    value.name += ":" + std::string(dtype_name(to));
    value.dtype = to;
    value.constant.reset();
    Node cast{value.name, "Cast", {id}, {}, {{"to", std::string(dtype_name(to))}}};
    const ValueId made = graph_.add_value(std::move(value));
    cast.outputs = {made};
    graph_.nodes.push_back(std::move(cast));
    return converted_[id] = made;
  }

  void rewrite(Node node, std::size_t n) {
    const Kind kind = kinds_[n];
    const std::vector<std::size_t> slots = data_slots(graph_, node, kind);
    const auto reads = [&](std::size_t slot) { return narrow(node.inputs[slot]); };
    const bool result = !node.outputs.empty() && narrow(node.outputs[0]);
    const bool any = result || std::any_of(slots.begin(), slots.end(), reads);
    if (any && kind == Kind::chain && node.op != "ElementwiseChain") {
      const Node* list[] = {&node};
      Node chain = make_chain(graph_, list);
      chain.outputs = node.outputs;
      graph_.nodes.push_back(std::move(chain));
      return rewrite_chain(result, kept_[n]);
    }
    graph_.nodes.push_back(std::move(node));
    if (!any && kind != Kind::other) return;
    if (kind == Kind::chain) return rewrite_chain(result, kept_[n]);
    node = std::move(graph_.nodes.back());
    graph_.nodes.pop_back();
    if (kind == Kind::mover && !whole_plane(node)) {
      for (const std::size_t slot : slots)
        node.inputs[slot] = converted(node.inputs[slot], result ? DType::bf16 : DType::f32);
    } else if (kept_[n] || (kind == Kind::other && node.op != "ResizeArgMax")) {
      for (ValueId& id : node.inputs)
        if (id != ir::kNoValue && narrow(id)) id = converted(id, DType::f32);
    }
    if (kind == Kind::layer) store_layer(node, result);
    if ((kind == Kind::mean || whole_plane(node)) && reads_input(node))
      node.attributes["to"] = std::string(dtype_name(DType::f32));
    finish(std::move(node), result);
  }

  bool reads_input(const Node& node) const { return graph_.value(node.inputs[0]).dtype == DType::bf16; }

  // The chain at the end of the list: reads anything, writes what is wanted.
  void rewrite_chain(bool result, bool kept) {
    Node chain = std::move(graph_.nodes.back());
    graph_.nodes.pop_back();
    if (kept)
      for (ValueId& id : chain.inputs)
        if (narrow(id)) id = converted(id, DType::f32);
    if (result) chain.attributes["to"] = std::string(dtype_name(DType::bf16));
    finish(std::move(chain), result);
  }

  void store_layer(Node& node, bool result) const {
    const bool reads = reads_input(node);
    const auto store = [&](const std::string& key, DType from, DType to) {
      if (from != to) node.attributes[key] = std::string(dtype_name(to));
    };
    const DType source = reads ? DType::bf16 : DType::f32, last = result ? DType::bf16 : DType::f32;
    if (node.op != "InvertedResidual") return store("to", source, last);
    // What lies between is narrow as soon as one of the ends is.
    const bool expands = node.has_input(ops::kBlockExpandWeights),
               projects = node.has_input(ops::kBlockProjectWeights);
    const DType between = reads || result ? DType::bf16 : DType::f32;
    if (expands) store("expand_to", source, between);
    const DType read = expands ? between : source;
    store("depthwise_to", read, projects ? between : last);
    if (projects) store("project_to", between, last);
  }

  void finish(Node node, bool result) {
    for (const ValueId id : node.outputs)
      if (result && id != ir::kNoValue) graph_.value(id).dtype = DType::bf16;
    graph_.nodes.push_back(std::move(node));
  }

  ir::Graph& graph_;
  ir::Uses uses_;
  std::int64_t batch_ = 1;
  std::vector<Kind> kinds_;
  std::vector<bool> kept_;    // per node: stays wide by request
  std::vector<bool> narrow_;  // per value
  std::vector<bool> near_end_;
  std::map<ValueId, ValueId> converted_;
};

// Kernels that err more take nothing else.
void mark_coarse(ir::Graph& graph, const Options& options) {
  const auto narrow = [&](ValueId id) { return id != ir::kNoValue && graph.value(id).dtype == DType::bf16; };
  for (Node& node : graph.nodes) {
    if (node.op != "Conv" || !node.has_input(1) || !(narrow(node.inputs[0]) || narrow(node.outputs[0])))
      continue;
    const Shape* weights = known_shape(graph, node.inputs[1]);
    if (weights == nullptr || weights->size() != 4 || (*weights)[2] != 3 || (*weights)[3] != 3) continue;
    if (node.integer("group", 1) != 1 || node.integers("strides", {1, 1}) != std::vector<std::int64_t>{1, 1})
      continue;
    const std::string& name = layer_name(graph, node);
    if (one_of_names(name, options.fp32_layers) || one_of_names(name, options.exact_layers)) continue;
    node.attributes["coarse"] = std::int64_t{1};
  }
}

}  // namespace

void lower_to_bf16(ir::Graph& graph, const Options& options) {
  if (options.precision != Precision::bf16) return;
  Narrowing(graph, options.fp32_layers).apply();
  if (options.coarse) mark_coarse(graph, options);
}

}  // namespace saccade::compiler
