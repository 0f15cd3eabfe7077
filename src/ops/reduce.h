// What reductions share: axes as an input, keepdims and noop_with_empty_axes as attributes.
#pragma once

#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

inline constexpr AttributeDef kReduceAttributes[] = {{"keepdims", AttributeKind::integer},
                                                     {"noop_with_empty_axes", AttributeKind::integer}};

/// Changes no result: the target may reduce each part of the source as soon as it is written. Set by
/// means_while_written.
inline constexpr AttributeDef kFollow{"follow", AttributeKind::integer};

/// The axes to reduce, sorted; all of them where none are given (none with noop_with_empty_axes).
std::vector<std::size_t> reduce_axes(const NodeView& context);
void infer_reduce(InferContext& context);

/// Calls visit(output, walk) for each element of the result, where walk(f) calls f(input) for the elements it
/// reduces.
template <class Visit>
void for_each_reduction(const Shape& shape, const std::vector<std::size_t>& axes, Visit visit) {
  const Strides dense = dense_strides(shape);
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;
  for (std::size_t i = 0, a = 0; i < shape.size(); ++i) {
    const bool reduce = a < axes.size() && axes[a] == i;
    if (reduce) ++a;
    (reduce ? reduced : kept).push_back(shape[i]);
    (reduce ? reduced_strides : kept_strides).push_back(dense[i]);
  }
  for_each_row<2>(kept, {dense_strides(kept), kept_strides}, [&](const auto& at, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t first = at[1] + j * step(kept_strides);
      visit(at[0] + j, [&](auto f) {
        for_each_row<1>(reduced, {reduced_strides}, [&](const auto& from, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) f(first + from[0] + i * step(reduced_strides));
        });
      });
    }
  });
}

/// A reduction as a fold: add(x) for each element, then result<T>(count). Floats accumulate in double.
template <class Fold, bool kBool>
void evaluate_reduce(EvalContext& context) {
  if (context.dtype(0) == DType::boolean && !kBool) context.unsupported("not defined for bool");
  visit_any(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_reduction(context.shape(0), reduce_axes(context), [&](std::int64_t o, auto walk) {
      Fold fold;
      std::int64_t count = 0;
      walk([&](std::int64_t i) {
        fold.add(x[i]);
        ++count;
      });
      y[o] = fold.template result<T>(count);
    });
  });
}

/// kBool: defined for bool too.
template <class Fold, bool kBool = false>
constexpr OpDef reduction(std::string_view name) {
  OpDef op;
  op.name = name;
  op.attributes = kReduceAttributes;
  op.max_inputs = 2;
  op.infer = infer_reduce;
  op.evaluate = evaluate_reduce<Fold, kBool>;
  return op;
}

}  // namespace saccade::ops
