// Nearest, linear and cubic resizing along any axes; the geometry is in resize_plan.h. Integers are
// truncated.
#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/resize_plan.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) { context.output(0, context.dtype(0), resize_shape(context)); }

/// Applies one axis: `values` of shape outer x axis.in x inner becomes outer x axis.out x inner.
std::vector<double> resize_axis(const std::vector<double>& values, const ResizeAxis& axis, std::int64_t outer,
                                std::int64_t inner) {
  std::vector<double> result(static_cast<std::size_t>(outer * axis.out * inner), 0.0);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < axis.out; ++i) {
      double* dst = result.data() + (o * axis.out + i) * inner;
      for (std::int64_t k = i * axis.per_output; k < (i + 1) * axis.per_output; ++k) {
        const double weight = axis.weight[static_cast<std::size_t>(k)];
        if (weight == 0) continue;  // an unused tap must not turn infinity into NaN
        const double* src = values.data() + (o * axis.in + axis.index[static_cast<std::size_t>(k)]) * inner;
        for (std::int64_t j = 0; j < inner; ++j) dst[j] += weight * src[j];
      }
    }
  }
  return result;
}

/// Writes the extrapolation value wherever an axis lies outside the region.
template <class T>
void extrapolate(const std::vector<ResizeAxis>& axes, T value, Tensor& y) {
  T* data = y.data<T>();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].outside.empty()) continue;
    const std::int64_t outer = product(y.shape(), 0, a), inner = product(y.shape(), a + 1, y.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < axes[a].out; ++i)
        if (axes[a].outside[static_cast<std::size_t>(i)])
          std::fill_n(data + (o * axes[a].out + i) * inner, inner, value);
  }
}

// Bilinear along the last two of four axes, in the order that corner_taps() describes.
void resize_corners(EvalContext& context, const std::vector<ResizeAxis>& axes) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  const CornerTaps rows = corner_taps(axes[2]), columns = corner_taps(axes[3]);
  const std::int64_t in_w = x.dim(3), out_h = y.dim(2), out_w = y.dim(3);
  for (std::int64_t plane = 0; plane < y.dim(0) * y.dim(1); ++plane) {
    const float* src = x.data<float>() + plane * x.dim(2) * in_w;
    for (std::int64_t at = 0; at < out_h * out_w; ++at) {
      const auto r = static_cast<std::size_t>(at / out_w * 2), c = static_cast<std::size_t>(at % out_w * 2);
      float sum = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t row = r + k / 2, column = c + k % 2;
        const float product =
            (columns.weight[column] * rows.weight[row]) * src[rows.index[row] * in_w + columns.index[column]];
        sum = k == 0 ? product : sum + product;
      }
      y.data<float>()[plane * out_h * out_w + at] = sum;
    }
  }
}

void evaluate(EvalContext& context) {
  const std::vector<ResizeAxis> axes = resize_plan(context);
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  if (y.count() == 0) return;
  if (in_corner_order(context, axes)) return resize_corners(context, axes);
  const Tensor wide = convert(x, DType::f64);
  std::vector<double> values(wide.values<double>().begin(), wide.values<double>().end());
  Shape shape = x.shape();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].identity) continue;
    values = resize_axis(values, axes[a], product(shape, 0, a), product(shape, a + 1, shape.size()));
    shape[a] = axes[a].out;
  }
  const Tensor result = Tensor::of<double>(shape, values);
  context.set(0, convert(result, x.dtype()));
  const double value = static_cast<double>(context.node().real("extrapolation_value", 0));
  visit_any(context, x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    extrapolate<T>(axes, static_cast<T>(value), context.out());
  });
}

}  // namespace

constinit const OpDef kResize{.name = "Resize",
                              .attributes = kResizeAttributes,
                              .min_inputs = 1,
                              .max_inputs = 4,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
