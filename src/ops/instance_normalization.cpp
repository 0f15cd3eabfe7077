// Each plane to mean 0 and variance 1, then scaled and shifted per channel; as passes leave it, with an
// activation behind, with channels in front of `first_channel` that only get the activation, and with mean
// and variance of `groups` ranges of channels in place of single ones.
#include <cmath>

#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"epsilon", AttributeKind::real},          {"first_channel", AttributeKind::integer},
    {"groups", AttributeKind::integer},        {"activation", AttributeKind::text},
    {"activation_alpha", AttributeKind::real}, {"activation_beta", AttributeKind::real}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 3) context.mismatch("input " + shape_string(x) + " has no spatial dimension");
  for (std::size_t i = 1; i < 3; ++i)
    if (context.shape(i) != Shape{x[1]})
      context.mismatch(std::string(i == 1 ? "scale" : "bias") + " has shape " +
                       shape_string(context.shape(i)) + ", expected " + std::to_string(x[1]));
  const std::int64_t groups = context.node().integer("groups", x[1]);
  if (groups != x[1] && (groups < 1 || x[1] % groups != 0))
    context.mismatch(std::to_string(x[1]) + " channels in " + std::to_string(groups) + " groups");
  context.output(0, context.dtype(0), x);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t size = product(shape, 2, shape.size());
  const double epsilon = static_cast<double>(context.node().real("epsilon", 1e-5f));
  const std::int64_t first = context.node().integer("first_channel", 0);
  const std::int64_t groups = context.node().integer("groups", shape[1]);
  const std::int64_t width = groups > 0 ? shape[1] / groups : 1;
  const Activation activation(context);
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t p = 0; p < shape[0] * shape[1]; ++p) {
      if (p % shape[1] < first) {
        for (std::int64_t i = p * size; i < (p + 1) * size; ++i)
          y[i] = static_cast<T>(activation(static_cast<double>(x[i])));
        continue;
      }
      const std::int64_t begin = p / width * width * size, end = begin + width * size;
      double mean = 0, variance = 0;
      for (std::int64_t i = begin; i < end; ++i) mean += static_cast<double>(x[i]);
      mean /= static_cast<double>(end - begin);
      for (std::int64_t i = begin; i < end; ++i)
        variance += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
      variance /= static_cast<double>(end - begin);
      const double scale =
          static_cast<double>(context.input(1).data<T>()[p % shape[1]]) / std::sqrt(variance + epsilon);
      const double bias = static_cast<double>(context.input(2).data<T>()[p % shape[1]]);
      for (std::int64_t i = p * size; i < (p + 1) * size; ++i)
        y[i] = static_cast<T>(activation((static_cast<double>(x[i]) - mean) * scale + bias));
    }
  });
}

}  // namespace

constinit const OpDef kInstanceNormalization{.name = "InstanceNormalization",
                                             .attributes = kAttributes,
                                             .min_inputs = 3,
                                             .max_inputs = 3,
                                             .infer = infer,
                                             .evaluate = evaluate};

}  // namespace saccade::ops
