#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void require_same_dtype(const NodeView& context) {
  if (context.dtype(0) != context.dtype(1))
    context.fail(std::string("operands differ in type: ") + dtype_name(context.dtype(0)) + " and " +
                 dtype_name(context.dtype(1)));
}

}  // namespace

std::vector<double> parameters_of(const OpDef& op, const ir::Node& node) {
  std::vector<double> values;
  for (const Parameter& parameter : op.scalar.parameters) {
    if (!node.has(parameter.attribute))
      values.push_back(parameter.otherwise);
    else if (!parameter.one.empty())
      values.push_back(node.text(parameter.attribute, "") == parameter.one ? 1.0 : 0.0);
    else
      values.push_back(static_cast<double>(node.real(parameter.attribute, 0)));
  }
  return values;
}

void infer_unary(InferContext& context) { context.output(0, context.dtype(0), context.shape(0)); }

void infer_unary_float(InferContext& context) {
  if (!is_float(context.dtype(0)))
    context.fail(std::string("needs a float tensor, got ") + dtype_name(context.dtype(0)));
  infer_unary(context);
}

void evaluate_unary_float(EvalContext& context) {
  const OpDef& op = *find(context.node().op);
  const std::vector<double> parameters = parameters_of(op, context.node());
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.out().count(); ++i) {
      const double operand = static_cast<double>(x[i]);
      y[i] = static_cast<T>(op.scalar.fn(&operand, parameters.data()));
    }
  });
}

void infer_binary(InferContext& context) {
  require_same_dtype(context);
  context.output(0, context.dtype(0), broadcast_shapes(context, context.shape(0), context.shape(1)));
}

void infer_comparison(InferContext& context) {
  require_same_dtype(context);
  context.output(0, DType::boolean, broadcast_shapes(context, context.shape(0), context.shape(1)));
}

void infer_logical(InferContext& context) {
  for (std::size_t i = 0; i < 2; ++i)
    if (context.dtype(i) != DType::boolean)
      context.fail(std::string("needs bool operands, got ") + dtype_name(context.dtype(i)));
  infer_comparison(context);
}

}  // namespace saccade::ops
