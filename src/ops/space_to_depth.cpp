// Moves blocks of space into channels: the inverse of DepthToSpace in mode dcr.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"blocksize", AttributeKind::integer, true}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::int64_t block = context.node().integer("blocksize", 1);
  if (x.size() != 4) context.mismatch("input " + shape_string(x) + " must have rank 4");
  if (block < 1 || block > (std::int64_t{1} << 20) || x[2] % block != 0 || x[3] % block != 0)
    context.mismatch(shape_string(x) + " cannot be cut into blocks of " + std::to_string(block));
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(x[1], block * block, &channels))
    context.fail("blocksize " + std::to_string(block) + " is too large");
  context.output(0, context.dtype(0), {x[0], channels, x[2] / block, x[3] / block});
}

void evaluate(EvalContext& context) {
  const std::int64_t block = context.node().integer("blocksize", 1);
  const Shape& x = context.shape(0);
  // The output as N, block, block, C, H, W and where each of these steps in the input.
  const Shape dims{x[0], block, block, x[1], x[2] / block, x[3] / block};
  const Strides strides{x[1] * x[2] * x[3], x[3], 1, x[2] * x[3], block * x[3], block};
  visit_width(context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(context.input(0));
    T* dst = cells<T>(context.out());
    for_each_row<2>(dims, {dense_strides(dims), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i * block];
    });
  });
}

}  // namespace

constinit const OpDef kSpaceToDepth{.name = "SpaceToDepth",
                                    .attributes = kAttributes,
                                    .traits = kNativeHalf,
                                    .infer = infer,
                                    .evaluate = evaluate};

}  // namespace saccade::ops
