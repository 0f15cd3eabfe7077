// y = x < 0 ? slope x : x; slope broadcasts to x, never the other way.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  infer_binary(context);
  if (context.outputs()[0].shape != context.shape(0))
    context.mismatch("slope " + shape_string(context.shape(1)) + " does not broadcast to x " +
                     shape_string(context.shape(0)));
}

struct ScaleNegative {
  template <class T>
  T operator()(T x, T slope) const {
    return x < T{0} ? static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(slope)) : x;
  }
};

double prelu(const double* x, const double*) { return x[0] < 0 ? x[0] * x[1] : x[0]; }

}  // namespace

constinit const OpDef kPRelu{.name = "PRelu",
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .traits = kElementwiseBinary,
                             .infer = infer,
                             .evaluate = evaluate_arithmetic<ScaleNegative>,
                             .scalar = {prelu}};

}  // namespace saccade::ops
