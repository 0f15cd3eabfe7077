#include "compiler/passes/integer_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "compiler/rewrite.h"
#include "ops/infer.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// More movements of data than any network has between a quantised tensor and its use.
constexpr int kMostSteps = 32;

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

// Operators that only move elements, or choose among them: what was on a grid of numbers stays on it.
bool keeps_grid(const Node& node) {
  constexpr std::array kMovers = {"Transpose",    "Reshape", "Squeeze", "Unsqueeze", "Flatten",
                                  "Slice",        "Split",   "MaxPool", "Identity",  "DepthToSpace",
                                  "SpaceToDepth", "Expand",  "Tile",    "Gather",    "Relu"};
  if (std::find(kMovers.begin(), kMovers.end(), node.op) != kMovers.end()) return true;
  if (node.op == "Pad") return node.text("mode", "constant") != "constant" || !node.has_input(2);
  return node.op == "Resize" && node.text("mode", "nearest") == "nearest";
}

// The index of the node that makes `id`, or nothing. By the graph as the sweep found it: dequantisation may
// serve several products, so a node that another rewrite has read still counts.
std::optional<std::size_t> maker(const Edit& edit, ValueId id) {
  const std::int64_t index = edit.uses().producer(id);
  if (index < 0) return std::nullopt;
  return static_cast<std::size_t>(index);
}

// Every element is a whole number times `scale`.
struct Grid {
  float scale;
  const Node* made;  ///< the DequantizeLinear itself where nothing lies between, else nullptr
};

std::optional<Grid> grid_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  for (int step = 0; step < kMostSteps; ++step) {
    const std::optional<std::size_t> index = maker(edit, id);
    if (!index) return std::nullopt;
    const Node& node = graph.nodes[*index];
    if (node.op == "DequantizeLinear") {
      const std::optional<float> scale = scalar_constant(graph, node.inputs[1]);
      if (!scale || !(*scale > 0) || !is_byte(graph.value(node.inputs[0]).dtype)) return std::nullopt;
      return Grid{*scale, step == 0 ? &node : nullptr};
    }
    if (!keeps_grid(node)) return std::nullopt;
    id = node.inputs[0];
  }
  return std::nullopt;
}

// The tensor behind a value that is a constant, or one that was dequantised, converted or rearranged.
std::optional<Tensor> known_tensor(const Edit& edit, ValueId id, int steps = 0) {
  constexpr std::array kRearrange = {"DequantizeLinear", "Cast",      "Transpose", "Reshape",
                                     "Squeeze",          "Unsqueeze", "Identity"};
  const ir::Graph& graph = edit.graph();
  if (id == ir::kNoValue) return std::nullopt;
  if (const Tensor* tensor = graph.constant(id)) return *tensor;
  const std::optional<std::size_t> index = maker(edit, id);
  if (!index || steps > kMostSteps) return std::nullopt;
  const Node& node = graph.nodes[*index];
  if (std::find(kRearrange.begin(), kRearrange.end(), node.op) == kRearrange.end()) return std::nullopt;
  const std::optional<Tensor> data = known_tensor(edit, node.inputs[0], steps + 1);
  if (!data) return std::nullopt;
  std::vector<const Tensor*> inputs = {&*data};  // everything else must be constant as it stands
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    inputs.push_back(graph.constant_input(node, i));
    if (node.has_input(i) && inputs.back() == nullptr) return std::nullopt;
  }
  return ops::evaluate_node(node, graph, inputs).front();
}

struct Weights {
  Tensor integers;            ///< f32, zero point taken off
  std::vector<float> scales;  ///< one, or one for each index of `axis`
  std::size_t axis = 0;
};

std::optional<Weights> weights_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> index = maker(edit, id);
  if (!index || graph.nodes[*index].op != "DequantizeLinear") return std::nullopt;
  const Node& node = graph.nodes[*index];
  if (!is_byte(graph.value(node.inputs[0]).dtype)) return std::nullopt;
  const Tensor* scale = graph.constant_input(node, 1);
  std::optional<Tensor> data = known_tensor(edit, node.inputs[0]);
  if (!data || scale == nullptr || scale->dtype() != DType::f32) return std::nullopt;
  Weights weights;
  const auto values = scale->values<float>();
  weights.scales.assign(values.begin(), values.end());
  for (const float s : weights.scales)
    if (!(s > 0)) return std::nullopt;
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(data->rank());
  weights.axis = static_cast<std::size_t>(axis);
  // Dequantised with a scale of 1, which is exact.
  Node plain = node;
  const Tensor ones = [&] {
    Tensor t(DType::f32, scale->shape());
    std::fill_n(t.data<float>(), t.count(), 1.0f);
    return t;
  }();
  std::vector<const Tensor*> inputs = {&*data, &ones};
  std::optional<Tensor> zero;
  if (node.has_input(2)) {
    zero = known_tensor(edit, node.inputs[2]);
    if (!zero) return std::nullopt;
    inputs.push_back(&*zero);
  }
  plain.inputs.resize(inputs.size());
  weights.integers = ops::evaluate_node(plain, graph, inputs).front();
  return weights;
}

