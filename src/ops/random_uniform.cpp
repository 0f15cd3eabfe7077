// A tensor of the given shape with numbers evenly distributed over [low, high), from a stream of our own that
// `seed` chooses.
#include <cmath>

#include "ops/convert.h"
#include "ops/random.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"low", AttributeKind::real},
                                        {"high", AttributeKind::real},
                                        {"seed", AttributeKind::integer, true},
                                        {"dtype", AttributeKind::text}};

void evaluate(EvalContext& context) {
  const auto low = static_cast<double>(context.node().real("low", 0)),
             high = static_cast<double>(context.node().real("high", 1));
  const TensorType& type = context.output_type(0);
  const RandomStream stream(context.node().integer("seed", 0));
  Tensor y(DType::f64, type.shape);
  // 24 bits, so that no rounding to single precision reaches the upper bound of [0, 1).
  for (std::int64_t i = 0; i < y.count(); ++i)
    y.data<double>()[i] =
        low + (high - low) * std::floor(stream.uniform(static_cast<std::uint64_t>(i)) * 0x1p24) * 0x1p-24;
  context.set(0, convert(y, type.dtype));
}

}  // namespace

constinit const OpDef kRandomUniform{.name = "RandomUniform",
                                     .attributes = kAttributes,
                                     .traits = kNondeterministic | kNativeHalf,
                                     .infer = infer_random,
                                     .evaluate = evaluate};

}  // namespace saccade::ops
