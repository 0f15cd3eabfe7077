#include "compiler/passes/pointwise_before_resize.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

bool all(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool plain_pointwise(const ir::Graph& graph, const Node& node) {
  if (node.op != "Conv" || node.text("activation", "none") != "none" || node.has_input(3)) return false;
  const Shape* weights = known_shape(graph, node.inputs[1]);
  return weights != nullptr && weights->size() == 4 && (*weights)[2] == 1 && (*weights)[3] == 1 &&
         all(node.integers("strides"), 1) && all(node.integers("pads"), 0) &&
         node.text("auto_pad", "explicit") == "explicit";
}

// Every result is an average of pixels, with weights that sum to one.
bool averages(const Node& resize) {
  const std::string mode = resize.text("mode", "nearest");
  if (resize.text("coordinate_transformation", "half_pixel") == "tf_crop_and_resize") return false;
  return mode == "nearest" || mode == "linear" ||
         (mode == "cubic" && resize.integer("exclude_outside", 0) == 0);
}

// What reads the convolution would become its epilogue, and must be a pass over the large plane of its own
// afterwards.
bool loses_epilogue(const Edit& edit, const Node& conv) {
  const std::optional<ir::Uses::Use> use = edit.only_use(conv.outputs[0]);
  if (!use) return false;
  const Node& next = edit.graph().nodes[use->node];
  const ops::OpDef* op = ops::find(next.op);
  return op != nullptr && (op->is(ops::kActivation) || next.op == "Add");
}

// From here on, the multiplications that are saved cost more than such a pass.
constexpr std::int64_t kManyChannels = 32;

bool rewrite(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& conv = graph.nodes[index];
  if (!plain_pointwise(graph, conv)) return false;
  const std::optional<std::size_t> source = edit.producer(conv.inputs[0], "Resize");
  if (!source || !edit.uses().single(conv.inputs[0])) return false;
  const Node& resize = graph.nodes[*source];
  const Shape* small = known_shape(graph, resize.inputs[0]);
  const Shape* large = known_shape(graph, resize.outputs[0]);
  const Shape* result = known_shape(graph, conv.outputs[0]);
  if (!averages(resize) || small == nullptr || large == nullptr || result == nullptr || small->size() != 4)
    return false;
  if ((*small)[0] != (*large)[0] || (*small)[1] != (*large)[1] ||
      element_count(*small) >= element_count(*large))
    return false;
  if ((*result)[1] > (*small)[1]) return false;
  if ((*small)[1] < kManyChannels && loses_epilogue(edit, conv)) return false;
  const std::int64_t channels = (*result)[1];
  Node early = conv;
  early.outputs.clear();
  early.inputs[0] = resize.inputs[0];
  Node late = resize;
  late.outputs.clear();
  // Sizes of all dimensions name the channels too.
  if (late.has_input(3) && late.integers("axes").empty()) {
    std::optional<std::vector<std::int64_t>> sizes = integer_constant(graph, late.inputs[3]);
    if (!sizes || sizes->size() != 4) return false;
    (*sizes)[1] = channels;
    late.inputs[3] = add_integers(graph, late.name + ":sizes", *sizes);
  }
  late.inputs[0] = edit.insert(index, std::move(early));
  edit.replace(index, edit.insert(index, std::move(late)));
  edit.remove(*source);
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void pointwise_before_resize(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
