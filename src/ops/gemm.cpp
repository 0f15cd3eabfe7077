// y = activation(alpha op(A) op(B) + beta C), where op may transpose and C broadcasts.
#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/product.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"alpha", AttributeKind::real},           {"beta", AttributeKind::real},
    {"transA", AttributeKind::integer},       {"transB", AttributeKind::integer},
    {"activation", AttributeKind::text},      {"activation_alpha", AttributeKind::real},
    {"activation_beta", AttributeKind::real}, kStoreAs};

struct Sizes {
  std::int64_t rows, depth, columns;
  bool transpose_a, transpose_b;
};

Sizes sizes_of(const NodeView& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (a.size() != 2 || b.size() != 2)
    context.mismatch("operands " + shape_string(a) + " and " + shape_string(b) + " must be matrices");
  const bool ta = context.node().integer("transA", 0) != 0, tb = context.node().integer("transB", 0) != 0;
  if (a[ta ? 0 : 1] != b[tb ? 1 : 0])
    context.mismatch("cannot multiply " + shape_string(a) + (ta ? " (transposed)" : "") + " by " +
                     shape_string(b) + (tb ? " (transposed)" : ""));
  return {a[ta ? 1 : 0], a[ta ? 0 : 1], b[tb ? 0 : 1], ta, tb};
}

void infer(InferContext& context) {
  const Sizes s = sizes_of(context);
  Activation{context};
  const Shape shape{s.rows, s.columns};
  for (std::size_t i = 1; i < 3; ++i)
    if (context.has(i) && !parameters_fit(context.dtype(i), context.dtype(0)))
      context.fail("operands differ in type");
  if (context.has(2) && broadcast_shapes(context, context.shape(2), shape) != shape)
    context.mismatch("C " + shape_string(context.shape(2)) + " does not broadcast to " + shape_string(shape));
  context.output(0, stored_type(context), shape);
}

template <class T>
void multiply(EvalContext& context, const Sizes& s) {
  const double alpha = static_cast<double>(context.node().real("alpha", 1)),
               beta = static_cast<double>(context.node().real("beta", 1));
  const Activation activation(context);
  const MatrixView<T> a{context.input(0).data<T>(), s.transpose_a ? 1 : s.depth, s.transpose_a ? s.rows : 1};
  const MatrixView<T> b{context.input(1).data<T>(), s.transpose_b ? 1 : s.columns,
                        s.transpose_b ? s.depth : 1};
  const T* c = context.has(2) ? context.input(2).data<T>() : nullptr;
  const Strides c_strides =
      c != nullptr ? broadcast_strides(context.shape(2), {s.rows, s.columns}) : Strides{0, 0};
  T* y = context.out().data<T>();
  std::vector<Accumulator<T>> sums(static_cast<std::size_t>(s.columns));
  for (std::int64_t i = 0; i < s.rows; ++i) {
    product_row(a, b, i, s.depth, sums);
    for (std::int64_t j = 0; j < s.columns; ++j) {
      double sum =
          alpha * static_cast<double>(static_cast<std::conditional_t<std::is_integral_v<T>, T, double>>(
                      sums[static_cast<std::size_t>(j)]));
      if (c != nullptr) sum += beta * static_cast<double>(c[i * c_strides[0] + j * c_strides[1]]);
      y[i * s.columns + j] = static_cast<T>(activation(sum));
    }
  }
}

void evaluate(EvalContext& context) {
  const Sizes s = sizes_of(context);
  visit_number(context, context.dtype(0),
               [&](auto tag) { multiply<typename decltype(tag)::Type>(context, s); });
}

std::int64_t multiply_adds(const ir::Node& node, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  return saturating_product(element_count(outputs[0].shape),
                            inputs[0]->shape[node.integer("transA", 0) != 0 ? 0 : 1]);
}

}  // namespace

constinit const OpDef kGemm{.name = "Gemm",
                            .attributes = kAttributes,
                            .min_inputs = 2,
                            .max_inputs = 3,
                            .traits = kMultiplyAdd,
                            .infer = infer,
                            .evaluate = evaluate,
                            .multiply_adds = multiply_adds};

}  // namespace saccade::ops
