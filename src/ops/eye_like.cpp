// A matrix of the input's shape with ones on the k-th diagonal, of the type `dtype` or the input's.
#include <algorithm>
#include <cstring>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"k", AttributeKind::integer}, {"dtype", AttributeKind::text}};

void infer(InferContext& context) {
  if (context.rank(0) != 2)
    context.mismatch("the input has shape " + shape_string(context.shape(0)) + ", expected a matrix");
  const std::string name = context.node().text("dtype", "");
  context.output(0, name.empty() ? context.dtype(0) : parse_dtype(context, name), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Shape& shape = context.output_type(0).shape;
  const std::int64_t k = context.node().integer("k", 0);
  Tensor y = Tensor::zeros(DType::f32, shape);
  for (std::int64_t i = 0; i < shape[0]; ++i)
    if (k > -shape[0] && k < shape[1] && i + k >= 0 && i + k < shape[1])
      y.data<float>()[i * shape[1] + i + k] = 1;
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kEyeLike{.name = "EyeLike",
                               .attributes = kAttributes,
                               .traits = kNativeHalf | kShapeArithmetic,
                               .infer = infer,
                               .evaluate = evaluate};

}  // namespace saccade::ops
