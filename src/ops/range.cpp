// start, start + delta, … up to but not including limit.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  for (std::size_t i = 1; i < 3; ++i)
    if (context.dtype(i) != context.dtype(0)) context.fail("start, limit and delta differ in type");
  std::int64_t count = 0;
  if (is_float(context.dtype(0))) {
    const double delta = scalar_value(context, 2);
    const double n = std::ceil((scalar_value(context, 1) - scalar_value(context, 0)) / delta);
    if (!(std::abs(n) < 0x1p62)) context.fail("has no finite number of elements");
    count = n > 0 ? static_cast<std::int64_t>(n) : 0;
  } else {
    const std::int64_t start = scalar_integer(context, 0), limit = scalar_integer(context, 1),
                       delta = scalar_integer(context, 2);
    if (delta == 0) context.fail("delta is 0");
    const bool any = delta > 0 ? limit > start : limit < start;
    const std::uint64_t distance =
        delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                  : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const std::uint64_t stride =
        delta > 0 ? static_cast<std::uint64_t>(delta) : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
    if (any) count = static_cast<std::int64_t>((distance - 1) / stride + 1);
  }
  context.output(0, context.dtype(0), {count});
}

void evaluate(EvalContext& context) {
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    const auto start = static_cast<Wide>(context.input(0).data<T>()[0]),
               delta = static_cast<Wide>(context.input(2).data<T>()[0]);
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.out().count(); ++i)
      y[i] = static_cast<T>(start + static_cast<Wide>(i) * delta);
  });
}

}  // namespace

constinit const OpDef kRange{
    .name = "Range", .min_inputs = 3, .max_inputs = 3, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
