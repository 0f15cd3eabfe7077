// Adds blocks, one a column, into the picture that they were cut from: the adjoint of cutting. Inputs:
// columns (batch, channels * block, blocks), the picture's size, the block's size.
#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"dilations", AttributeKind::integers},
                                        {"pads", AttributeKind::integers},
                                        {"strides", AttributeKind::integers}};

constexpr std::int64_t kMost = std::int64_t{1} << 30;  // keeps every sum and product below far from overflow

struct Axis {
  std::int64_t size, block, dilation, pad, stride, count;
};

std::vector<Axis> axes_of(const NodeView& context) {
  const std::vector<std::int64_t> image = integer_list(context, 1), block = integer_list(context, 2);
  const std::vector<std::int64_t> dilations = context.node().integers("dilations"),
                                  pads = context.node().integers("pads"),
                                  strides = context.node().integers("strides");
  const std::size_t n = image.size();
  const auto fits = [&](const std::vector<std::int64_t>& list, std::size_t size) {
    return list.empty() || list.size() == size;
  };
  if (n == 0 || block.size() != n || !fits(dilations, n) || !fits(pads, 2 * n) || !fits(strides, n))
    context.fail("sizes, dilations, pads and strides do not have one rank");
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < n; ++i) {
    Axis axis{image[i],
              block[i],
              dilations.empty() ? 1 : dilations[i],
              pads.empty() ? 0 : pads[i],
              strides.empty() ? 1 : strides[i],
              0};
    const std::int64_t pad_end = pads.empty() ? 0 : pads[n + i];
    const auto within = [](std::int64_t v, std::int64_t least) { return v >= least && v < kMost; };
    if (!within(axis.size, 1) || !within(axis.block, 1) || !within(axis.dilation, 1) ||
        !within(axis.stride, 1) || !within(axis.pad, 0) || !within(pad_end, 0))
      context.fail("sizes, dilations and strides must be positive, pads not negative, all below " +
                   std::to_string(kMost));
    const std::int64_t room = axis.size + axis.pad + pad_end - axis.dilation * (axis.block - 1) - 1;
    if (room < 0) context.mismatch("a block does not fit into axis " + std::to_string(i));
    axis.count = room / axis.stride + 1;
    axes.push_back(axis);
  }
  return axes;
}

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::vector<Axis> axes = axes_of(context);
  std::int64_t block = 1, count = 1;
  Shape shape;
  for (const Axis& axis : axes) {
    block = saturating_product(block, axis.block);
    count = saturating_product(count, axis.count);
    shape.push_back(axis.size);
  }
  if (x.size() != 3 || x[1] % block != 0 || x[2] != count)
    context.mismatch("columns of shape " + shape_string(x) + " do not fit; expected (batch, channels x " +
                     std::to_string(block) + ", " + std::to_string(count) + ")");
  shape.insert(shape.begin(), {x[0], x[1] / block});
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const std::vector<Axis> axes = axes_of(context);
  const Tensor x = convert(context.input(0), DType::f64);
  Tensor y = Tensor::zeros(DType::f64, context.output_type(0).shape);
  Shape blocks, taps;
  std::int64_t plane = 1;
  for (const Axis& axis : axes) {
    blocks.push_back(axis.count);
    taps.push_back(axis.block);
    plane *= axis.size;
  }
  const std::int64_t columns = x.dim(2), block = element_count(taps);
  const double* src = x.data<double>();
  for (std::int64_t row = 0; row < x.dim(0) * x.dim(1); ++row) {
    double* dst = y.data<double>() + row / block * plane;
    for (std::int64_t column = 0; column < columns; ++column, ++src) {
      std::int64_t tap = row % block, place = column, offset = 0, scale = 1;
      bool within = true;
      for (std::size_t i = axes.size(); i-- > 0;) {
        const Axis& axis = axes[i];
        const std::int64_t at =
            place % axis.count * axis.stride - axis.pad + tap % axis.block * axis.dilation;
        within = within && at >= 0 && at < axis.size;
        offset += at * scale;
        scale *= axis.size;
        place /= axis.count;
        tap /= axis.block;
      }
      if (within) dst[offset] += *src;
    }
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kCol2Im{.name = "Col2Im",
                              .attributes = kAttributes,
                              .min_inputs = 3,
                              .max_inputs = 3,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
