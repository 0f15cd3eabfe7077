// The mean of each plane; spatial dimensions stay, with size 1.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/reduce.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {kStoreAs, kFollow};

void infer(InferContext& context) {
  Shape shape = context.shape(0);
  if (shape.size() < 3) context.mismatch("input " + shape_string(shape) + " has no spatial dimension");
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] == 0) context.mismatch("input " + shape_string(shape) + " has empty planes");
    shape[i] = 1;
  }
  context.output(0, stored_type(context), shape);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t size = product(shape, 2, shape.size());
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t p = 0; p < context.out().count(); ++p) {
      double sum = 0;
      for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[p * size + i]);
      y[p] = static_cast<T>(sum / static_cast<double>(size));
    }
  });
}

}  // namespace

constinit const OpDef kGlobalAveragePool{
    .name = "GlobalAveragePool", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
