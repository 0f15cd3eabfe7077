// The dimensions from `axis` on to mean 0 and variance 1, then scaled and shifted by tensors that broadcast
// to them. Further outputs: the means and the inverse deviations. Attribute `to`: the type in which the
// result is stored (mixed.h).
#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"axis", AttributeKind::integer}, {"epsilon", AttributeKind::real}, kStoreAs};

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", -1), context.rank(0));
}

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::size_t axis = axis_of(context);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!context.has(i)) continue;
    if (!parameters_fit(context.dtype(i), context.dtype(0))) context.fail("operands differ in type");
    if (broadcast_shapes(context, context.shape(i), x) != x)
      context.mismatch(std::string(i == 1 ? "scale " : "bias ") + shape_string(context.shape(i)) +
                       " does not broadcast to " + shape_string(x));
  }
  Shape statistics = x;
  for (std::size_t i = axis; i < x.size(); ++i) statistics[i] = 1;
  context.output(0, stored_type(context), x);
  context.output(1, DType::f32, statistics);
  context.output(2, DType::f32, statistics);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(context);
  const std::int64_t outer = product(shape, 0, axis), size = product(shape, axis, shape.size());
  const double epsilon = static_cast<double>(context.node().real("epsilon", 1e-5f));
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t o = 0; o < outer; ++o) {
      const auto value = [&](std::int64_t i) { return static_cast<double>(x[o * size + i]); };
      double mean = 0, variance = 0;
      for (std::int64_t i = 0; i < size; ++i) mean += value(i);
      mean /= static_cast<double>(size);
      for (std::int64_t i = 0; i < size; ++i) variance += (value(i) - mean) * (value(i) - mean);
      const double inverse = 1 / std::sqrt(variance / static_cast<double>(size) + epsilon);
      for (std::int64_t i = 0; i < size; ++i) y[o * size + i] = static_cast<T>((value(i) - mean) * inverse);
      if (context.output_count() > 1) context.out(1).data<float>()[o] = static_cast<float>(mean);
      if (context.output_count() > 2) context.out(2).data<float>()[o] = static_cast<float>(inverse);
    }
    const Strides dense = dense_strides(shape);
    const auto apply = [&](std::size_t input, auto join) {
      if (!context.has(input)) return;
      const Strides strides = broadcast_strides(context.shape(input), shape);
      const T* operand = context.input(input).data<T>();
      for_each_row<2>(shape, {dense, strides}, [&](const auto& at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i)
          y[at[0] + i] = static_cast<T>(join(y[at[0] + i], operand[at[1] + i * step(strides)]));
      });
    };
    apply(1, [](T a, T b) { return a * b; });
    apply(2, [](T a, T b) { return a + b; });
  });
}

}  // namespace

constinit const OpDef kLayerNormalization{.name = "LayerNormalization",
                                          .attributes = kAttributes,
                                          .min_inputs = 2,
                                          .max_inputs = 3,
                                          .min_outputs = 1,
                                          .max_outputs = 3,
                                          .infer = infer,
                                          .evaluate = evaluate};

}  // namespace saccade::ops
