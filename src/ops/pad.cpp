// Adds a border (constant, edge, reflect or wrap) or, where a pad is negative, crops. Cropping comes first,
// so that a border is made of what is left.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"mode", AttributeKind::text}};

constexpr std::int64_t kMostPad = std::int64_t{1} << 40;

struct AxisPad {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<AxisPad> pads_of(const NodeView& context) {
  const std::size_t rank = context.rank(0);
  const std::vector<std::int64_t> pads = integer_list(context, 1);
  std::vector<std::int64_t> axes;
  if (context.has(3))
    axes = integer_list(context, 3);
  else
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  normalize_axes(context, axes, rank);  // refuses repetitions
  if (pads.size() != 2 * axes.size())
    context.fail("has " + std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  std::vector<AxisPad> result(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisPad pad{pads[i], pads[i + axes.size()]};
    if (std::min(pad.begin, pad.end) < -kMostPad || std::max(pad.begin, pad.end) > kMostPad)
      context.fail("a pad is too large");
    result[normalize_axis(context, axes[i], rank)] = pad;
  }
  return result;
}

void infer(InferContext& context) {
  const std::string mode = context.node().text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    context.fail("mode is '" + mode + "', expected constant, edge, reflect or wrap");
  if (context.has(2)) {
    if (context.dtype(2) != context.dtype(0)) context.fail("value and data differ in type");
    if (element_count(context.shape(2)) != 1)
      context.fail("value must have one element, has shape " + shape_string(context.shape(2)));
  }
  const std::vector<AxisPad> pads = pads_of(context);
  Shape shape = context.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t left =
        shape[i] + std::min<std::int64_t>(pads[i].begin, 0) + std::min<std::int64_t>(pads[i].end, 0);
    if (left < 0)
      context.mismatch("crops more than the " + std::to_string(shape[i]) + " elements of axis " +
                       std::to_string(i));
    const std::int64_t most = std::max(pads[i].begin, pads[i].end);
    if (mode == "reflect" && most > 0 && most >= left)
      context.mismatch("reflects " + std::to_string(most) + " elements of axis " + std::to_string(i) +
                       ", which has " + std::to_string(left));
    if (mode != "constant" && most > 0 && left == 0)
      context.mismatch("axis " + std::to_string(i) + " has no element to repeat");
    shape[i] += pads[i].begin + pads[i].end;
  }
  context.output(0, context.dtype(0), shape);
}

/// For each output index along one axis the input index, or -1 for the constant.
std::vector<std::int64_t> source_indices(const std::string& mode, AxisPad pad, std::int64_t length,
                                         std::int64_t out) {
  const std::int64_t first = std::max<std::int64_t>(-pad.begin, 0);
  const std::int64_t left = length - first + std::min<std::int64_t>(pad.end, 0);
  std::vector<std::int64_t> indices;
  for (std::int64_t o = 0; o < out; ++o) {
    std::int64_t i = o - std::max<std::int64_t>(pad.begin, 0);
    if (i < 0 || i >= left) {
      if (mode == "constant") {
        indices.push_back(-1);
        continue;
      }
      if (mode == "edge")
        i = i < 0 ? 0 : left - 1;
      else if (mode == "reflect")
        i = i < 0 ? -i : 2 * (left - 1) - i;
      else
        i = (i % left + left) % left;
    }
    indices.push_back(first + i);
  }
  return indices;
}

/// Copies through the index lists, from `axis` inwards.
template <class T>
class Filler {
 public:
  Filler(const std::vector<std::vector<std::int64_t>>& indices, const Tensor& x, const Tensor& y, T value)
      : indices_(indices), from_(dense_strides(x.shape())), to_(dense_strides(y.shape())), value_(value) {}

  void fill(std::size_t axis, const T* src, T* dst) const {
    if (axis == indices_.size()) {
      *dst = *src;
      return;
    }
    for (std::size_t o = 0; o < indices_[axis].size(); ++o) {
      T* to = dst + static_cast<std::int64_t>(o) * to_[axis];
      if (indices_[axis][o] < 0)
        std::fill_n(to, to_[axis], value_);
      else
        fill(axis + 1, src + indices_[axis][o] * from_[axis], to);
    }
  }

 private:
  const std::vector<std::vector<std::int64_t>>& indices_;
  const Strides from_, to_;
  const T value_;
};

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  if (y.count() == 0) return;
  const std::string mode = context.node().text("mode", "constant");
  const std::vector<AxisPad> pads = pads_of(context);
  std::vector<std::vector<std::int64_t>> indices;
  for (std::size_t i = 0; i < x.rank(); ++i)
    indices.push_back(source_indices(mode, pads[i], x.dim(i), y.dim(i)));
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T value = context.has(2) ? cells<T>(context.input(2))[0] : T{0};
    Filler<T>(indices, x, y, value).fill(0, cells<T>(x), cells<T>(y));
  });
}

}  // namespace

constinit const OpDef kPad{.name = "Pad",
                           .attributes = kAttributes,
                           .min_inputs = 2,
                           .max_inputs = 4,
                           .traits = kNativeHalf,
                           .infer = infer,
                           .evaluate = evaluate};

}  // namespace saccade::ops
