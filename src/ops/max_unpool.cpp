// Puts each value where the index from MaxPool says it came from; the rest is 0. Indices count in the size
// that MaxPool's input had by kernel, stride and pads; a larger output_shape adds zeros behind.
#include <algorithm>

#include "ops/convolution.h"
#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"kernel_shape", AttributeKind::integers, true},
                                        {"strides", AttributeKind::integers},
                                        {"dilations", AttributeKind::integers},
                                        {"pads", AttributeKind::integers},
                                        {"auto_pad", AttributeKind::text}};

/// The size that the indices count in.
Shape pooled_from(const NodeView& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 3) context.mismatch("input " + shape_string(x) + " has no spatial dimension");
  Shape shape{x[0], x[1]};
  for (const WindowAxis& axis :
       transposed_window(context, spatial_dims(x), context.node().integers("kernel_shape")))
    shape.push_back(axis.in);
  return shape;
}

void infer(InferContext& context) {
  const Shape inner = pooled_from(context);
  if (context.shape(1) != context.shape(0) || context.dtype(1) != DType::i64)
    context.mismatch("indices have shape " + shape_string(context.shape(1)) + ", expected " +
                     shape_string(context.shape(0)) + " of int64");
  Shape shape = inner;
  if (context.has(2)) {
    shape = integer_list(context, 2);
    bool fits = shape.size() == inner.size();
    for (std::size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] >= inner[i] && (i > 1 || shape[i] == inner[i]);
    if (!fits)
      context.mismatch("output_shape is " + shape_string(shape) + ", at least " + shape_string(inner) +
                       " is needed");
  }
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Shape inner = pooled_from(context);
  const Strides from = dense_strides(inner), to = dense_strides(context.output_type(0).shape);
  const std::int64_t count = product(inner, 0, inner.size());
  const std::int64_t* indices = context.input(1).data<std::int64_t>();
  context.set(0, Tensor::zeros(context.output_type(0).dtype, context.output_type(0).shape));
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.input(0).count(); ++i) {
      const std::int64_t index = checked_index(context, indices[i], count);
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < inner.size(); ++axis)
        offset += index / from[axis] % inner[axis] * to[axis];
      y[offset] = x[i];
    }
  });
}

}  // namespace

constinit const OpDef kMaxUnpool{.name = "MaxUnpool",
                                 .attributes = kAttributes,
                                 .min_inputs = 2,
                                 .max_inputs = 3,
                                 .infer = infer,
                                 .evaluate = evaluate};

}  // namespace saccade::ops
