// Matrix product with NumPy's rules: vectors are promoted, leading dimensions broadcast. May have a fused
// activation.
#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/product.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"activation", AttributeKind::text},
                                        {"activation_alpha", AttributeKind::real},
                                        {"activation_beta", AttributeKind::real}};

/// Operands with vectors made matrices.
struct Operands {
  Shape a, b, batch;
};

Operands operands_of(const NodeView& context) {
  Operands o{context.shape(0), context.shape(1), {}};
  if (o.a.empty() || o.b.empty()) context.mismatch("a scalar operand");
  if (o.a.size() == 1) o.a.insert(o.a.begin(), 1);
  if (o.b.size() == 1) o.b.push_back(1);
  if (o.a.back() != o.b[o.b.size() - 2])
    context.mismatch("cannot multiply " + shape_string(context.shape(0)) + " by " +
                     shape_string(context.shape(1)));
  o.batch = broadcast_shapes(context, {o.a.begin(), o.a.end() - 2}, {o.b.begin(), o.b.end() - 2});
  return o;
}

void infer(InferContext& context) {
  if (context.dtype(0) != context.dtype(1)) context.fail("operands differ in type");
  Activation{context};
  const Operands o = operands_of(context);
  Shape shape = o.batch;
  if (context.rank(0) > 1) shape.push_back(o.a[o.a.size() - 2]);
  if (context.rank(1) > 1) shape.push_back(o.b.back());
  context.output(0, context.dtype(0), shape);
}

template <class T>
void multiply(EvalContext& context, const Operands& o) {
  const std::int64_t rows = o.a[o.a.size() - 2], depth = o.a.back(), columns = o.b.back();
  const Activation activation(context);
  Strides a = broadcast_strides({o.a.begin(), o.a.end() - 2}, o.batch),
          b = broadcast_strides({o.b.begin(), o.b.end() - 2}, o.batch);
  T* y = context.out().data<T>();
  std::vector<Accumulator<T>> sums(static_cast<std::size_t>(columns));
  for_each_row<3>(o.batch, {dense_strides(o.batch), a, b}, [&](const auto& at, std::int64_t n) {
    for (std::int64_t m = 0; m < n; ++m) {
      const MatrixView<T> left{context.input(0).data<T>() + (at[1] + m * step(a)) * rows * depth, depth, 1};
      const MatrixView<T> right{context.input(1).data<T>() + (at[2] + m * step(b)) * depth * columns, columns,
                                1};
      T* dst = y + (at[0] + m) * rows * columns;
      for (std::int64_t i = 0; i < rows; ++i) {
        product_row(left, right, i, depth, sums);
        for (std::int64_t j = 0; j < columns; ++j) {
          const auto sum = sums[static_cast<std::size_t>(j)];
          if constexpr (std::is_integral_v<T>)
            dst[i * columns + j] = static_cast<T>(sum);
          else
            dst[i * columns + j] = static_cast<T>(activation(sum));
        }
      }
    }
  });
}

void evaluate(EvalContext& context) {
  const Operands o = operands_of(context);
  visit_number(context, context.dtype(0),
               [&](auto tag) { multiply<typename decltype(tag)::Type>(context, o); });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  return inputs[0]->shape.empty() ? 0 : element_count(outputs[0].shape) * inputs[0]->shape.back();
}

}  // namespace

constinit const OpDef kMatMul{.name = "MatMul",
                              .attributes = kAttributes,
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .traits = kMultiplyAdd,
                              .infer = infer,
                              .evaluate = evaluate,
                              .multiply_adds = multiply_adds};

}  // namespace saccade::ops
