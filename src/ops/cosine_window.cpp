// A window a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) of the size that the input gives; N is the size for a
// periodic window, one less for a symmetric one.
#include <cmath>
#include <numbers>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"coefficients", AttributeKind::reals, true},
                                        {"periodic", AttributeKind::integer},
                                        {"dtype", AttributeKind::text}};

void infer(InferContext& context) {
  const std::int64_t size = scalar_integer(context, 0);
  if (size < 0) context.fail("the window's size is " + std::to_string(size));
  if (context.node().reals("coefficients").size() != 3) context.fail("three coefficients are needed");
  context.output(0, parse_dtype(context, context.node().text("dtype", "float32")), {size});
}

void evaluate(EvalContext& context) {
  const std::int64_t size = context.output_type(0).shape[0];
  const std::vector<float> a = context.node().reals("coefficients");
  const bool periodic = context.node().integer("periodic", 1) != 0;
  const double period = static_cast<double>(periodic ? size : size > 1 ? size - 1 : 1);
  Tensor y(DType::f64, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    y.data<double>()[i] = static_cast<double>(a[0]) - static_cast<double>(a[1]) * std::cos(angle) +
                          static_cast<double>(a[2]) * std::cos(2 * angle);
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kCosineWindow{.name = "CosineWindow",
                                    .attributes = kAttributes,
                                    .traits = kNativeHalf,
                                    .infer = infer,
                                    .evaluate = evaluate};

}  // namespace saccade::ops
