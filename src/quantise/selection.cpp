#include "quantise/selection.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>

#include "compiler/compile.h"
#include "compiler/quantised.h"
#include "saccade/error.h"

namespace saccade::quantise {

namespace {

using compiler::known_shape;
using ir::Graph;
using ir::Node;
using ir::Uses;
using ir::ValueId;

// Passes that make of several operators what only kernels of floats know.
constexpr std::array kFusions = {
    "fuse_resize_arg_max", "fuse_residual",    "fuse_activation",        "fold_gates",
    "open_quantised",      "fuse_elementwise", "fuse_inverted_residual", "pooled_branch_as_bias"};

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<const char*, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

constexpr std::array kMoves = {"MaxPool", "Transpose", "Reshape",      "Squeeze",     "Unsqueeze",
                               "Flatten", "Slice",     "DepthToSpace", "SpaceToDepth"};
constexpr std::array kElementwise = {"Add",       "Sub",         "Mul",     "Relu", "Clip",
                                     "HardSwish", "HardSigmoid", "Sigmoid", "Silu", "LeakyRelu",
                                     "PRelu",     "Tanh",        "Elu",     "Mish"};
constexpr std::array kResampling = {"Resize", "AveragePool"};
constexpr std::array kProducts = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Attention"};

bool is_conv(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }
bool moves(const Node& node) { return node.outputs.size() == 1 && is_one_of(node.op, kMoves); }
bool is_elementwise(const Node& node) { return is_one_of(node.op, kElementwise); }
bool resamples(const Node& node) {
  if (node.op == "Resize" && node.text("mode", "nearest") == "cubic") return false;
  return node.outputs.size() == 1 && is_one_of(node.op, kResampling);
}

bool is_float_constant(const Graph& graph, const Node& node, std::size_t slot) {
  const Tensor* tensor = graph.constant_input(node, slot);
  return tensor != nullptr && tensor->dtype() == DType::f32 && tensor->count() > 0;
}

/// Whether kernels of bytes exist for such a convolution.
bool fits_bytes(const Graph& graph, const Node& node) {
  if (!is_conv(node) || node.text("activation", "none") != "none" || node.has_input(3)) return false;
  const Shape* x = known_shape(graph, node.inputs[0]);
  const Shape* y = known_shape(graph, node.outputs[0]);
  if (x == nullptr || y == nullptr || x->size() != 4 || y->size() != 4) return false;
  if (element_count(*x) == 0 || element_count(*y) == 0 || graph.value(node.outputs[0]).dtype != DType::f32)
    return false;
  if (!is_float_constant(graph, node, 1) || (node.has_input(2) && !is_float_constant(graph, node, 2)))
    return false;
  if (node.op == "ConvTranspose") return windows_side_by_side(graph, node);
  const std::int64_t groups = node.integer("group", 1);
  return groups == 1 || (groups == (*x)[1] && groups == (*y)[1]);
}

/// Per node: whether a product with weights or with another picture lies behind it.
std::vector<bool> followed_by_products(const Graph& graph, const Uses& uses) {
  std::vector<bool> followed(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id == ir::kNoValue) continue;
      for (const Uses::Use& use : uses.of(id))
        if (followed[use.node] || is_one_of(graph.nodes[use.node].op, kProducts)) followed[i] = true;
    }
  return followed;
}

class Selector {
 public:
  Selector(const Graph& graph, const std::vector<std::string>& fp32_layers)
      : graph_(graph), uses_(graph), fp32_layers_(fp32_layers) {}

  Selection run() {
    result_.in_bytes.assign(graph_.nodes.size(), false);
    choose_convolutions();
    result_.convolves = result_.in_bytes;
    choose_between();
    collect_values();
    for (std::size_t i = 0; i < result_.values.size(); ++i) entry_[result_.values[i]] = i;
    find_pictures();
    share_grids();
    return std::move(result_);
  }

 private:
  void choose_convolutions() {
    const std::vector<bool> followed = followed_by_products(graph_, uses_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!fits_bytes(graph_, node) || !followed[i]) continue;
      const Shape& y = *known_shape(graph_, node.outputs[0]);
      if (y[1] < kFewestFilters || y[2] * y[3] == 1) continue;
      const bool named =
          std::find(fp32_layers_.begin(), fp32_layers_.end(), layer_name(graph_, node)) != fp32_layers_.end();
      result_.in_bytes[i] = !named;
    }
  }

