// What ArgMax and ArgMin share.
#pragma once

#include "ops/lines.h"

namespace saccade::ops {

inline constexpr AttributeDef kArgReduceAttributes[] = {{"axis", AttributeKind::integer},
                                                        {"keepdims", AttributeKind::integer},
                                                        {"select_last_index", AttributeKind::integer}};

void infer_arg_reduce(InferContext& context);

template <class Better>
void evaluate_arg_reduce(EvalContext& context) {
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
  const bool last = context.node().integer("select_last_index", 0) != 0;
  std::int64_t* y = context.out().data<std::int64_t>();
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    for_each_line(context.shape(0), axis, [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < count; ++i) {
        const T candidate = x[first + i * stride], leader = x[first + best * stride];
        if (Better{}(candidate, leader) || (last && candidate == leader)) best = i;
      }
      *y++ = best;
    });
  });
}

template <class Better>
constexpr OpDef arg_reduction(std::string_view name) {
  OpDef op;
  op.name = name;
  op.attributes = kArgReduceAttributes;
  op.infer = infer_arg_reduce;
  op.evaluate = evaluate_arg_reduce<Better>;
  return op;
}

}  // namespace saccade::ops
