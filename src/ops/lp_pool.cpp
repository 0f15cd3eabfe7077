// The p-norm of each window; padding counts as 0.
#include <cmath>

#include "ops/pool.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"kernel_shape", AttributeKind::integers, true},
                                        {"strides", AttributeKind::integers},
                                        {"dilations", AttributeKind::integers},
                                        {"pads", AttributeKind::integers},
                                        {"ceil_mode", AttributeKind::integer},
                                        {"auto_pad", AttributeKind::text},
                                        {"p", AttributeKind::integer}};

void infer(InferContext& context) {
  if (const std::int64_t p = context.node().integer("p", 2); p < 1) context.fail("p is " + std::to_string(p));
  infer_pool(context);
}

void evaluate(EvalContext& context) {
  const Window window = pool_window(context);
  const auto p = static_cast<double>(context.node().integer("p", 2));
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_window(window, context.shape(0)[0] * context.shape(0)[1],
                    [&](std::int64_t o, std::int64_t, auto walk) {
                      double sum = 0;
                      walk([&](std::int64_t i) { sum += std::pow(std::fabs(static_cast<double>(x[i])), p); });
                      y[o] = static_cast<T>(std::pow(sum, 1 / p));
                    });
  });
}

}  // namespace

constinit const OpDef kLpPool{
    .name = "LpPool", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
