// Largest element of each window; padding never wins. The second output holds its flat index in the whole
// input.
#include <limits>

#include "ops/pool.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"kernel_shape", AttributeKind::integers, true}, {"strides", AttributeKind::integers},
    {"dilations", AttributeKind::integers},          {"pads", AttributeKind::integers},
    {"ceil_mode", AttributeKind::integer},           {"auto_pad", AttributeKind::text},
    {"storage_order", AttributeKind::integer}};

/// The same cell counted with the first spatial axis fastest.
std::int64_t column_major(std::int64_t index, const Window& window) {
  std::int64_t plane = 1;
  for (const WindowAxis& axis : window) plane *= axis.in;
  std::int64_t rest = index % plane, result = 0, stride = plane;
  for (std::size_t i = window.size(); i-- > 0;) {
    stride /= window[i].in;
    result += rest % window[i].in * stride;
    rest /= window[i].in;
  }
  return index / plane * plane + result;
}

void evaluate(EvalContext& context) {
  const Window window = pool_window(context);
  const bool transposed = context.node().integer("storage_order", 0) != 0;
  std::int64_t* indices = context.output_count() > 1 ? context.out(1).data<std::int64_t>() : nullptr;
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                               : std::numeric_limits<T>::lowest();
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for_each_window(window, context.shape(0)[0] * context.shape(0)[1],
                    [&](std::int64_t o, std::int64_t, auto walk) {
                      T best = kLowest;
                      std::int64_t where = -1;
                      walk([&](std::int64_t i) {
                        if (where >= 0 && !(x[i] > best)) return;
                        best = x[i];
                        where = i;
                      });
                      y[o] = best;
                      if (indices != nullptr)
                        indices[o] = transposed && where >= 0 ? column_major(where, window) : where;
                    });
  });
}

}  // namespace

constinit const OpDef kMaxPool{.name = "MaxPool",
                               .attributes = kAttributes,
                               .min_outputs = 1,
                               .max_outputs = 2,
                               .infer = infer_pool,
                               .evaluate = evaluate};

}  // namespace saccade::ops
