// Permutes the dimensions: output dimension i is input dimension perm[i]. Without perm they are reversed.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"perm", AttributeKind::integers}};

std::vector<std::size_t> permutation(const NodeView& context) {
  const std::size_t rank = context.rank(0);
  std::vector<std::size_t> perm;
  if (!context.node().has("perm")) {
    for (std::size_t i = rank; i-- > 0;) perm.push_back(i);
    return perm;
  }
  const std::vector<std::int64_t> given = context.node().integers("perm");
  normalize_axes(context, given, rank);  // in range, no repetition
  if (given.size() != rank)
    context.fail("perm has " + std::to_string(given.size()) + " entries for rank " + std::to_string(rank));
  for (const std::int64_t axis : given) perm.push_back(normalize_axis(context, axis, rank));
  return perm;
}

void infer(InferContext& context) {
  Shape shape;
  for (const std::size_t axis : permutation(context)) shape.push_back(context.shape(0)[axis]);
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  const Strides from = dense_strides(x.shape());
  Strides strides;
  for (const std::size_t axis : permutation(context)) strides.push_back(from[axis]);
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(x);
    T* dst = cells<T>(y);
    for_each_row<2>(y.shape(), {dense_strides(y.shape()), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i * step(strides)];
    });
  });
}

}  // namespace

constinit const OpDef kTranspose{.name = "Transpose",
                                 .attributes = kAttributes,
                                 .traits = kNativeHalf,
                                 .infer = infer,
                                 .evaluate = evaluate};

}  // namespace saccade::ops
