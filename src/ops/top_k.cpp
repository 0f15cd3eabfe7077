// The k largest or smallest elements along one axis with their indices; among equals the lower index comes
// first.
#include <algorithm>
#include <numeric>

#include "ops/lines.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer},
                                        {"largest", AttributeKind::integer},
                                        {"sorted", AttributeKind::integer}};

void infer(InferContext& context) {
  const std::size_t axis = softmax_axis(context);
  const std::int64_t k = scalar_integer(context, 1);
  Shape shape = context.shape(0);
  if (k < 0 || k > shape[axis])
    context.fail("k is " + std::to_string(k) + ", axis " + std::to_string(axis) + " has " +
                 std::to_string(shape[axis]) + " elements");
  shape[axis] = k;
  context.output(0, context.dtype(0), shape);
  context.output(1, DType::i64, shape);
}

/// A total order, in which NaN is the largest.
template <class T>
bool below(T a, T b) {
  if (a != a || b != b) return a == a && b != b;
  return a < b;
}

void evaluate(EvalContext& context) {
  const std::size_t axis = softmax_axis(context);
  const std::int64_t k = scalar_integer(context, 1);
  if (k == 0) {
    context.out(0);
    if (context.output_count() > 1) context.out(1);
    return;
  }
  const bool largest = context.node().integer("largest", 1) != 0;
  std::vector<std::int64_t> order(static_cast<std::size_t>(context.shape(0)[axis]));
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* values = context.out(0).template data<T>();
    std::int64_t* indices = context.output_count() > 1 ? context.out(1).data<std::int64_t>() : nullptr;
    for_each_line(context.shape(0), axis, [&](std::int64_t start, std::int64_t stride, std::int64_t count) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return largest ? below(x[start + b * stride], x[start + a * stride])
                       : below(x[start + a * stride], x[start + b * stride]);
      });
      const std::int64_t to = start / (count * stride) * (k * stride) + start % stride;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t from = order[static_cast<std::size_t>(i)];
        values[to + i * stride] = x[start + from * stride];
        if (indices != nullptr) indices[to + i * stride] = from;
      }
    });
  });
}

}  // namespace

constinit const OpDef kTopK{.name = "TopK",
                            .attributes = kAttributes,
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .min_outputs = 1,
                            .max_outputs = 2,
                            .infer = infer,
                            .evaluate = evaluate};

}  // namespace saccade::ops
