// The p-norm of each plane; spatial dimensions stay, with size 1.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"p", AttributeKind::integer}};

void infer(InferContext& context) {
  Shape shape = context.shape(0);
  if (shape.size() < 3) context.mismatch("input " + shape_string(shape) + " has no spatial dimension");
  if (const std::int64_t p = context.node().integer("p", 2); p < 1) context.fail("p is " + std::to_string(p));
  for (std::size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t size = product(shape, 2, shape.size());
  const auto p = static_cast<double>(context.node().integer("p", 2));
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t plane = 0; plane < context.out().count(); ++plane) {
      double sum = 0;
      for (std::int64_t i = 0; i < size; ++i)
        sum += std::pow(std::fabs(static_cast<double>(x[plane * size + i])), p);
      y[plane] = static_cast<T>(std::pow(sum, 1 / p));
    }
  });
}

}  // namespace

constinit const OpDef kGlobalLpPool{
    .name = "GlobalLpPool", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