// What the products of `node` are: where the output channels lie in weights and output.
struct Product {
  std::size_t weight_axis;
  Shape channels;  ///< of the output, such that a list of channels broadcasts to it
};

std::optional<Product> product_of(const ir::Graph& graph, const Node& node) {
  const Shape* w = node.inputs.size() > 1 ? known_shape(graph, node.inputs[1]) : nullptr;
  if (w == nullptr || graph.value(node.outputs[0]).dtype != DType::f32) return std::nullopt;
  if (node.text("activation", "none") != "none" || node.has_input(3)) return std::nullopt;
  if (node.op == "Conv" || node.op == "ConvTranspose") {
    const bool forward = node.op == "Conv";
    if (!forward && node.integer("group", 1) != 1) return std::nullopt;
    Shape channels(w->size() - 1, 1);
    channels[0] = (*w)[forward ? 0 : 1];
    return Product{forward ? std::size_t{0} : std::size_t{1}, channels};
  }
  if (node.op == "MatMul" && w->size() == 2) return Product{1, {(*w)[1]}};
  if (node.op == "Gemm" && node.integer("transA", 0) == 0 && node.real("alpha", 1) == 1.0f &&
      node.real("beta", 1) == 1.0f) {
    const std::size_t axis = node.integer("transB", 0) != 0 ? 0 : 1;
    return Product{axis, {(*w)[axis]}};
  }
  return std::nullopt;
}

ValueId add_tensor(ir::Graph& graph, const std::string& name, Tensor tensor) {
  return graph.add_constant(name, std::move(tensor));
}

ValueId add_number(ir::Graph& graph, const std::string& name, float value) {
  return add_tensor(graph, name, Tensor::of<float>({}, {value}));
}

// `x` in units of its grid: whole numbers.
ValueId whole_numbers(Edit& edit, std::size_t position, const std::string& name, ValueId x,
                      const Grid& grid) {
  ir::Graph& graph = edit.graph();
  if (grid.made != nullptr) {
    Node plain = *grid.made;
    plain.name = name + ":whole";
    plain.outputs.clear();
    plain.inputs[1] = add_number(graph, name + ":one", 1.0f);
    return edit.insert(position, std::move(plain));
  }
  const ValueId units = edit.insert(
      position, Node{name + ":units", "Div", {x, add_number(graph, name + ":grid", grid.scale)}, {}, {}});
  return edit.insert(position, Node{name + ":whole", "Round", {units}, {}, {}});
}

// Both scales per output channel, or one for all; rounded to single precision like those of integer kernels.
std::vector<double> joint_scales(const Weights& weights, float scale) {
  std::vector<double> joint;
  for (const float s : weights.scales) joint.push_back(static_cast<double>(scale * s));
  return joint;
}

// The bias in units of the products. What is within rounding of a whole number is one.
std::optional<Tensor> bias_in_units(const Tensor& bias, const std::vector<double>& joint,
                                    std::int64_t channels) {
  if (bias.dtype() != DType::f32 || bias.count() != channels) return std::nullopt;
  Tensor units(DType::f32, bias.shape());
  for (std::int64_t c = 0; c < channels; ++c) {
    const double exact = static_cast<double>(bias.data<float>()[c]) /
                         joint[joint.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    const double whole = std::nearbyint(exact);
    const bool rounded = std::abs(exact - whole) <= 1e-3 + 2e-7 * std::abs(exact);
    units.data<float>()[c] = static_cast<float>(rounded ? whole : exact);
  }
  return units;
}

bool sum_products(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "Conv" && node.op != "ConvTranspose" && node.op != "MatMul" && node.op != "Gemm")
    return false;
  const std::optional<Product> product = product_of(graph, node);
  if (!product) return false;
  const std::optional<Grid> grid = grid_of(edit, node.inputs[0]);
  if (!grid || grid->scale == 1.0f) return false;
  std::optional<Weights> weights = weights_of(edit, node.inputs[1]);
  if (!weights) return false;
  const std::int64_t channels = element_count(product->channels);
  const bool per_channel = weights->scales.size() > 1;
  if (per_channel && (weights->axis != product->weight_axis ||
                      static_cast<std::int64_t>(weights->scales.size()) != channels))
    return false;
  const std::vector<double> joint = joint_scales(*weights, grid->scale);

  Node sums = node;
  sums.name += ":sums";
  sums.outputs.clear();
  if (node.has_input(2)) {
    const std::optional<Tensor> bias = known_tensor(edit, node.inputs[2]);
    if (!bias) return false;
    std::optional<Tensor> units = bias_in_units(*bias, joint, channels);
    if (!units) return false;
    sums.inputs[2] = add_tensor(graph, node.name + ":bias", std::move(*units));
  }
  sums.inputs[0] = whole_numbers(edit, index, node.name, node.inputs[0], *grid);
  sums.inputs[1] = add_tensor(graph, node.name + ":integers", weights->integers);
  const ValueId acc = edit.insert(index, std::move(sums));
  std::vector<float> scales(joint.begin(), joint.end());
  const ValueId factor =
      add_floats(graph, node.name + ":scales", per_channel ? product->channels : Shape{}, scales);
  edit.replace(index, edit.insert(index, Node{node.name, "Mul", {acc, factor}, {}, {}}));
  return true;
}

