#include "compiler/passes/canonical_windows.h"

#include <algorithm>
#include <numeric>

namespace saccade::compiler {

namespace {

using ir::Node;

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
};

// The window of a convolution or pool over `spatial` dimensions.
std::optional<Window> window_of(const ir::Graph& graph, const Node& node, std::size_t spatial) {
  Window w;
  if (node.op == "MaxPool" || node.op == "AveragePool") {
    w.kernel = node.integers("kernel_shape");
  } else {
    const Shape* weights = known_shape(graph, node.inputs[node.op == "QLinearConv" ? 3 : 1]);
    if (weights == nullptr || weights->size() != spatial + 2) return std::nullopt;
    w.kernel.assign(weights->begin() + 2, weights->end());
  }
  w.strides = node.integers("strides", std::vector<std::int64_t>(spatial, 1));
  w.dilations = node.integers("dilations", std::vector<std::int64_t>(spatial, 1));
  w.pads = node.integers("pads", std::vector<std::int64_t>(2 * spatial, 0));
  if (w.kernel.size() != spatial || w.strides.size() != spatial || w.dilations.size() != spatial ||
      w.pads.size() != 2 * spatial)
    return std::nullopt;
  return w;
}

}  // namespace

bool explicit_pads(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  const bool transposed = node.op == "ConvTranspose";
  if (!transposed && node.op != "Conv" && node.op != "QLinearConv" && node.op != "MaxPool" &&
      node.op != "AveragePool")
    return false;
  const std::string mode = node.text("auto_pad", "explicit");
  const std::vector<std::int64_t> output_shape = node.integers("output_shape");
  if (mode == "explicit" && output_shape.empty()) return false;
  const Shape* in = known_shape(graph, node.inputs[0]);
  const Shape* out = known_shape(graph, node.outputs[0]);
  if (in == nullptr || out == nullptr || in->size() < 3 || out->size() != in->size()) return false;
  const std::size_t spatial = in->size() - 2;
  std::optional<Window> window = window_of(graph, node, spatial);
  if (!window) return false;
  std::vector<std::int64_t> extra = node.integers("output_padding", std::vector<std::int64_t>(spatial, 0));
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t extent = (window->kernel[d] - 1) * window->dilations[d] + 1;
    const std::int64_t stride = window->strides[d];
    const std::int64_t total = transposed ? ((*in)[d + 2] - 1) * stride + extra[d] + extent - (*out)[d + 2]
                                          : ((*out)[d + 2] - 1) * stride + extent - (*in)[d + 2];
    const std::int64_t padding = mode == "valid" && !transposed ? 0 : std::max<std::int64_t>(total, 0);
    if (transposed && total < 0) extra[d] -= total;
    const bool more_at_end = mode == "same_upper" || (mode == "valid" && output_shape.empty());
    window->pads[d] = more_at_end ? padding / 2 : padding - padding / 2;
    window->pads[d + spatial] = padding - window->pads[d];
  }
  Node made = node;
  made.outputs.clear();
  made.attributes.erase("auto_pad");
  made.attributes.erase("output_shape");
  made.attributes["pads"] = window->pads;
  if (transposed) made.attributes["output_padding"] = extra;
  if (node.op == "MaxPool" || node.op == "AveragePool") made.attributes["ceil_mode"] = std::int64_t{0};
  const std::size_t outputs = node.outputs.size();
  const ir::ValueId first = edit.insert(index, std::move(made), outputs);
  for (std::size_t i = 0; i < outputs; ++i)
    if (graph.nodes[index].outputs[i] != ir::kNoValue)
      edit.redirect(graph.nodes[index].outputs[i], first + static_cast<ir::ValueId>(i));
  edit.remove(index);
  return true;
}

bool pools_to_reductions(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  const bool average = node.op == "GlobalAveragePool" || node.op == "AveragePool";
  if (!average && node.op != "GlobalMaxPool" && node.op != "MaxPool") return false;
  const Shape* in = known_shape(graph, node.inputs[0]);
  if (in == nullptr || in->size() < 3 || graph.value(node.inputs[0]).dtype != DType::f32) return false;
  const std::size_t spatial = in->size() - 2;
  if (!node.op.starts_with("Global")) {
    if (node.outputs.size() > 1 && node.outputs[1] != ir::kNoValue) return false;  // indices are wanted
    if (node.text("auto_pad", "explicit") != "explicit") return false;             // made explicit first
    const std::optional<Window> window = window_of(graph, node, spatial);
    const Shape* out = known_shape(graph, node.outputs[0]);
    if (!window || out == nullptr) return false;
    for (std::size_t d = 0; d < spatial; ++d)
      if (window->kernel[d] != (*in)[d + 2] || window->dilations[d] != 1 || (*out)[d + 2] != 1) return false;
    if (std::any_of(window->pads.begin(), window->pads.end(), [](std::int64_t pad) { return pad != 0; }))
      return false;
  }
  std::vector<std::int64_t> axes(spatial);
  std::iota(axes.begin(), axes.end(), 2);
  Node made{node.name, average ? "ReduceMean" : "ReduceMax", {node.inputs[0]}, {}, {}};
  made.inputs.push_back(add_integers(graph, node.name + ":axes", axes));
  made.attributes["keepdims"] = std::int64_t{1};
  edit.replace(index, edit.insert(index, std::move(made)));
  return true;
}

}  // namespace saccade::compiler
