// y = min(max(x, min), max): an absent bound is none, and where min > max the result is max.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr Parameter kParameters[] = {{"min", -HUGE_VAL}, {"max", HUGE_VAL}};

double clip(const double* x, const double* p) {
  const double raised = x[0] < p[0] ? p[0] : x[0];  // NaN stays NaN
  return raised > p[1] ? p[1] : raised;
}

void infer(InferContext& context) {
  for (std::size_t i = 1; i < 3; ++i) {
    if (!context.has(i)) continue;
    if (context.dtype(i) != context.dtype(0))
      context.fail(std::string("bound is ") + dtype_name(context.dtype(i)) + ", data is " +
                   dtype_name(context.dtype(0)));
    if (element_count(context.shape(i)) != 1)
      context.fail("bound must have one element, has shape " + shape_string(context.shape(i)));
  }
  infer_unary(context);
}

void evaluate(EvalContext& context) {
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    const T* least = context.has(1) ? context.input(1).data<T>() : nullptr;
    const T* most = context.has(2) ? context.input(2).data<T>() : nullptr;
    for (std::int64_t i = 0; i < context.out().count(); ++i) {
      T v = x[i];
      if (least != nullptr && v < *least) v = *least;
      if (most != nullptr && v > *most) v = *most;
      y[i] = v;
    }
  });
}

}  // namespace

constinit const OpDef kClip{.name = "Clip",
                            .min_inputs = 1,
                            .max_inputs = 3,
                            .traits = kElementwiseUnary | kActivation,
                            .infer = infer,
                            .evaluate = evaluate,
                            .scalar = {clip, kParameters}};

}  // namespace saccade::ops
