// The dimensions from `axis` on divided by the root of their mean square, then scaled by a tensor that
// broadcasts to the input.
#include <cmath>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}, {"epsilon", AttributeKind::real}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  normalize_axis(context, context.node().integer("axis", -1), x.size());
  if (!is_float(context.dtype(0))) context.unsupported("not defined for integers");
  if (broadcast_shapes(context, context.shape(1), x) != x)
    context.mismatch("scale " + shape_string(context.shape(1)) + " does not broadcast to " + shape_string(x));
  context.output(0, context.dtype(1), x);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", -1), shape.size());
  const std::int64_t outer = product(shape, 0, axis), size = product(shape, axis, shape.size());
  const double epsilon = static_cast<double>(context.node().real("epsilon", 1e-5f));
  Tensor y = convert(context.input(0), DType::f64);
  if (context.input(0).dtype() == DType::f64) y = y.clone();
  const Tensor scale = convert(context.input(1), DType::f64);
  double* data = y.data<double>();
  for (std::int64_t o = 0; o < outer; ++o) {
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) squares += data[o * size + i] * data[o * size + i];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(size) + epsilon);
    for (std::int64_t i = 0; i < size; ++i) data[o * size + i] *= inverse;
  }
  const Strides strides = broadcast_strides(scale.shape(), shape);
  for_each_row<2>(shape, {dense_strides(shape), strides}, [&](const auto& at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) data[at[0] + i] *= scale.data<double>()[at[1] + i * step(strides)];
  });
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kRMSNormalization{.name = "RMSNormalization",
                                        .attributes = kAttributes,
                                        .min_inputs = 2,
                                        .max_inputs = 2,
                                        .infer = infer,
                                        .evaluate = evaluate};

}  // namespace saccade::ops
