// The upper or lower triangle of matrices, counted from diagonal k; the rest is 0.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"upper", AttributeKind::integer}};

void infer(InferContext& context) {
  if (context.rank(0) < 2) context.mismatch("input " + shape_string(context.shape(0)) + " is no matrix");
  if (context.constant(1) != nullptr) scalar_integer(context, 1);
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const bool upper = context.node().integer("upper", 1) != 0;
  // Diagonals beyond the matrix are all alike.
  const std::int64_t k = context.has(1) ? std::clamp(scalar_integer(context, 1), -rows - 1, columns + 1) : 0;
  visit_width(context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = cells<T>(context.input(0));
    T* y = cells<T>(context.out());
    for (std::int64_t i = 0; i < context.out().count(); ++i) {
      const std::int64_t diagonal = i % columns - i / columns % rows;
      y[i] = (upper ? diagonal >= k : diagonal <= k) ? x[i] : T{0};
    }
  });
}

}  // namespace

constinit const OpDef kTrilu{.name = "Trilu",
                             .attributes = kAttributes,
                             .min_inputs = 1,
                             .max_inputs = 2,
                             .traits = kNativeHalf,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
