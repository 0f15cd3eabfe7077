#include "compiler/pointwise.h"

#include <algorithm>

#include "compiler/edit.h"

namespace saccade::compiler {

bool all_are(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool is_pointwise(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "Conv" || node.text("auto_pad", "explicit") != "explicit") return false;
  const Shape* weights = known_shape(graph, node.inputs[1]);
  return weights != nullptr && weights->size() == 4 && (*weights)[2] == 1 && (*weights)[3] == 1 &&
         all_are(node.integers("strides"), 1) && all_are(node.integers("pads"), 0);
}

bool is_plain_pointwise(const ir::Graph& graph, const ir::Node& node) {
  return is_pointwise(graph, node) && node.text("activation", "none") == "none" && !node.has_input(3) &&
         !node.has_input(4);
}

}  // namespace saccade::compiler
