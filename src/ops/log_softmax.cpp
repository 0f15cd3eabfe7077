// The logarithm of softmax along one axis.
#include <algorithm>
#include <cmath>

#include "ops/lines.h"

namespace saccade::ops {

namespace {

void evaluate(EvalContext& context) {
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_line(context.shape(0), softmax_axis(context),
                  [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
                    const auto at = [&](std::int64_t i) {
                      return static_cast<double>(x[first + i * stride]);
                    };
                    double largest = -HUGE_VAL, sum = 0;
                    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, at(i));
                    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(at(i) - largest);
                    for (std::int64_t i = 0; i < count; ++i)
                      y[first + i * stride] = static_cast<T>(at(i) - largest - std::log(sum));
                  });
  });
}

}  // namespace

constinit const OpDef kLogSoftmax{
    .name = "LogSoftmax", .attributes = kAxisAttribute, .infer = infer_softmax, .evaluate = evaluate};

}  // namespace saccade::ops
