// Samples a picture (or volume) at positions in [-1, 1] per axis, last axis first; linear, nearest or cubic,
// with zeros, the border or reflections outside.
#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/convolution.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"mode", AttributeKind::text},
                                        {"padding_mode", AttributeKind::text},
                                        {"align_corners", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& grid = context.shape(1);
  const std::string mode = context.node().text("mode", "linear"),
                    padding = context.node().text("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    context.fail("mode is '" + mode + "', expected linear, nearest or cubic");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    context.fail("padding_mode is '" + padding + "', expected zeros, border or reflection");
  if (!is_float(context.dtype(1)))
    context.fail(std::string("the grid must be a float tensor, is ") + dtype_name(context.dtype(1)));
  if (x.size() < 3 || grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<std::int64_t>(x.size() - 2))
    context.mismatch("grid " + shape_string(grid) + " does not fit input " + shape_string(x));
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  context.output(0, context.dtype(0), shape);
}

enum class Border { zeros, edge, reflection };

/// Taps along one axis: up to four positions with weights; -1 is a zero outside.
struct Taps {
  std::int64_t index[4];
  double weight[4];
  int count = 0;
};

/// `x` folded back into [low, high], as often as needed.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  double folded = std::fmod(std::fabs(x - low), 2 * range);
  if (folded > range) folded = 2 * range - folded;
  return low + folded;
}

std::int64_t place(std::int64_t at, std::int64_t size, Border border, bool align_corners) {
  if (at >= 0 && at < size) return at;
  if (border == Border::zeros) return -1;
  if (border == Border::edge) return std::clamp<std::int64_t>(at, 0, size - 1);
  const double low = align_corners ? 0 : -0.5, high = static_cast<double>(size) - (align_corners ? 1 : 0.5);
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::llround(reflect(static_cast<double>(at), low, high))), 0, size - 1);
}

double cubic_weight(double d) {
  constexpr double kA = -0.75;
  d = std::fabs(d);
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  if (d < 2) return ((d - 5) * d + 8) * d * kA - 4 * kA;
  return 0;
}

Taps taps_at(double position, std::int64_t size, const std::string& mode, Border border, bool align_corners) {
  const auto n = static_cast<double>(size);
  double x = align_corners ? (position + 1) / 2 * (n - 1) : ((position + 1) * n - 1) / 2;
  if (!(std::fabs(x) < 0x1p40)) x = -1e6;  // NaN and infinity: outside
  if (mode != "cubic") {
    if (border == Border::edge) x = std::clamp(x, 0.0, std::max(n - 1, 0.0));
    if (border == Border::reflection)
      x = align_corners ? reflect(x, 0, n - 1) : std::clamp(reflect(x, -0.5, n - 0.5), 0.0, n - 1);
  }
  Taps taps;
  const auto add = [&](std::int64_t at, double weight) {
    taps.index[taps.count] = place(at, size, border, align_corners);
    taps.weight[taps.count++] = weight;
  };
  if (mode == "nearest") {
    add(static_cast<std::int64_t>(std::nearbyint(x)), 1);
    return taps;
  }
  const auto base = static_cast<std::int64_t>(std::floor(x));
  const double share = x - std::floor(x);
  if (mode == "linear") {
    add(base, 1 - share);
    add(base + 1, share);
    return taps;
  }
  for (int k = -1; k < 3; ++k) add(base + k, cubic_weight(share - k));
  return taps;
}

/// The sum over all combinations of taps, from `axis` inwards.
double sample(const double* plane, const std::vector<Taps>& taps, const Shape& size, std::size_t axis,
              std::int64_t offset) {
  if (axis == taps.size()) return plane[offset];
  double sum = 0;
  for (int k = 0; k < taps[axis].count; ++k)
    if (taps[axis].index[k] >= 0 && taps[axis].weight[k] != 0)
      sum += taps[axis].weight[k] *
             sample(plane, taps, size, axis + 1, offset * size[axis] + taps[axis].index[k]);
  return sum;
}

void evaluate(EvalContext& context) {
  const std::string mode = context.node().text("mode", "linear"),
                    padding = context.node().text("padding_mode", "zeros");
  const bool align_corners = context.node().integer("align_corners", 0) != 0;
  const Border border = padding == "zeros"    ? Border::zeros
                        : padding == "border" ? Border::edge
                                              : Border::reflection;
  const Tensor x = convert(context.input(0), DType::f64), grid = convert(context.input(1), DType::f64);
  const Shape size = spatial_dims(x.shape());
  const std::int64_t in_plane = product(size, 0, size.size()), axes = static_cast<std::int64_t>(size.size());
  Tensor y(DType::f64, context.output_type(0).shape);
  const std::int64_t out_plane = product(y.shape(), 2, y.rank()), channels = x.dim(1);
  if (in_plane == 0 && y.count() != 0) context.mismatch("cannot sample an empty picture");
  std::vector<Taps> taps(size.size());
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t o = 0; o < out_plane; ++o) {
      const double* position = grid.data<double>() + (n * out_plane + o) * axes;
      for (std::size_t axis = 0; axis < size.size(); ++axis)
        taps[axis] = taps_at(position[size.size() - 1 - axis], size[axis], mode, border, align_corners);
      for (std::int64_t c = 0; c < channels; ++c)
        y.data<double>()[(n * channels + c) * out_plane + o] =
            sample(x.data<double>() + (n * channels + c) * in_plane, taps, size, 0, 0);
    }
  context.set(0, convert(y, context.output_type(0).dtype));
}

/// Up to four taps an axis for each element.
std::int64_t work(const NodeView& context) {
  if (context.rank(0) < 2 || context.rank(1) == 0) return 0;
  std::int64_t taps = 1;
  for (std::size_t axis = 2; axis < context.rank(0); ++axis)
    taps *= context.node().text("mode", "linear") == "cubic" ? 4 : 2;
  return saturating_product({element_count(context.shape(1)), context.shape(0)[1], taps});
}

}  // namespace

constinit const OpDef kGridSample{.name = "GridSample",
                                  .attributes = kAttributes,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .infer = infer,
                                  .evaluate = evaluate,
                                  .work = work};

}  // namespace saccade::ops
