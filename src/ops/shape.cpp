// The dimensions [start, end) of the input, as int64.
#include <algorithm>

#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"start", AttributeKind::integer}, {"end", AttributeKind::integer}};

Shape selected(const NodeView& context) {
  const auto rank = static_cast<std::int64_t>(context.rank(0));
  const auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const std::int64_t start = clamp(context.node().integer("start", 0));
  const std::int64_t end = std::max(start, clamp(context.node().integer("end", rank)));
  return {context.shape(0).begin() + start, context.shape(0).begin() + end};
}

void infer(InferContext& context) {
  context.output(0, DType::i64, {static_cast<std::int64_t>(selected(context).size())});
}

void evaluate(EvalContext& context) {
  const Shape dims = selected(context);
  std::copy(dims.begin(), dims.end(), context.out().data<std::int64_t>());
}

}  // namespace

constinit const OpDef kShape{.name = "Shape",
                             .attributes = kAttributes,
                             .traits = kShapeArithmetic | kNativeHalf,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