// The Mul by joint scales behind a product of whole numbers: the index of that node.
std::optional<std::size_t> scaled_sums(const Edit& edit, ValueId id) {
  constexpr std::array kProducts = {"Conv", "ConvTranspose", "MatMul", "Gemm"};
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> mul = edit.producer(id, "Mul");
  if (!mul || graph.constant_input(graph.nodes[*mul], 1) == nullptr) return std::nullopt;
  const std::optional<std::size_t> product = edit.producer(graph.nodes[*mul].inputs[0]);
  if (!product) return std::nullopt;
  const Node& node = graph.nodes[*product];
  if (std::find(kProducts.begin(), kProducts.end(), node.op) == kProducts.end()) return std::nullopt;
  const Tensor* weights = graph.constant_input(node, 1);
  return weights != nullptr && integer_weights(*weights) ? mul : std::nullopt;
}

// Sums that are quantised again: one multiplication by x_scale * w_scale / y_scale, as integer kernels do it,
// instead of a multiplication and a division. Which of the two it is decides where a sum falls that lies
// within a rounding error of the middle between two integers.
bool requantise_sums(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "QuantizeLinear") return false;
  const std::optional<float> scale = scalar_constant(graph, node.inputs[1]);
  if (!scale || !(*scale > 0) || *scale == 1.0f) return false;
  ValueId source = node.inputs[0];
  const std::optional<std::size_t> relu = edit.producer(source, "Relu");
  if (relu) source = graph.nodes[*relu].inputs[0];
  const std::optional<std::size_t> mul = scaled_sums(edit, source);
  if (!mul) return false;
  const Tensor* joint = graph.constant_input(graph.nodes[*mul], 1);
  Tensor ratio(DType::f32, joint->shape());
  for (std::int64_t i = 0; i < ratio.count(); ++i) ratio.data<float>()[i] = joint->data<float>()[i] / *scale;
  const ValueId factor = add_tensor(graph, node.name + ":ratio", std::move(ratio));
  ValueId steps =
      edit.insert(index, Node{node.name + ":steps", "Mul", {graph.nodes[*mul].inputs[0], factor}, {}, {}});
  if (relu) steps = edit.insert(index, Node{node.name + ":relu", "Relu", {steps}, {}, {}});
  graph.nodes[index].inputs[0] = steps;
  graph.nodes[index].inputs[1] = add_number(graph, node.name + ":one", 1.0f);
  edit.touch(index);
  edit.mark_changed();
  return true;
}

// A bilinear Resize between quantised tensors: many results lie half-way between two integers, and rounding
// errors decide. The order of its sums is then that of ONNX Runtime.
bool order_resize(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  Node& node = graph.nodes[index];
  if (node.op != "Resize" || node.integer("corners", 0) != 0 || node.text("mode", "nearest") != "linear" ||
      node.integer("antialias", 0) != 0 || graph.value(node.outputs[0]).dtype != DType::f32)
    return false;
  const Shape* shape = known_shape(graph, node.outputs[0]);
  if (shape == nullptr || shape->size() != 4 || !grid_of(edit, node.inputs[0])) return false;
  node.attributes["corners"] = std::int64_t{1};
  edit.touch(index);
  edit.mark_changed();
  return true;
}

// Means of whole numbers, so that a mean half-way between two is exactly there.
bool sum_means(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "AveragePool" && node.op != "GlobalAveragePool" && node.op != "ReduceMean") return false;
  if (graph.value(node.outputs[0]).dtype != DType::f32 || known_shape(graph, node.outputs[0]) == nullptr)
    return false;
  const std::optional<Grid> grid = grid_of(edit, node.inputs[0]);
  if (!grid || grid->scale == 1.0f) return false;
  Node means = node;
  means.name += ":means";
  means.outputs.clear();
  means.inputs[0] = whole_numbers(edit, index, node.name, node.inputs[0], *grid);
  const ValueId mean = edit.insert(index, std::move(means));
  const ValueId scale = add_number(graph, node.name + ":scale", grid->scale);
  edit.replace(index, edit.insert(index, Node{node.name, "Mul", {mean, scale}, {}, {}}));
  return true;
}

}  // namespace

void integer_sums(ir::Graph& graph) {
  constexpr std::array<Rule, 4> kRules = {sum_products, requantise_sums, order_resize, sum_means};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
