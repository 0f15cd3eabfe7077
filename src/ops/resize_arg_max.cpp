// The channel with the largest resized value at each place, the first among equals: ArgMax over axis 1 of a
// Resize. Made by fuse_resize_arg_max; takes what Resize takes.
#include "ops/op_def.h"
#include "ops/resize_plan.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  Shape shape = resize_shape(context);
  if (shape.size() < 2 || shape[1] < 1) context.mismatch("no channels in " + shape_string(shape));
  shape[1] = 1;
  context.output(0, DType::i64, shape);
}

void evaluate(EvalContext& context) {
  const std::vector<ResizeAxis> axes = resize_plan(context);
  Shape resized = context.shape(0);
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (!axes[a].identity) resized[a] = axes[a].out;
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> data;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    types.push_back(context.has(i) ? &context.type(i) : nullptr);
    data.push_back(context.constant(i));
  }
  const TensorType between{context.dtype(0), resized}, result{DType::i64, context.output_type(0).shape};
  EvalContext resize(context.node(), types, data, {&between, 1});
  kResize.evaluate(resize);
  ir::Node node;
  node.op = "ArgMax";
  node.attributes["axis"] = std::int64_t{1};
  const TensorType* const type = &between;
  const Tensor* const values = &resize.out();
  EvalContext arg_max(node, {&type, 1}, {&values, 1}, {&result, 1});
  kArgMax.evaluate(arg_max);
  context.set(0, std::move(arg_max.out()));
}

}  // namespace

constinit const OpDef kResizeArgMax{.name = "ResizeArgMax",
                                    .attributes = kResizeAttributes,
                                    .min_inputs = 1,
                                    .max_inputs = 4,
                                    .infer = infer,
                                    .evaluate = evaluate};

}  // namespace saccade::ops
