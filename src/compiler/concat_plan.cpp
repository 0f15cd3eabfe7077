#include "compiler/concat_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/edit.h"
#include "compiler/layout.h"

namespace saccade::compiler {

namespace {

// Their results are other names for their inputs' memory.
constexpr std::array<std::string_view, 6> kViews{"Reshape", "Transpose", "Slice",
                                                 "Split",   "Identity",  "Reorder"};

bool fits(const Shape& whole, const Shape& part, Layout layout) {
  if (whole.size() < 3) layout = Layout::plain;
  TensorDesc slice{true, DType::f32, layout, part, dense_strides(whole, layout)};
  return as_layout(slice, layout).has_value() && element_count(part) > 0;
}

}  // namespace

ConcatPlan plan_concats(const ir::Graph& graph, const std::vector<Layout>& layouts) {
  ConcatPlan plan;
  const ir::Uses uses(graph);
  // Outer concatenations first, so that inner ones become parts of them.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (node->op != "Concat") continue;
    const ir::ValueId result = node->outputs[0];
    const Shape& whole = *graph.value(result).shape;
    std::int64_t axis = node->integer("axis", 0);
    if (axis < 0) axis += static_cast<std::int64_t>(whole.size());
    const std::size_t index = plan.concats.size();
    plan.concats.push_back(
        {result, static_cast<std::size_t>(axis), layouts[static_cast<std::size_t>(result)]});
    plan.by_result[result] = index;
    std::int64_t begin = 0;
    for (const ir::ValueId id : node->inputs) {
      const Shape& shape = *graph.value(id).shape;
      const std::int64_t producer = uses.producer(id);
      const bool computed = producer >= 0 && !graph.value(id).constant &&
                            std::find(kViews.begin(), kViews.end(),
                                      graph.nodes[static_cast<std::size_t>(producer)].op) == kViews.end();
      if (computed && layouts[static_cast<std::size_t>(id)] == plan.concats[index].layout &&
          fits(whole, shape, plan.concats[index].layout))
        plan.parts.emplace(id, ConcatPlan::Part{index, begin});
      begin += shape[static_cast<std::size_t>(axis)];
    }
  }
  return plan;
}

}  // namespace saccade::compiler
