// Reductions, arg max, top k, cumulative sums.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

/// `axes` was an attribute until operator set 17 (12 for ReduceSum).
void translate_reduce(OnnxOperator& op) {
  ir::Attributes attributes{{"keepdims", op.integer("keepdims", 1)}};
  const std::int64_t moved = op.op() == "ReduceSum" ? 13 : 18;
  if (op.opset() >= moved) {
    attributes.emplace("noop_with_empty_axes", op.integer("noop_with_empty_axes", 0));
    return op.finish(op.op(), {op.input(0), op.optional_input(1)}, std::move(attributes));
  }
  const std::vector<std::int64_t> axes = op.integers("axes");
  op.finish(op.op(), {op.input(0), axes.empty() ? ir::kNoValue : op.integers_constant(axes)},
            std::move(attributes));
}

void translate_arg(OnnxOperator& op) {
  translate_with(
      op, {{"axis", std::int64_t{0}}, {"keepdims", std::int64_t{1}}, {"select_last_index", std::int64_t{0}}});
}

void translate_top_k(OnnxOperator& op) {
  ir::Attributes attributes{{"axis", op.integer("axis", -1)},
                            {"largest", op.integer("largest", 1)},
                            {"sorted", op.integer("sorted", 1)}};
  const ir::ValueId k = op.opset() < 10 ? op.integers_constant({op.required_integer("k")}) : op.input(1);
  op.finish("TopK", {op.input(0), k}, std::move(attributes), 2);
}

void translate_cumulative(OnnxOperator& op) {
  translate_with(op, {{"exclusive", std::int64_t{0}}, {"reverse", std::int64_t{0}}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"ArgMax", translate_arg},
    {"ArgMin", translate_arg},
    {"CumProd", translate_cumulative, 26},
    {"CumSum", translate_cumulative, 11},
    {"ReduceL1", translate_reduce},
    {"ReduceL2", translate_reduce},
    {"ReduceLogSum", translate_reduce},
    {"ReduceLogSumExp", translate_reduce},
    {"ReduceMax", translate_reduce},
    {"ReduceMean", translate_reduce},
    {"ReduceMin", translate_reduce},
    {"ReduceProd", translate_reduce},
    {"ReduceSum", translate_reduce},
    {"ReduceSumSquare", translate_reduce},
    {"TopK", translate_top_k},
};

}  // namespace

std::span<const OnnxTranslation> reduce_translations() { return kTranslations; }

}  // namespace saccade::import
