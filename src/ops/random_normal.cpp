// A tensor of the given shape with normally distributed numbers, from a stream of our own that `seed`
// chooses.
#include <cmath>
#include <numbers>

#include "ops/convert.h"
#include "ops/random.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"mean", AttributeKind::real},
                                        {"scale", AttributeKind::real},
                                        {"seed", AttributeKind::integer, true},
                                        {"dtype", AttributeKind::text}};

/// Box and Muller's transform of two evenly distributed numbers for each.
void evaluate(EvalContext& context) {
  const auto mean = static_cast<double>(context.node().real("mean", 0)),
             scale = static_cast<double>(context.node().real("scale", 1));
  const TensorType& type = context.output_type(0);
  const RandomStream stream(context.node().integer("seed", 0));
  Tensor y(DType::f64, type.shape);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const auto at = 2 * static_cast<std::uint64_t>(i);
    const double radius = std::sqrt(-2 * std::log(1 - stream.uniform(at)));
    y.data<double>()[i] = mean + scale * radius * std::cos(2 * std::numbers::pi * stream.uniform(at + 1));
  }
  context.set(0, convert(y, type.dtype));
}

}  // namespace

constinit const OpDef kRandomNormal{.name = "RandomNormal",
                                    .attributes = kAttributes,
                                    .traits = kNondeterministic | kNativeHalf,
                                    .infer = infer_random,
                                    .evaluate = evaluate};

}  // namespace saccade::ops
