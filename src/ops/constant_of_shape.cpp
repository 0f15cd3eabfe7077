// A tensor of the given shape, filled with one value (f32 zero by default).
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"value", AttributeKind::tensor}};

void infer(InferContext& context) {
  const Tensor* value = context.node().tensor("value");
  if (value != nullptr && (value->empty() || value->count() != 1))
    context.fail("value must have one element, has shape " + shape_string(value->shape()));
  const Shape shape = integer_list(context, 0);
  for (const std::int64_t dim : shape)
    if (dim < 0) context.fail("dimension " + std::to_string(dim) + " in the shape");
  context.output(0, value != nullptr ? value->dtype() : DType::f32, shape);
}

void evaluate(EvalContext& context) {
  const Tensor* given = context.node().tensor("value");
  const Tensor value = given != nullptr ? *given : Tensor::zeros(DType::f32, {1});
  Tensor& y = context.out();
  visit_width(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    std::fill_n(cells<T>(y), y.count(), cells<T>(value)[0]);
  });
}

}  // namespace

constinit const OpDef kConstantOfShape{.name = "ConstantOfShape",
                                       .attributes = kAttributes,
                                       .traits = kNativeHalf,
                                       .infer = infer,
                                       .evaluate = evaluate};

}  // namespace saccade::ops
