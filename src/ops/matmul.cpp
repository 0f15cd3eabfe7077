// Matrix product with NumPy's rules: vectors are promoted, leading dimensions broadcast. May have a fused
// activation.
#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/product.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"activation", AttributeKind::text},
                                        {"activation_alpha", AttributeKind::real},
                                        {"activation_beta", AttributeKind::real},
                                        kStoreAs};

void infer(InferContext& context) {
  if (!data_fits(context.dtype(1), context.dtype(0))) context.fail("operands differ in type");
  Activation{context};
  context.output(0, stored_type(context), product_shape(context, 0, 1));
}

void evaluate(EvalContext& context) {
  const Activation activation(context);
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* y = context.out().template data<T>();
    multiply_matrices<T>(context, context.input(0), context.input(1),
                         [&](std::int64_t at, const std::vector<Accumulator<T>>& sums) {
                           for (std::size_t j = 0; j < sums.size(); ++j) {
                             T& result = y[at + static_cast<std::int64_t>(j)];
                             if constexpr (std::is_integral_v<T>)
                               result = static_cast<T>(sums[j]);
                             else
                               result = static_cast<T>(activation(sums[j]));
                           }
                         });
  });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  if (inputs[0]->shape.empty()) return 0;
  return saturating_product(element_count(outputs[0].shape), inputs[0]->shape.back());
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
