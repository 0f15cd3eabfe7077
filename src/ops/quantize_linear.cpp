// y = saturate(round(x / scale) + zero_point), ties to even; one scale, one for each slice along `axis`, or
// one for each block of `block_size` along it. `bits` = 4 saturates to what four bits hold.
#include <algorithm>

#include "ops/quantization.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer},
                                        {"bits", AttributeKind::integer},
                                        {"block_size", AttributeKind::integer}};

void infer(InferContext& context) {
  const DType result = context.has(2) ? context.dtype(2) : DType::u8;
  if (is_float(result) || result == DType::boolean)
    context.unsupported(std::string("quantises to ") + dtype_name(result));
  const Granularity granularity(context);
  granularity.check(1, "scale");
  granularity.check(2, "zero point");
  context.output(0, result, context.shape(0));
}

void evaluate(EvalContext& context) {
  const Granularity granularity(context);
  const std::vector<double> scale = granularity.values(context, 1), zero = granularity.values(context, 2);
  const bool four_bits = context.node().integer("bits", 8) == 4;
  const Tensor x = convert(context.input(0), DType::f32);
  visit_integer(context, context.output_type(0).dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T low = !four_bits ? std::numeric_limits<T>::min() : static_cast<T>(std::is_signed_v<T> ? -8 : 0),
            high = !four_bits ? std::numeric_limits<T>::max() : static_cast<T>(std::is_signed_v<T> ? 7 : 15);
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const std::size_t at = granularity.index(i);
      // The quotient as f32, so that its rounding is the one of f32 programs.
      const float quotient = x.data<float>()[i] / static_cast<float>(scale[at]);
      y[i] = std::clamp(saturate<T>(std::nearbyint(static_cast<double>(quotient)) + zero[at]), low, high);
    }
  });
}

}  // namespace

constinit const OpDef kQuantizeLinear{.name = "QuantizeLinear",
                                      .attributes = kAttributes,
                                      .min_inputs = 2,
                                      .max_inputs = 3,
                                      .infer = infer,
                                      .evaluate = evaluate};

}  // namespace saccade::ops
