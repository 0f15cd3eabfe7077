#include "compiler/passes/pointwise_before_resize.h"

#include <algorithm>
#include <array>

#include "compiler/pointwise.h"
#include "compiler/rewrite.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Whether its sizes are for channels too.
bool names_channels(const Node& resize) {
  const std::vector<std::int64_t> axes = resize.integers("axes");
  return axes.empty() ||
         std::any_of(axes.begin(), axes.end(), [](auto axis) { return axis == 1 || axis == -3; });
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
  if (!is_plain_pointwise(graph, conv)) return false;
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
  if (resize.has_input(3) && !resize.integers("axes").empty() && names_channels(resize) &&
      (*result)[1] != (*small)[1])
    return false;
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

// Up to here a pass over the large plane costs more than a quarter of the convolution.
constexpr std::int64_t kFewChannels = 64;

// conv(x + resize(y)) = conv(x) + resize(conv(y)): the first convolution adds the second tensor while it
// writes, so that the sum needs no pass of its own.
bool rewrite_sum(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& conv = graph.nodes[index];
  if (!is_plain_pointwise(graph, conv) || conv.integer("group", 1) != 1) return false;
  const std::optional<std::size_t> sum = edit.producer(conv.inputs[0], "Add");
  if (!sum || !edit.uses().single(conv.inputs[0])) return false;
  const Node& add = graph.nodes[*sum];
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<std::size_t> source = edit.producer(add.inputs[slot], "Resize");
    if (!source || !edit.uses().single(add.inputs[slot])) continue;
    const Node& resize = graph.nodes[*source];
    const Shape* small = known_shape(graph, resize.inputs[0]);
    const Shape* large = known_shape(graph, resize.outputs[0]);
    const Shape* other = known_shape(graph, add.inputs[1 - slot]);
    const Shape* result = known_shape(graph, conv.outputs[0]);
    if (!averages(resize) || small == nullptr || large == nullptr || other == nullptr || result == nullptr)
      continue;
    // Sizes of all dimensions would name the channels too.
    if (resize.has_input(3) && names_channels(resize) && (*result)[1] != (*large)[1]) continue;
    if (small->size() != 4 || *other != *large || (*small)[0] != (*large)[0] || (*small)[1] != (*large)[1])
      continue;
    if (2 * element_count(*small) > element_count(*large)) continue;
    if ((*large)[1] > kFewChannels || (*result)[1] > (*large)[1]) continue;
    Node low = conv;
    low.name += ":low";
    low.outputs.clear();
    low.inputs = {resize.inputs[0], conv.inputs[1]};
    Node enlarged = resize;
    enlarged.outputs.clear();
    Node high = conv;
    high.outputs.clear();
    high.inputs[0] = add.inputs[1 - slot];
    enlarged.inputs[0] = edit.insert(index, std::move(low));
    const ValueId up = edit.insert(index, std::move(enlarged));
    const ValueId direct = edit.insert(index, std::move(high));
    edit.replace(index, edit.insert(index, Node{conv.name + ":sum", "Add", {direct, up}, {}, {}}));
    edit.remove(*sum);
    edit.remove(*source);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 2> kRules{rewrite, rewrite_sum};

}  // namespace

void pointwise_before_resize(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
