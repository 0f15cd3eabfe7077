// y = (x - mean) / sqrt(variance + epsilon) * scale + bias per channel: inference only.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"epsilon", AttributeKind::real}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 2) context.mismatch("input " + shape_string(x) + " has no channel dimension");
  constexpr const char* kNames[] = {"x", "scale", "bias", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i)
    if (context.shape(i) != Shape{x[1]})
      context.mismatch(std::string(kNames[i]) + " has shape " + shape_string(context.shape(i)) +
                       ", expected " + std::to_string(x[1]));
  context.output(0, context.dtype(0), x);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t size = product(shape, 2, shape.size());
  const double epsilon = static_cast<double>(context.node().real("epsilon", 1e-5f));
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    const auto value = [&](std::size_t input, std::int64_t c) {
      return static_cast<double>(context.input(input).data<T>()[c]);
    };
    for (std::int64_t p = 0; p < shape[0] * shape[1]; ++p) {
      const std::int64_t c = p % shape[1];
      const double scale = value(1, c) / std::sqrt(value(4, c) + epsilon);
      for (std::int64_t i = p * size; i < (p + 1) * size; ++i)
        y[i] = static_cast<T>((static_cast<double>(x[i]) - value(3, c)) * scale + value(2, c));
    }
  });
}

}  // namespace

constinit const OpDef kBatchNormalization{.name = "BatchNormalization",
                                          .attributes = kAttributes,
                                          .min_inputs = 5,
                                          .max_inputs = 5,
                                          .infer = infer,
                                          .evaluate = evaluate};

}  // namespace saccade::ops
