// x as uint8 with a scale and zero point made from its own range, which always contains 0.
#include <algorithm>

#include "ops/quantization.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  if (context.dtype(0) != DType::f32)
    context.fail(std::string("needs float32, got ") + dtype_name(context.dtype(0)));
  context.output(0, DType::u8, context.shape(0));
  context.output(1, DType::f32, {});
  context.output(2, DType::u8, {});
}

void evaluate(EvalContext& context) {
  const auto x = context.input(0).values<float>();
  float least = 0, most = 0;
  for (const float v : x) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const float scale = (most - least) / 255.0f;
  const auto zero = saturate<std::uint8_t>(scale == 0 ? 0.0 : static_cast<double>(-least / scale));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double quotient = scale == 0 ? 0.0 : static_cast<double>(x[i] / scale);
    context.out(0).data<std::uint8_t>()[i] = saturate<std::uint8_t>(std::nearbyint(quotient) + zero);
  }
  if (x.empty()) context.out(0);
  if (context.output_count() > 1) context.out(1).data<float>()[0] = scale;
  if (context.output_count() > 2) context.out(2).data<std::uint8_t>()[0] = zero;
}

}  // namespace

constinit const OpDef kDynamicQuantizeLinear{.name = "DynamicQuantizeLinear",
                                             .min_outputs = 1,
                                             .max_outputs = 3,
                                             .infer = infer,
                                             .evaluate = evaluate};

}  // namespace saccade::ops
