// y = (x - zero_point) * scale; one scale, one for each slice along `axis`, or one for each block of
// `block_size` along it.
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer},
                                        {"block_size", AttributeKind::integer}};

void infer(InferContext& context) {
  if (!is_float(context.dtype(1)))
    context.fail(std::string("scale must be a float, is ") + dtype_name(context.dtype(1)));
  const Granularity granularity(context);
  granularity.check(1, "scale");
  granularity.check(2, "zero point");
  if (context.has(2) && context.dtype(2) != context.dtype(0))
    context.fail("zero point and data differ in type");
  context.output(0, context.dtype(1), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Granularity granularity(context);
  const std::vector<double> scale = granularity.values(context, 1), zero = granularity.values(context, 2);
  const Tensor x = convert(context.input(0), DType::f64);
  visit_float(context, context.output_type(0).dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const std::size_t at = granularity.index(i);
      y[i] = static_cast<T>((x.data<double>()[i] - zero[at]) * scale[at]);
    }
  });
}

}  // namespace

constinit const OpDef kDequantizeLinear{.name = "DequantizeLinear",
                                        .attributes = kAttributes,
                                        .min_inputs = 2,
                                        .max_inputs = 3,
                                        .infer = infer,
                                        .evaluate = evaluate};

}  // namespace saccade::ops
