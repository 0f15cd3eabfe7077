// Walking along one axis: what Softmax, LogSoftmax, Hardmax, ArgMax and CumSum share.
#pragma once

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

/// Calls visit(first, stride, count) for each line of elements along `axis`.
template <class Visit>
void for_each_line(const Shape& shape, std::size_t axis, Visit visit) {
  const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size()),
                     count = shape[axis];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) visit(o * count * inner + i, inner, count);
}

inline constexpr AttributeDef kAxisAttribute[] = {{"axis", AttributeKind::integer}};

void infer_softmax(InferContext& context);
std::size_t softmax_axis(const NodeView& context);

}  // namespace saccade::ops
