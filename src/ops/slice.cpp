// x[start:end:step] along some axes, with NumPy's meaning of negative and out-of-range bounds.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Range resolve(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length) {
  const auto from_end = [&](std::int64_t i) { return i < 0 ? i + length : i; };
  Range range{0, step, 0};
  if (step > 0) {
    range.start = std::clamp<std::int64_t>(from_end(start), 0, length);
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), 0, length);
    if (stop > range.start) range.count = (stop - range.start - 1) / step + 1;
  } else if (length > 0) {
    range.start = std::clamp<std::int64_t>(from_end(start), -1, length - 1);
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), -1, length - 1);
    const std::uint64_t stride = std::uint64_t{0} - static_cast<std::uint64_t>(step);
    if (range.start > stop)
      range.count =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(range.start - stop - 1) / stride) + 1;
  }
  return range;
}

std::vector<Range> ranges_of(const NodeView& context) {
  const Shape& shape = context.shape(0);
  std::vector<Range> ranges;
  for (const std::int64_t dim : shape) ranges.push_back({0, 1, dim});
  const std::vector<std::int64_t> starts = integer_list(context, 1), ends = integer_list(context, 2);
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  if (context.has(3))
    axes = integer_list(context, 3);
  else
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (context.has(4)) steps = integer_list(context, 4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    context.fail("has " + std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) +
                 " ends, " + std::to_string(axes.size()) + " axes, " + std::to_string(steps.size()) +
                 " steps");
  normalize_axes(context, axes, shape.size());  // refuses repetitions
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = normalize_axis(context, axes[i], shape.size());
    if (steps[i] == 0) context.fail("step 0 along axis " + std::to_string(axis));
    ranges[axis] = resolve(starts[i], ends[i], steps[i], shape[axis]);
  }
  return ranges;
}

void infer(InferContext& context) {
  Shape shape;
  for (const Range& range : ranges_of(context)) shape.push_back(range.count);
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const std::vector<Range> ranges = ranges_of(context);
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  Strides strides = dense_strides(x.shape());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].count == 0) return;
    first += ranges[i].start * strides[i];
    strides[i] *= ranges[i].count > 1 ? ranges[i].step : 0;  // a step that is never taken may be huge
  }
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(x) + first;
    T* dst = cells<T>(y);
    for_each_row<2>(y.shape(), {dense_strides(y.shape()), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i * step(strides)];
    });
  });
}

}  // namespace

constinit const OpDef kSlice{.name = "Slice",
                             .min_inputs = 3,
                             .max_inputs = 5,
                             .traits = kNativeHalf,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
