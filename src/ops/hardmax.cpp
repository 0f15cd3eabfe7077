// 1 at the first largest element along one axis, 0 elsewhere.
#include "ops/lines.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

void evaluate(EvalContext& context) {
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_line(context.shape(0), softmax_axis(context),
                  [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
                    std::int64_t best = 0;
                    for (std::int64_t i = 0; i < count; ++i) {
                      y[first + i * stride] = 0;
                      if (x[first + i * stride] > x[first + best * stride]) best = i;
                    }
                    if (count > 0) y[first + best * stride] = 1;
                  });
  });
}

}  // namespace

constinit const OpDef kHardmax{
    .name = "Hardmax", .attributes = kAxisAttribute, .infer = infer_softmax, .evaluate = evaluate};

}  // namespace saccade::ops