  /// Whether somebody takes the value as bytes, directly or behind what only moves them.
  bool wanted(ValueId id) const { return wanted_[static_cast<std::size_t>(id)]; }
  bool bytes(ValueId id) const { return id != ir::kNoValue && bytes_[static_cast<std::size_t>(id)]; }

  bool may_lie_between(const Node& node) const {
    if (node.outputs.size() != 1 || node.outputs[0] == ir::kNoValue) return false;
    if (graph_.value(node.outputs[0]).dtype != DType::f32) return false;
    if (known_shape(graph_, node.outputs[0]) == nullptr) return false;
    return moves(node) || is_elementwise(node) || resamples(node) || node.op == "Concat";
  }

  /// Backward: what is wanted as bytes. Forward: what can be. A node in between is where both meet.
  void choose_between() {
    wanted_.assign(graph_.values.size(), false);
    bytes_.assign(graph_.values.size(), false);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (result_.convolves[i]) wanted_[static_cast<std::size_t>(node.inputs[0])] = true;
      if (!may_lie_between(node) || !wanted(node.outputs[0])) continue;
      for (const ValueId id : node.inputs)
        if (id != ir::kNoValue) wanted_[static_cast<std::size_t>(id)] = true;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!result_.convolves[i]) {
        if (!may_lie_between(node)) continue;
        // A bound of a convolution's bytes costs nothing, whoever reads the result.
        const bool bound = bound_of_conv(i);
        if (!bound && !wanted(node.outputs[0])) continue;
        const bool any =
            std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return bytes(id); });
        if (!any) continue;
        if ((moves(node) || resamples(node)) && !bytes(node.inputs[0])) continue;
        result_.in_bytes[i] = true;
      }
      for (const ValueId id : node.outputs)
        if (id != ir::kNoValue) bytes_[static_cast<std::size_t>(id)] = true;
    }
  }

  bool bound_of_conv(std::size_t index) const {
    const std::int64_t made = uses_.producer(graph_.nodes[index].inputs[0]);
    return made >= 0 && result_.convolves[static_cast<std::size_t>(made)] &&
           bound_behind(graph_, uses_, static_cast<std::size_t>(made)) == index;
  }

  /// Whether a node's result needs no rounding of its own: the one reader rounds what it makes of it.
  bool rounded_by_reader(std::size_t index) const {
    const Node& node = graph_.nodes[index];
    if (result_.convolves[index]) return bound_behind(graph_, uses_, index).has_value();
    if (!is_elementwise(node) || !uses_.single(node.outputs[0])) return false;
    const std::size_t reader = uses_.of(node.outputs[0])[0].node;
    const Node& next = graph_.nodes[reader];
    if (!result_.in_bytes[reader] || !is_elementwise(next)) return false;
    return *known_shape(graph_, next.outputs[0]) == *known_shape(graph_, node.outputs[0]);
  }

  void collect_values() {
    std::vector<bool> taken(graph_.values.size());
    const auto add = [&](ValueId id) {
      if (taken[static_cast<std::size_t>(id)]) return;
      taken[static_cast<std::size_t>(id)] = true;
      result_.values.push_back(id);
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!result_.in_bytes[i]) continue;
      if (result_.convolves[i] && !bytes(node.inputs[0])) add(node.inputs[0]);
      if (moves(node) || rounded_by_reader(i)) continue;
      add(node.outputs[0]);
    }
  }

  /// The value whose bytes these are, behind what only moves them.
  ValueId origin(ValueId id) const {
    for (;;) {
      const std::int64_t made = uses_.producer(id);
      if (made < 0 || !moves(graph_.nodes[static_cast<std::size_t>(made)]) ||
          !result_.in_bytes[static_cast<std::size_t>(made)])
        return id;
      id = graph_.nodes[static_cast<std::size_t>(made)].inputs[0];
    }
  }

  void find_pictures() {
    result_.picture.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (result_.convolves[i]) result_.picture[i] = entry_.at(origin(graph_.nodes[i].inputs[0]));
  }

  void share_grids() {
    result_.grid_of.resize(result_.values.size());
    std::iota(result_.grid_of.begin(), result_.grid_of.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
      while (result_.grid_of[i] != i) i = result_.grid_of[i];
      return i;
    };
    const auto join = [&](ValueId a, ValueId b) {
      const auto ea = entry_.find(origin(a)), eb = entry_.find(origin(b));
      if (ea == entry_.end() || eb == entry_.end()) return;
      const std::size_t ra = root(ea->second), rb = root(eb->second);
      result_.grid_of[std::max(ra, rb)] = std::min(ra, rb);
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!result_.in_bytes[i]) continue;
      if (node.op == "Concat") {
        for (const ValueId id : node.inputs) join(id, node.outputs[0]);
      } else if (resamples(node)) {
        join(node.inputs[0], node.outputs[0]);
      }
    }
    for (std::size_t i = 0; i < result_.grid_of.size(); ++i) result_.grid_of[i] = root(i);
  }

  const Graph& graph_;
  Uses uses_;
  const std::vector<std::string>& fp32_layers_;
  std::vector<bool> wanted_, bytes_;
  std::map<ValueId, std::size_t> entry_;
  Selection result_;
};

}  // namespace

