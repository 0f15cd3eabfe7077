// Mean of each window over the cells inside the input or, with count_include_pad, inside the input and its
// declared padding; cells that only ceil_mode reaches never count.
#include "ops/mixed.h"
#include "ops/pool.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"kernel_shape", AttributeKind::integers, true}, {"strides", AttributeKind::integers},
    {"dilations", AttributeKind::integers},          {"pads", AttributeKind::integers},
    {"ceil_mode", AttributeKind::integer},           {"auto_pad", AttributeKind::text},
    {"count_include_pad", AttributeKind::integer},   kStoreAs};

void infer(InferContext& context) {
  infer_pool(context);
  context.output(0, stored_type(context), context.outputs()[0].shape);
}

void evaluate(EvalContext& context) {
  const Window window = pool_window(context);
  const bool include_pad = context.node().integer("count_include_pad", 0) != 0;
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_window(window, context.shape(0)[0] * context.shape(0)[1],
                    [&](std::int64_t o, std::int64_t covered, auto walk) {
                      double sum = 0;
                      std::int64_t count = 0;
                      walk([&](std::int64_t i) {
                        sum += static_cast<double>(x[i]);
                        ++count;
                      });
                      if (include_pad) count = covered;
                      y[o] = count == 0 ? T{0} : static_cast<T>(sum / static_cast<double>(count));
                    });
  });
}

}  // namespace

constinit const OpDef kAveragePool{
    .name = "AveragePool", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
