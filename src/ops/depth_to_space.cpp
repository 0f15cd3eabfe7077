// Moves blocks of channels into space. Mode dcr takes the block from the outer part of the channels, crd from
// the inner.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"blocksize", AttributeKind::integer, true},
                                        {"mode", AttributeKind::text}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::int64_t block = context.node().integer("blocksize", 1);
  const std::string mode = context.node().text("mode", "dcr");
  if (mode != "dcr" && mode != "crd") context.fail("mode is '" + mode + "', expected dcr or crd");
  if (x.size() != 4) context.mismatch("input " + shape_string(x) + " must have rank 4");
  if (block < 1 || block > (std::int64_t{1} << 20) || x[1] % (block * block) != 0)
    context.mismatch(std::to_string(x[1]) + " channels cannot be cut into blocks of " +
                     std::to_string(block));
  context.output(0, context.dtype(0), {x[0], x[1] / (block * block), x[2] * block, x[3] * block});
}

void evaluate(EvalContext& context) {
  const std::int64_t block = context.node().integer("blocksize", 1);
  const bool crd = context.node().text("mode", "dcr") == "crd";
  const Shape& x = context.shape(0);
  const std::int64_t channels = x[1] / (block * block), plane = x[2] * x[3];
  // The output as N, C, H, block, W, block and where each of these steps in the input.
  const Shape dims{x[0], channels, x[2], block, x[3], block};
  const std::int64_t channel = crd ? block * block * plane : plane, cell = crd ? plane : channels * plane;
  const Strides strides{x[1] * plane, channel, x[3], block * cell, 1, cell};
  visit_width(context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(context.input(0));
    T* dst = cells<T>(context.out());
    for_each_row<2>(dims, {dense_strides(dims), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i * cell];
    });
  });
}

}  // namespace

constinit const OpDef kDepthToSpace{.name = "DepthToSpace",
                                    .attributes = kAttributes,
                                    .traits = kNativeHalf,
                                    .infer = infer,
                                    .evaluate = evaluate};

}  // namespace saccade::ops
