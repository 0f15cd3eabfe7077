// Operators that pick elements.
#include <fmt/format.h>

#include <limits>

#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

void translate_slice(TfliteOperator& op) {
  const std::vector<std::int64_t> begin = op.integers(1), size = op.integers(2);
  const std::size_t rank = op.rank(0);
  if (begin.size() != rank || size.size() != rank)
    op.invalid(fmt::format("has {} begins and {} sizes for {} dimensions", begin.size(), size.size(), rank));
  const bool planar = op.prefers_planar({0});
  std::vector<std::int64_t> starts, ends, axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (begin[i] < 0 || size[i] < -1)
      op.invalid(fmt::format("slice begins at {} with size {}", begin[i], size[i]));
    const auto axis = static_cast<std::int64_t>(i);
    starts.push_back(begin[i]);
    ends.push_back(size[i] == -1 || begin[i] > kToTheEnd - size[i] ? kToTheEnd : begin[i] + size[i]);
    axes.push_back(planar ? TfliteOperator::planar_axis(axis) : axis);
  }
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const ir::ValueId from = op.integers_constant(starts), to = op.integers_constant(ends);
  op.finish(0, op.emit("Slice", {x, from, to, op.integers_constant(axes)}), planar);
}

void translate_strided_slice(TfliteOperator& op) {
  const auto& options = op.options<tflite::StridedSliceOptions>();
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0)
    op.unsupported("STRIDED_SLICE with an ellipsis or new axes is not supported");
  if (options.offset()) op.unsupported("STRIDED_SLICE with ends relative to begins is not supported");
  const std::vector<std::int64_t> begin = op.integers(1), end = op.integers(2), step = op.integers(3);
  if (begin.size() != end.size() || begin.size() != step.size() || begin.size() > op.rank(0) ||
      begin.size() > 31)
    op.invalid(fmt::format("has {} begins, {} ends, {} strides for {} dimensions", begin.size(), end.size(),
                           step.size(), op.rank(0)));
  const bool planar = op.prefers_planar({0}) && options.shrink_axis_mask() == 0;
  std::vector<std::int64_t> starts, ends, steps, axes, dropped;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const auto masked = [&](std::int32_t mask) { return ((mask >> i) & 1) != 0; };
    if (step[i] == 0) op.invalid("has a stride of 0");
    axes.push_back(planar ? TfliteOperator::planar_axis(axis) : axis);
    if (masked(options.shrink_axis_mask())) {  // one element, whatever the end says
      starts.push_back(begin[i]);
      ends.push_back(begin[i] == -1 || begin[i] == kToTheEnd ? kToTheEnd : begin[i] + 1);
      steps.push_back(1);
      dropped.push_back(axis);
      continue;
    }
    const bool forward = step[i] > 0;
    starts.push_back(!masked(options.begin_mask()) ? begin[i] : forward ? 0 : kToTheEnd);
    ends.push_back(!masked(options.end_mask()) ? end[i] : forward ? kToTheEnd : -kToTheEnd);
    steps.push_back(step[i]);
  }
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const ir::ValueId from = op.integers_constant(starts), to = op.integers_constant(ends),
                    along = op.integers_constant(axes);
  ir::ValueId y = op.emit("Slice", {x, from, to, along, op.integers_constant(steps)});
  if (!dropped.empty()) y = op.emit("Squeeze", {y, op.integers_constant(dropped)});
  op.finish(0, y, planar);
}

void translate_gather(TfliteOperator& op) {
  const auto& options = op.options<tflite::GatherOptions>();
  if (options.batch_dims() != 0) op.unsupported("GATHER with batch dimensions is not supported");
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("Gather", {x, op.input(1)}, {{"axis", std::int64_t{options.axis()}}}));
}

void translate_gather_nd(TfliteOperator& op) {
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("GatherND", {x, op.int64_input(1)}, {{"batch_dims", std::int64_t{0}}}));
}

void translate_one_hot(TfliteOperator& op) {
  const ir::ValueId indices = op.input(0), depth = op.input(1);
  const ir::ValueId off_on = op.emit("Concat",
                                     {op.emit("Reshape", {op.input(3), op.integers_constant({1})}),
                                      op.emit("Reshape", {op.input(2), op.integers_constant({1})})},
                                     {{"axis", std::int64_t{0}}});
  op.finish(op.emit("OneHot", {indices, depth, off_on},
                    {{"axis", std::int64_t{op.options<tflite::OneHotOptions>().axis()}}}));
}

void translate_range(TfliteOperator& op) {
  const ir::ValueId start = op.input(0), limit = op.input(1);
  op.finish(op.emit("Range", {start, limit, op.input(2)}));
}

void translate_reverse(TfliteOperator& op) {
  const std::vector<std::int64_t> axes = op.integers(1);
  const std::vector<std::int64_t> from(axes.size(), -1), to(axes.size(), -kToTheEnd), steps(axes.size(), -1);
  const ir::ValueId x = op.input(0), starts = op.integers_constant(from), ends = op.integers_constant(to),
                    along = op.integers_constant(axes);
  op.finish(op.emit("Slice", {x, starts, ends, along, op.integers_constant(steps)}));
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::GATHER, translate_gather},
    {Code::GATHER_ND, translate_gather_nd},
    {Code::ONE_HOT, translate_one_hot},
    {Code::RANGE, translate_range},
    {Code::REVERSE_V2, translate_reverse},
    {Code::SLICE, translate_slice},
    {Code::STRIDED_SLICE, translate_strided_slice},
};

}  // namespace

std::span<const TfliteTranslation> tflite_indexing_translations() { return kTranslations; }

}  // namespace saccade::import
