// The middle of the input in another size: cropped where it is larger (an odd surplus at the end), padded
// with zeros where it is smaller (an odd rest at the end).
#include <algorithm>
#include <cstring>

#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axes", AttributeKind::integers}};

Shape target(const NodeView& context) {
  Shape shape = context.shape(0);
  const std::vector<std::int64_t> sizes = integer_list(context, 1);
  std::vector<std::int64_t> axes = context.node().integers("axes");
  if (!context.node().has("axes"))
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.size() != sizes.size())
    context.fail("has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(axes.size()) +
                 " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 0) context.fail("a size is " + std::to_string(sizes[i]));
    shape[normalize_axis(context, axes[i], shape.size())] = sizes[i];
  }
  return shape;
}

void infer(InferContext& context) { context.output(0, context.dtype(0), target(context)); }

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor y = Tensor::zeros(x.dtype(), context.output_type(0).shape);
  const Strides from = dense_strides(x.shape()), to = dense_strides(y.shape());
  Shape shared;
  std::int64_t src = 0, dst = 0;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t surplus = x.dim(i) - y.dim(i);
    src += from[i] * (std::max<std::int64_t>(surplus, 0) / 2);
    dst += to[i] * (std::max<std::int64_t>(-surplus, 0) / 2);
    shared.push_back(std::min(x.dim(i), y.dim(i)));
  }
  const std::size_t size = dtype_size(x.dtype());
  for_each_row<2>(shared, {from, to}, [&](const auto& at, std::int64_t n) {
    std::memcpy(static_cast<std::byte*>(y.raw()) + static_cast<std::size_t>(dst + at[1]) * size,
                static_cast<const std::byte*>(x.raw()) + static_cast<std::size_t>(src + at[0]) * size,
                static_cast<std::size_t>(n) * size);
  });
  context.set(0, std::move(y));
}

}  // namespace

constinit const OpDef kCenterCropPad{.name = "CenterCropPad",
                                     .attributes = kAttributes,
                                     .min_inputs = 2,
                                     .max_inputs = 2,
                                     .traits = kNativeHalf,
                                     .infer = infer,
                                     .evaluate = evaluate};

}  // namespace saccade::ops
