// Repeats the tensor along each axis.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  const std::vector<std::int64_t> repeats = integer_list(context, 1);
  Shape shape = context.shape(0);
  if (repeats.size() != shape.size())
    context.fail("has " + std::to_string(repeats.size()) + " repeats for rank " +
                 std::to_string(shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0)
      context.fail("repeat " + std::to_string(repeats[i]) + " along axis " + std::to_string(i));
    if (__builtin_mul_overflow(shape[i], repeats[i], &shape[i])) context.fail("the result is too large");
  }
  context.output(0, context.dtype(0), shape);
}

/// The output as an array of shape (repeat0, dim0, repeat1, dim1, …), whose repeats have stride 0 in the
/// input.
void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  const std::vector<std::int64_t> repeats = integer_list(context, 1);
  const Strides dense = dense_strides(x.shape());
  Shape dims;
  Strides strides;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    dims.insert(dims.end(), {repeats[i], x.dim(i)});
    strides.insert(strides.end(), {0, dense[i]});
  }
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(x);
    T* dst = cells<T>(y);
    for_each_row<2>(dims, {dense_strides(dims), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i];
    });
  });
}

}  // namespace

constinit const OpDef kTile{.name = "Tile",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .traits = kNativeHalf,
                            .infer = infer,
                            .evaluate = evaluate};

}  // namespace saccade::ops
