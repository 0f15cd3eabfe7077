// y = saturate(round(x / scale) + zero_point), ties to even; one scale, or one for each slice along `axis`.
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

/// Slices along the axis: 1 where one scale serves all.
std::size_t axis_of(const NodeView& context) {
  if (element_count(context.shape(1)) == 1) return 0;
  return normalize_axis(context, context.node().integer("axis", 1), context.rank(0));
}

void infer(InferContext& context) {
  const DType result = context.has(2) ? context.dtype(2) : DType::u8;
  if (is_float(result) || result == DType::boolean)
    context.unsupported(std::string("quantises to ") + dtype_name(result));
  const std::int64_t length = context.rank(0) == 0 ? 1 : context.shape(0)[axis_of(context)];
  check_granularity(context, 1, length, "scale");
  check_granularity(context, 2, length, "zero point");
  context.output(0, result, context.shape(0));
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(context);
  const std::int64_t length = shape.empty() ? 1 : shape[axis],
                     inner = shape.empty() ? 1 : product(shape, axis + 1, shape.size());
  const std::vector<double> scale = per_slice(context, 1, length), zero = per_slice(context, 2, length);
  const Tensor x = convert(context.input(0), DType::f32);
  visit_integer(context, context.output_type(0).dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const auto slice = static_cast<std::size_t>(i / inner % length);
      // The quotient as f32, so that its rounding is the one of f32 programs.
      const float quotient = x.data<float>()[i] / static_cast<float>(scale[slice]);
      y[i] = saturate<T>(std::nearbyint(static_cast<double>(quotient)) + zero[slice]);
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
