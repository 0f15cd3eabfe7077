// Discrete Fourier transform along an axis; the last dimension holds real and imaginary parts (1 or 2).
// Inputs: x, [length], [axis]. `onesided` keeps the first half of a real signal's transform; together with
// `inverse` it takes that half and gives the real signal.
#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/fourier.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"inverse", AttributeKind::integer},
                                        {"onesided", AttributeKind::integer}};

struct Plan {
  std::size_t axis;
  std::int64_t length;  ///< of the transform
  std::int64_t result;  ///< entries along the axis of the output
  std::int64_t parts;   ///< of the output's last dimension
  bool inverse, onesided;
};

Plan plan_of(const NodeView& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 2 || (x.back() != 1 && x.back() != 2))
    context.mismatch("the input has shape " + shape_string(x) + "; its last dimension must be 1 or 2");
  const std::int64_t given = context.has(2) ? scalar_integer(context, 2) : -2;
  Plan plan{};
  plan.axis = normalize_axis(context, given, x.size());
  if (plan.axis + 1 == x.size()) context.fail("the axis is that of real and imaginary parts");
  plan.inverse = context.node().integer("inverse", 0) != 0;
  plan.onesided = context.node().integer("onesided", 0) != 0;
  const bool to_real = plan.inverse && plan.onesided;
  const std::int64_t size = x[plan.axis];
  plan.length = context.has(1) ? scalar_integer(context, 1) : to_real ? 2 * (size - 1) : size;
  if (plan.length < 1) context.fail("the transform's length is " + std::to_string(plan.length));
  if (plan.onesided && !plan.inverse && x.back() != 1)
    context.fail("onesided needs a real signal, the input is complex");
  plan.result = plan.onesided && !plan.inverse ? plan.length / 2 + 1 : plan.length;
  plan.parts = to_real ? 1 : 2;
  return plan;
}

void infer(InferContext& context) {
  const Plan plan = plan_of(context);
  Shape shape = context.shape(0);
  shape[plan.axis] = plan.result;
  shape.back() = plan.parts;
  if (!is_float(context.dtype(0))) context.unsupported("not defined for integers");
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Plan plan = plan_of(context);
  const Tensor x = convert(context.input(0), DType::f64);
  Tensor y(DType::f64, context.output_type(0).shape);
  const std::int64_t parts = x.shape().back(), size = x.dim(plan.axis);
  const std::int64_t outer = product(x.shape(), 0, plan.axis),
                     inner = product(x.shape(), plan.axis + 1, x.rank() - 1);
  std::vector<std::complex<double>> line(static_cast<std::size_t>(plan.length));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t k = 0; k < plan.length; ++k) {
        const bool mirrored = plan.inverse && plan.onesided && k >= size && plan.length - k < size;
        const std::int64_t from = mirrored ? plan.length - k : k;
        std::complex<double> value = 0;
        if (from < size) {
          const double* at = x.data<double>() + ((o * size + from) * inner + i) * parts;
          value = {at[0], parts == 2 ? at[1] : 0.0};
        }
        line[static_cast<std::size_t>(k)] = mirrored ? std::conj(value) : value;
      }
      const std::vector<std::complex<double>> result = fourier(line, plan.inverse);
      for (std::int64_t k = 0; k < plan.result; ++k) {
        double* at = y.data<double>() + ((o * plan.result + k) * inner + i) * plan.parts;
        at[0] = result[static_cast<std::size_t>(k)].real();
        if (plan.parts == 2) at[1] = result[static_cast<std::size_t>(k)].imag();
      }
    }
  context.set(0, convert(y, context.output_type(0).dtype));
}

/// As if every length were odd, which the transform cannot halve.
std::int64_t work(const NodeView& context) {
  std::int64_t longest = 1;
  for (const std::int64_t dim : context.shape(0)) longest = std::max(longest, dim);
  return saturating_product({element_count(context.shape(0)), longest});
}

}  // namespace

constinit const OpDef kDFT{.name = "DFT",
                           .attributes = kAttributes,
                           .max_inputs = 3,
                           .infer = infer,
                           .evaluate = evaluate,
                           .work = work};

}  // namespace saccade::ops
