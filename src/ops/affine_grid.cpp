// Sampling positions for GridSample: each target position in [-1, 1] per axis, turned and moved by a matrix.
// Inputs: matrices (batch, 2, 3) or (batch, 3, 4), the target's size (batch, channels, [depth,] height,
// width).
#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"align_corners", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape& theta = context.shape(0);
  const std::vector<std::int64_t> size = integer_list(context, 1);
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  if ((axes != 2 && axes != 3) || theta != Shape{size[0], axes, axes + 1})
    context.mismatch("matrices " + shape_string(theta) + " do not fit the size " + shape_string(size));
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(axes);
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.output_type(0).shape;
  const std::size_t axes = shape.size() - 2;
  const bool align_corners = context.node().integer("align_corners", 0) != 0;
  const Tensor theta = convert(context.input(0), DType::f64);
  Tensor y(DType::f64, shape);
  const Shape size(shape.begin() + 1, shape.end() - 1);
  const std::int64_t count = element_count(size);
  double* to = y.data<double>();
  std::vector<double> position(axes + 1, 1.0);  // last axis first, then 1
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t a = 0; a < axes; ++a) {
        const std::int64_t length = size[axes - 1 - a];
        const auto at = static_cast<double>(rest % length), n_axis = static_cast<double>(length);
        rest /= length;
        position[a] =
            align_corners ? (length > 1 ? 2 * at / (n_axis - 1) - 1 : -1) : (2 * at + 1) / n_axis - 1;
      }
      for (std::size_t row = 0; row < axes; ++row) {
        const double* m =
            theta.data<double>() + (n * static_cast<std::int64_t>(axes) + static_cast<std::int64_t>(row)) *
                                       static_cast<std::int64_t>(axes + 1);
        double sum = 0;
        for (std::size_t k = 0; k <= axes; ++k) sum += m[k] * position[k];
        *to++ = sum;
      }
    }
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kAffineGrid{.name = "AffineGrid",
                                  .attributes = kAttributes,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .infer = infer,
                                  .evaluate = evaluate};

}  // namespace saccade::ops
