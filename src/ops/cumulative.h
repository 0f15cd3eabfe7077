// What CumSum and CumProd share.
#pragma once

#include "ops/elementwise.h"
#include "ops/lines.h"

namespace saccade::ops {

inline constexpr AttributeDef kCumulativeAttributes[] = {{"exclusive", AttributeKind::integer},
                                                         {"reverse", AttributeKind::integer}};

void infer_cumulative(InferContext& context);

/// y[i] = the first i + 1 elements joined by F, starting at F's identity; exclusive: the first i elements.
template <class F>
void evaluate_cumulative(EvalContext& context) {
  const std::size_t axis = normalize_axis(context, scalar_integer(context, 1), context.rank(0));
  const bool exclusive = context.node().integer("exclusive", 0) != 0,
             reverse = context.node().integer("reverse", 0) != 0;
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_line(context.shape(0), axis, [&](std::int64_t start, std::int64_t stride, std::int64_t count) {
      Sum sum = F::template identity<Sum>();
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = start + (reverse ? count - 1 - i : i) * stride;
        const Sum before = sum;
        sum = F{}(sum, static_cast<Sum>(x[at]));
        y[at] = static_cast<T>(exclusive ? before : sum);
      }
    });
  });
}

template <class F>
constexpr OpDef cumulative(std::string_view name) {
  OpDef op;
  op.name = name;
  op.attributes = kCumulativeAttributes;
  op.min_inputs = op.max_inputs = 2;
  op.infer = infer_cumulative;
  op.evaluate = evaluate_cumulative<F>;
  return op;
}

}  // namespace saccade::ops
