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

// From here on, multiplying a part of a concatenation while it is small saves more than enlarging and adding
// its products costs.
constexpr std::int64_t kWidePart = 128;

// The Resize that makes a part of a concatenation, where it is worth multiplying in front of it.
std::optional<std::size_t> wide_resize(const Edit& edit, ValueId part, std::int64_t channels) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> source = edit.producer(part, "Resize");
  if (!source || !edit.uses().single(part)) return std::nullopt;
  const Node& resize = graph.nodes[*source];
  const Shape* small = known_shape(graph, resize.inputs[0]);
  const Shape* large = known_shape(graph, part);
  if (!averages(resize) || small == nullptr || large == nullptr || small->size() != 4 ||
      (*small)[0] != (*large)[0] || (*small)[1] != (*large)[1] || (*small)[1] < kWidePart ||
      (*small)[1] < channels || 2 * element_count(*small) > element_count(*large))
    return std::nullopt;
  if ((*small)[2] * (*small)[3] == 1) return std::nullopt;  // as good as a bias
  if (resize.has_input(3) && names_channels(resize) && (*small)[1] != channels) return std::nullopt;
  return source;
}

// Columns [begin, begin + count) of the filters, behind those that are there.
void append_columns(const Tensor& filters, std::int64_t begin, std::int64_t count,
                    std::vector<std::vector<float>>& rows) {
  for (std::int64_t o = 0; o < filters.dim(0); ++o) {
    const float* from = filters.data<float>() + o * filters.dim(1) + begin;
    rows[static_cast<std::size_t>(o)].insert(rows[static_cast<std::size_t>(o)].end(), from, from + count);
  }
}

// conv(concat(x, resize(y))) = conv(x) + resize(conv(y)), where y is small and wide.
bool rewrite_concat(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node conv = graph.nodes[index];
  if (!is_plain_pointwise(graph, conv) || conv.integer("group", 1) != 1) return false;
  const std::optional<std::size_t> source = edit.producer(conv.inputs[0], "Concat");
  const Tensor* weights = graph.constant_input(conv, 1);
  if (!source || !edit.uses().single(conv.inputs[0]) || weights == nullptr ||
      weights->dtype() != DType::f32 || integer_weights(*weights) ||
      graph.nodes[*source].integer("axis", 0) != 1)
    return false;
  const Node concat = graph.nodes[*source];
  const Tensor filters = *weights;
  const std::int64_t channels = filters.dim(0);
  if (filters.count() == 0) return false;
  const auto convolved = [&](std::vector<ValueId> parts, const std::vector<std::vector<float>>& rows,
                             const std::string& name, bool with_bias) {
    Node joined = concat;
    joined.outputs.clear();
    joined.inputs = parts;
    Node part = conv;
    part.name = name;
    part.outputs.clear();
    std::vector<float> values;
    for (const std::vector<float>& row : rows) values.insert(values.end(), row.begin(), row.end());
    part.inputs = {parts.size() == 1 ? parts[0] : edit.insert(index, std::move(joined)),
                   add_floats(graph, name + ":filters",
                              {channels, static_cast<std::int64_t>(rows[0].size()), 1, 1}, values)};
    if (with_bias && conv.has_input(2)) part.inputs.push_back(conv.inputs[2]);
    return edit.insert(index, std::move(part));
  };
  const std::vector<std::vector<float>> none(static_cast<std::size_t>(channels));
  std::vector<ValueId> kept;
  std::vector<std::vector<float>> kept_rows = none;
  std::vector<std::pair<std::size_t, std::vector<std::vector<float>>>> moved;
  std::int64_t begin = 0;
  for (const ValueId id : concat.inputs) {
    const Shape* shape = known_shape(graph, id);
    if (shape == nullptr || shape->size() != 4 || (*shape)[1] == 0) return false;
    if (const std::optional<std::size_t> resize = wide_resize(edit, id, channels)) {
      append_columns(filters, begin, (*shape)[1], moved.emplace_back(*resize, none).second);
    } else {
      kept.push_back(id);
      append_columns(filters, begin, (*shape)[1], kept_rows);
    }
    begin += (*shape)[1];
  }
  if (moved.empty() || begin != filters.dim(1)) return false;
  ValueId sum = kept.empty() ? ir::kNoValue : convolved(kept, kept_rows, conv.name, true);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    Node late = graph.nodes[moved[i].first];
    const std::string name = conv.name + ":" + std::to_string(i);
    late.outputs.clear();
    late.inputs[0] = convolved({late.inputs[0]}, moved[i].second, name, sum == ir::kNoValue);
    const ValueId up = edit.insert(index, std::move(late));
    sum = sum == ir::kNoValue ? up : edit.insert(index, Node{name + ":sum", "Add", {sum, up}, {}, {}});
    edit.remove(moved[i].first);
  }
  edit.replace(index, sum);
  edit.remove(*source);
  return true;
}

constexpr std::array<Rule, 3> kRules{rewrite, rewrite_sum, rewrite_concat};

}  // namespace

void pointwise_before_resize(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
