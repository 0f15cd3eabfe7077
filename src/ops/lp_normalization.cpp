// x divided by its 1- or 2-norm along one axis; a line of norm 0 stays 0.
#include <cmath>

#include "ops/lines.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}, {"p", AttributeKind::integer}};

void infer(InferContext& context) {
  const std::int64_t p = context.node().integer("p", 2);
  if (p != 1 && p != 2) context.fail("p is " + std::to_string(p) + ", expected 1 or 2");
  infer_softmax(context);
}

void evaluate(EvalContext& context) {
  const bool squares = context.node().integer("p", 2) == 2;
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_line(context.shape(0), softmax_axis(context),
                  [&](std::int64_t start, std::int64_t stride, std::int64_t count) {
                    const auto at = [&](std::int64_t i) {
                      return static_cast<double>(x[start + i * stride]);
                    };
                    double norm = 0;
                    for (std::int64_t i = 0; i < count; ++i)
                      norm += squares ? at(i) * at(i) : std::fabs(at(i));
                    if (squares) norm = std::sqrt(norm);
                    for (std::int64_t i = 0; i < count; ++i)
                      y[start + i * stride] = norm == 0 ? T{0} : static_cast<T>(at(i) / norm);
                  });
  });
}

}  // namespace

constinit const OpDef kLpNormalization{
    .name = "LpNormalization", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
