// Bitwise operators of integers.
#pragma once

#include "ops/elementwise.h"

namespace saccade::ops {

void infer_bitwise(InferContext& context);

template <class F>
void evaluate_bitwise(EvalContext& context) {
  visit_integer(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    apply_binary<T, T>(context, F{});
  });
}

template <class F>
constexpr OpDef bitwise(std::string_view name) {
  OpDef op;
  op.name = name;
  op.min_inputs = op.max_inputs = 2;
  op.traits = kElementwiseBinary;
  op.infer = infer_bitwise;
  op.evaluate = evaluate_bitwise<F>;
  return op;
}

}  // namespace saccade::ops
