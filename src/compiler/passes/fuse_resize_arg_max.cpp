#include "compiler/passes/fuse_resize_arg_max.h"

#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

// Each result is one pixel or lies between neighbours.
bool interpolates(const Node& resize) {
  const std::string mode = resize.text("mode", "nearest");
  return (mode == "nearest" || mode == "linear") && resize.integer("antialias", 0) == 0 &&
         resize.text("coordinate_transformation", "half_pixel") != "tf_crop_and_resize";
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& arg_max = graph.nodes[index];
  if (arg_max.op != "ArgMax" || arg_max.integer("select_last_index", 0) != 0) return false;
  const std::optional<std::size_t> source = edit.producer(arg_max.inputs[0], "Resize");
  if (!source || !edit.uses().single(arg_max.inputs[0])) return false;
  const Node& resize = graph.nodes[*source];
  const Shape* small = known_shape(graph, resize.inputs[0]);
  const Shape* large = known_shape(graph, resize.outputs[0]);
  if (!interpolates(resize) || small == nullptr || large == nullptr || small->size() != 4 ||
      graph.value(resize.inputs[0]).dtype != DType::f32)
    return false;
  const std::int64_t axis = arg_max.integer("axis", 0);
  if (axis != 1 && axis != -3) return false;
  if ((*small)[0] != (*large)[0] || (*small)[1] != (*large)[1] || (*small)[2] > (*large)[2] ||
      (*small)[3] > (*large)[3] || element_count(*small) == 0)
    return false;
  const Shape classes_shape{(*large)[0], (*large)[2], (*large)[3]};  // values move when others are added
  const bool keepdims = arg_max.integer("keepdims", 1) != 0;
  Node fused = resize;
  fused.op = "ResizeArgMax";
  fused.name = arg_max.name;
  fused.outputs.clear();
  ir::ValueId classes = edit.insert(index, std::move(fused));
  if (!keepdims) {
    Node reshape;
    reshape.op = "Reshape";
    reshape.name = arg_max.name + ":without_channels";
    reshape.inputs = {classes, add_integers(graph, reshape.name + ":shape", classes_shape)};
    classes = edit.insert(index, std::move(reshape));
  }
  edit.remove(*source);
  edit.replace(index, classes);
  return true;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_resize_arg_max(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
