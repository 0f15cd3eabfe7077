// The largest element of each plane; spatial dimensions stay, with size 1.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  Shape shape = context.shape(0);
  if (shape.size() < 3) context.mismatch("input " + shape_string(shape) + " has no spatial dimension");
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] == 0) context.mismatch("input " + shape_string(shape) + " has empty planes");
    shape[i] = 1;
  }
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t size = product(shape, 2, shape.size());
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t p = 0; p < context.out().count(); ++p) {
      y[p] = *std::max_element(x + p * size, x + (p + 1) * size);
    }
  });
}

}  // namespace

constinit const OpDef kGlobalMaxPool{.name = "GlobalMaxPool", .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
