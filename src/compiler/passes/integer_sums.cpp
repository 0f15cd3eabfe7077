#include "compiler/passes/integer_sums.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/quantised.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

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
  sums.inputs[1] = add_tensor(graph, node.name + ":integers", whole_weights(edit, node.inputs[1], *weights));
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
