#include "compiler/passes/pooled_branch_as_bias.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/pointwise.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

/// The single pixel [N][C][1][1] that a part of a Concat repeats, or kNoValue.
ValueId repeated_pixel(const Edit& edit, ValueId part) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> source = edit.producer(part, "Resize");
  if (!source) return ir::kNoValue;
  const Node& resize = graph.nodes[*source];
  const std::string mode = resize.text("mode", "nearest");
  // Others read beyond the pixel, where there may be something else.
  if ((mode != "nearest" && mode != "linear") ||
      resize.text("coordinate_transformation", "half_pixel") == "tf_crop_and_resize")
    return ir::kNoValue;
  const Shape *pixel = known_shape(graph, resize.inputs[0]), *plane = known_shape(graph, part);
  if (pixel == nullptr || plane == nullptr || pixel->size() != 4 || plane->size() != 4) return ir::kNoValue;
  const bool one = (*pixel)[2] == 1 && (*pixel)[3] == 1;
  return one && (*pixel)[0] == (*plane)[0] && (*pixel)[1] == (*plane)[1] ? resize.inputs[0] : ir::kNoValue;
}

/// The filters [out][in][1][1] for a range of input channels, appended to those of `to`.
void take_channels(const Tensor& filters, std::int64_t begin, std::int64_t count,
                   std::vector<std::vector<float>>& to) {
  const std::int64_t in = filters.dim(1);
  for (std::int64_t o = 0; o < filters.dim(0); ++o) {
    const float* row = filters.data<float>() + o * in + begin;
    to[static_cast<std::size_t>(o)].insert(to[static_cast<std::size_t>(o)].end(), row, row + count);
  }
}

ValueId add_filters(ir::Graph& graph, const std::string& name, const std::vector<std::vector<float>>& rows) {
  std::vector<float> all;
  for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return add_floats(graph, name,
                    {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()), 1, 1},
                    all);
}

bool rewrite(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& conv = graph.nodes[index];
  if (!is_plain_pointwise(graph, conv) || conv.integer("group", 1) != 1) return false;
  const Tensor* filters = graph.constant_input(conv, 1);
  if (filters == nullptr || filters->dtype() != DType::f32 || integer_weights(*filters)) return false;
  const std::optional<std::size_t> source = edit.producer(conv.inputs[0], "Concat");
  if (!source || !edit.uses().single(conv.inputs[0])) return false;
  const Node& concat = graph.nodes[*source];
  const std::int64_t axis = concat.integer("axis", 1);
  if (axis != 1 && axis != -3) return false;

  const auto filter_count = static_cast<std::size_t>(filters->dim(0));
  std::vector<std::vector<float>> planar(filter_count), pixel(filter_count);
  std::vector<ValueId> planes, pixels;
  std::int64_t channel = 0;
  for (const ValueId part : concat.inputs) {
    const Shape* shape = known_shape(graph, part);
    if (shape == nullptr || shape->size() != 4) return false;
    const ValueId repeated = repeated_pixel(edit, part);
    (repeated == ir::kNoValue ? planes : pixels).push_back(repeated == ir::kNoValue ? part : repeated);
    take_channels(*filters, channel, (*shape)[1], repeated == ir::kNoValue ? planar : pixel);
    channel += (*shape)[1];
  }
  if (planes.empty() || pixels.empty() || channel != filters->dim(1)) return false;

  const auto joined = [&](std::vector<ValueId> parts, const std::string& name) {
    if (parts.size() == 1) return parts[0];
    Node node = concat;
    node.name += name;
    node.inputs = std::move(parts);
    node.outputs.clear();
    return edit.insert(index, std::move(node));
  };
  Node small = conv;
  small.name += ":pixel";
  small.outputs.clear();
  small.inputs = {joined(pixels, ":pixel"), add_filters(graph, small.name, pixel)};
  Node large = conv;
  large.outputs.clear();
  large.inputs.resize(4, ir::kNoValue);
  large.inputs[0] = joined(planes, ":planes");
  large.inputs[1] = add_filters(graph, conv.name + ":planes", planar);
  large.inputs[3] = edit.insert(index, std::move(small));
  edit.replace(index, edit.insert(index, std::move(large)));
  edit.remove(*source);
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void pooled_branch_as_bias(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