ir::Graph prepare(const ir::Graph& graph, const std::vector<Shape>& input_shapes,
                  const std::vector<std::string>& disabled) {
  compiler::Options options;
  options.input_shapes = input_shapes;
  options.disabled_passes.assign(kFusions.begin(), kFusions.end());
  for (const std::string& name : disabled)
    if (std::find(kFusions.begin(), kFusions.end(), name) == kFusions.end())
      options.disabled_passes.push_back(name);
  ir::Graph prepared = compiler::optimise(graph, options);
  if (!compiler::shapes_known(prepared))
    throw Error(ErrorCode::unsupported, "a network whose shapes depend on data cannot be quantised");
  return prepared;
}

bool is_quantised(const ir::Graph& graph) {
  constexpr std::array kOps = {"QuantizeLinear",        "DequantizeLinear", "QLinearConv",  "QLinearMatMul",
                               "DynamicQuantizeLinear", "ConvInteger",      "MatMulInteger"};
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return is_one_of(node.op, kOps); });
}

Selection select(const ir::Graph& prepared, const std::vector<std::string>& fp32_layers) {
  return Selector(prepared, fp32_layers).run();
}

std::vector<std::string> layers(const ir::Graph& prepared) {
  const Selection selection = select(prepared);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < prepared.nodes.size(); ++i)
    if (selection.convolves[i]) names.push_back(layer_name(prepared, prepared.nodes[i]));
  return names;
}

bool windows_side_by_side(const ir::Graph& graph, const Node& node) {
  const Tensor* weights = graph.constant_input(node, 1);
  if (weights == nullptr || weights->rank() != 4) return false;
  const std::vector<std::int64_t> window{weights->dim(2), weights->dim(3)};
  const auto all = [&](const char* name, std::int64_t value) {
    const std::vector<std::int64_t> given = node.integers(name);
    return std::all_of(given.begin(), given.end(), [&](std::int64_t v) { return v == value; });
  };
  return window[0] == window[1] && node.integers("strides", {1, 1}) == window && all("dilations", 1) &&
         all("pads", 0) && all("output_padding", 0) && node.integer("group", 1) == 1 &&
         node.text("auto_pad", "explicit") == "explicit" && node.integers("output_shape").empty();
}

ValueId moved_from(const Graph& graph, const Uses& uses, ValueId id) {
  for (;;) {
    const std::int64_t made = uses.producer(id);
    if (made < 0 || !moves(graph.nodes[static_cast<std::size_t>(made)])) return id;
    id = graph.nodes[static_cast<std::size_t>(made)].inputs[0];
  }
}

std::optional<std::size_t> bound_behind(const ir::Graph& graph, const Uses& uses, std::size_t conv) {
  const ValueId result = graph.nodes[conv].outputs[0];
  if (!uses.single(result)) return std::nullopt;
  const std::size_t index = uses.of(result)[0].node;
  const Node& node = graph.nodes[index];
  if (node.op == "Relu") return index;
  if (node.op != "Clip" || uses.of(result)[0].slot != 0) return std::nullopt;
  for (const std::size_t slot : {std::size_t{1}, std::size_t{2}})
    if (node.has_input(slot) && !compiler::scalar_constant(graph, node.inputs[slot])) return std::nullopt;
  return index;
}

}  // namespace saccade::quantise
