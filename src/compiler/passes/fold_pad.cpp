#include "compiler/passes/fold_pad.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

// Whether nothing that `id` holds can be negative: then a padding of zero never beats a maximum.
bool never_negative(const Edit& edit, const ir::Graph& graph, ir::ValueId id) {
  const std::int64_t producer = edit.uses().producer(id);
  if (producer < 0) return false;
  const Node& node = graph.nodes[static_cast<std::size_t>(producer)];
  if (node.op == "Relu" || node.op == "Sigmoid" || node.op == "HardSigmoid" || node.op == "Abs") return true;
  if (node.op == "Clip") {
    const std::optional<float> low =
        node.has_input(1) ? scalar_constant(graph, node.inputs[1]) : std::nullopt;
    return low && *low >= 0;
  }
  return false;
}

// Pads of the spatial dimensions (begins, then ends), if all others are zero and none is negative.
std::optional<std::vector<std::int64_t>> spatial_pads(const ir::Graph& graph, const Node& pad,
                                                      std::size_t rank) {
  const std::optional<std::vector<std::int64_t>> given = integer_constant(graph, pad.inputs[1]);
  if (!given || given->size() % 2 != 0) return std::nullopt;
  std::vector<std::int64_t> full(2 * rank, 0);
  const std::size_t count = given->size() / 2;
  std::vector<std::int64_t> axes;
  if (pad.has_input(3)) {
    const std::optional<std::vector<std::int64_t>> listed = integer_constant(graph, pad.inputs[3]);
    if (!listed || listed->size() != count) return std::nullopt;
    axes = *listed;
  } else {
    if (count != rank) return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    full[static_cast<std::size_t>(axis)] = (*given)[i];
    full[static_cast<std::size_t>(axis) + rank] = (*given)[i + count];
  }
  if (std::any_of(full.begin(), full.end(), [](std::int64_t v) { return v < 0; })) return std::nullopt;
  if (full[0] != 0 || full[1] != 0 || full[rank] != 0 || full[rank + 1] != 0) return std::nullopt;
  std::vector<std::int64_t> result(full.begin() + 2, full.begin() + static_cast<std::ptrdiff_t>(rank));
  result.insert(result.end(), full.begin() + static_cast<std::ptrdiff_t>(rank) + 2, full.end());
  return result;
}

bool fold(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  Node& node = graph.nodes[index];
  const bool conv = node.op == "Conv";
  const bool average = node.op == "AveragePool";
  if ((!conv && !average && node.op != "MaxPool") || node.text("auto_pad", "explicit") != "explicit")
    return false;
  // How many windows hang over the end depends on whether what they hang over counts as padding.
  if (node.integer("ceil_mode", 0) != 0) return false;
  const std::optional<std::size_t> source = edit.producer(node.inputs[0], "Pad");
  if (!source || !edit.uses().single(node.inputs[0])) return false;
  const Node& pad = graph.nodes[*source];
  const Shape* shape = known_shape(graph, pad.inputs[0]);
  if (pad.text("mode", "constant") != "constant" || shape == nullptr || shape->size() < 3) return false;
  if (graph.value(pad.inputs[0]).dtype != DType::f32) return false;
  float value = 0;
  if (pad.has_input(2)) {
    const std::optional<float> given = scalar_constant(graph, pad.inputs[2]);
    if (!given) return false;
    value = *given;
  }
  const std::optional<std::vector<std::int64_t>> extra = spatial_pads(graph, pad, shape->size());
  if (!extra) return false;
  const std::size_t spatial = shape->size() - 2;
  std::vector<std::int64_t> pads = node.integers("pads", std::vector<std::int64_t>(2 * spatial, 0));
  if (pads.size() != 2 * spatial) return false;
  const bool padded_before = std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; });
  if (conv) {
    if (value != 0) return false;
  } else if (average) {
    // The padding counted as cells of the plane, so the operator must count its pads; it must not start
    // counting others.
    if (value != 0 || (padded_before && node.integer("count_include_pad", 0) == 0)) return false;
  } else {
    const bool lowest = value <= std::numeric_limits<float>::lowest();
    if (!lowest && !(value == 0 && never_negative(edit, graph, pad.inputs[0]))) return false;
    if (node.outputs.size() > 1 && node.outputs[1] != ir::kNoValue)
      return false;  // indices count in the padded plane
    // Each window must hold a real cell, or the padding itself would be the maximum.
    const std::vector<std::int64_t> kernel = node.integers("kernel_shape");
    const std::vector<std::int64_t> dilations =
        node.integers("dilations", std::vector<std::int64_t>(spatial, 1));
    for (std::size_t d = 0; d < spatial; ++d) {
      if (dilations[d] != 1 || pads[d] + (*extra)[d] >= kernel[d] ||
          pads[d + spatial] + (*extra)[d + spatial] >= kernel[d])
        return false;
    }
  }
  for (std::size_t i = 0; i < pads.size(); ++i) pads[i] += (*extra)[i];
  node.attributes["pads"] = pads;
  if (average) node.attributes["count_include_pad"] = std::int64_t{1};
  node.inputs[0] = pad.inputs[0];
  edit.remove(*source);
  edit.mark_changed();
  return true;
}

constexpr std::array<Rule, 1> kRules{fold};

}  // namespace

void fold_pad(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
