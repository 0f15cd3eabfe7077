// What the files of elementwise operators share: shape rules and kernels for y = f(x) and y = f(a, b).
#pragma once

#include <cmath>
#include <type_traits>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/op_def.h"
#include "ops/table.h"

namespace saccade::ops {

/// The parameters of an elementwise operator, from its attributes.
std::vector<double> parameters_of(const OpDef& op, const ir::Node& node);

/// One input, one output of its type. The float form refuses integers.
void infer_unary(InferContext& context);
void infer_unary_float(InferContext& context);
/// f32 and f64 through OpDef::scalar, computed in double.
void evaluate_unary_float(EvalContext& context);

/// y = f(x) for every numeric type: floats through OpDef::scalar, integers through F.
template <class F>
void evaluate_unary_number(EvalContext& context) {
  if (is_float(context.dtype(0))) return evaluate_unary_float(context);
  visit_integer(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.out().count(); ++i) y[i] = F{}(x[i]);
  });
}

constexpr OpDef unary_float(std::string_view name, double (*fn)(const double*, const double*),
                            std::uint32_t traits = 0, std::span<const AttributeDef> attributes = {},
                            std::span<const Parameter> parameters = {}) {
  OpDef op;
  op.name = name;
  op.attributes = attributes;
  op.traits = kElementwiseUnary | traits;
  op.infer = infer_unary_float;
  op.evaluate = evaluate_unary_float;
  op.scalar = {fn, parameters};
  return op;
}

/// As unary_float, but defined for integers too, by F.
template <class F>
constexpr OpDef unary_number(std::string_view name, double (*fn)(const double*, const double*),
                             std::uint32_t traits = 0) {
  OpDef op = unary_float(name, fn, traits);
  op.infer = infer_unary;
  op.evaluate = evaluate_unary_number<F>;
  return op;
}

/// Two inputs of one dtype that broadcast; the output has that dtype, or is bool.
void infer_binary(InferContext& context);
void infer_comparison(InferContext& context);
void infer_logical(InferContext& context);

/// y = f(a, b) over the broadcast of two tensors of types A, into Y.
template <class A, class Y, class F>
void apply_binary(EvalContext& context, F f) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  Tensor& y = context.out();
  const A* pa = a.data<A>();
  const A* pb = b.data<A>();
  Y* py = y.data<Y>();
  const std::array<Strides, 3> strides{dense_strides(y.shape()), broadcast_strides(a.shape(), y.shape()),
                                       broadcast_strides(b.shape(), y.shape())};
  const std::int64_t sa = step(strides[1]), sb = step(strides[2]);
  for_each_row<3>(y.shape(), strides, [&](const auto& at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
      py[at[0] + i] = static_cast<Y>(f(pa[at[1] + i * sa], pb[at[2] + i * sb]));
  });
}

template <class F>
void evaluate_arithmetic(EvalContext& context) {
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    apply_binary<T, T>(context, F{});
  });
}

template <class F>
void evaluate_comparison(EvalContext& context) {
  visit_any(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    apply_binary<T, bool>(context, F{});
  });
}

template <class F>
void evaluate_logical(EvalContext& context) {
  apply_binary<bool, bool>(context, F{});
}

/// Numeric, output of the operands' type. F is a function object with a template call operator.
template <class F>
constexpr OpDef arithmetic(std::string_view name) {
  OpDef op;
  op.name = name;
  op.min_inputs = op.max_inputs = 2;
  op.traits = kElementwiseBinary;
  op.infer = infer_binary;
  op.evaluate = evaluate_arithmetic<F>;
  op.scalar.fn = [](const double* x, const double*) { return static_cast<double>(F{}(x[0], x[1])); };
  return op;
}

template <class F>
constexpr OpDef comparison(std::string_view name) {
  OpDef op;
  op.name = name;
  op.min_inputs = op.max_inputs = 2;
  op.traits = kElementwiseBinary;
  op.infer = infer_comparison;
  op.evaluate = evaluate_comparison<F>;
  return op;
}

template <class F>
constexpr OpDef logical(std::string_view name) {
  OpDef op;
  op.name = name;
  op.min_inputs = op.max_inputs = 2;
  op.traits = kElementwiseBinary;
  op.infer = infer_logical;
  op.evaluate = evaluate_logical<F>;
  return op;
}

/// Integer arithmetic that wraps around instead of overflowing.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

}  // namespace saccade::ops
