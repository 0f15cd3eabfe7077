// Local response normalisation: x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"size", AttributeKind::integer, true},
                                        {"alpha", AttributeKind::real},
                                        {"beta", AttributeKind::real},
                                        {"bias", AttributeKind::real}};

void infer(InferContext& context) {
  if (context.rank(0) < 2)
    context.mismatch("input " + shape_string(context.shape(0)) + " has no channel dimension");
  const std::int64_t size = context.node().integer("size", 1);
  if (size < 1) context.fail("size is " + std::to_string(size));
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const ir::Node& node = context.node();
  const Shape& shape = context.shape(0);
  const std::int64_t size = node.integer("size", 1), channels = shape[1],
                     plane = product(shape, 2, shape.size());
  const double alpha = static_cast<double>(node.real("alpha", 1e-4f)) / static_cast<double>(size);
  const double beta = static_cast<double>(node.real("beta", 0.75f)),
               bias = static_cast<double>(node.real("bias", 1.0f));
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t begin = std::max<std::int64_t>(0, c - (size - 1) / 2),
                           end = std::min(channels - 1, c + size / 2) + 1;
        for (std::int64_t i = 0; i < plane; ++i) {
          double sum = 0;
          for (std::int64_t k = begin; k < end; ++k) {
            const auto v = static_cast<double>(x[(n * channels + k) * plane + i]);
            sum += v * v;
          }
          const std::int64_t at = (n * channels + c) * plane + i;
          y[at] = static_cast<T>(static_cast<double>(x[at]) / std::pow(bias + alpha * sum, beta));
        }
      }
  });
}

std::int64_t work(const NodeView& context) {
  if (context.rank(0) < 2) return 0;
  const std::int64_t size =
      std::clamp<std::int64_t>(context.node().integer("size", 1), 1, context.shape(0)[1] + 1);
  return saturating_product(element_count(context.shape(0)), size);
}

}  // namespace

constinit const OpDef kLRN{
    .name = "LRN", .attributes = kAttributes, .infer = infer, .evaluate = evaluate, .work = work};

}  // namespace saccade::ops
