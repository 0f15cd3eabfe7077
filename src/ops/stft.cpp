// Fourier transforms of windows that step through a signal. Inputs: signal (batch, length, 1 or 2), step,
// [window], [window length]; `onesided` keeps the first half.
#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/fourier.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"onesided", AttributeKind::integer}};

struct Plan {
  std::int64_t step, length, frames, bins;
};

Plan plan_of(const NodeView& context) {
  const Shape& x = context.shape(0);
  if (x.size() != 2 && (x.size() != 3 || (x[2] != 1 && x[2] != 2)))
    context.mismatch("the signal has shape " + shape_string(x) + ", expected (batch, length, 1 or 2)");
  Plan plan{};
  plan.step = scalar_integer(context, 1);
  plan.length = context.has(3)   ? scalar_integer(context, 3)
                : context.has(2) ? element_count(context.shape(2))
                                 : x[1];
  if (context.has(2) && element_count(context.shape(2)) != plan.length)
    context.mismatch("the window has " + std::to_string(element_count(context.shape(2))) +
                     " values, the frames have " + std::to_string(plan.length));
  if (plan.step < 1 || plan.length < 1 || plan.length > x[1])
    context.fail("frames of " + std::to_string(plan.length) + " every " + std::to_string(plan.step) +
                 " do not fit a signal of " + std::to_string(x[1]));
  plan.frames = (x[1] - plan.length) / plan.step + 1;
  const bool onesided = context.node().integer("onesided", 1) != 0;
  if (onesided && x.size() == 3 && x[2] == 2)
    context.fail("onesided needs a real signal, the input is complex");
  plan.bins = onesided ? plan.length / 2 + 1 : plan.length;
  return plan;
}

void infer(InferContext& context) {
  const Plan plan = plan_of(context);
  if (!is_float(context.dtype(0))) context.unsupported("not defined for integers");
  context.output(0, context.dtype(0), {context.shape(0)[0], plan.frames, plan.bins, 2});
}

void evaluate(EvalContext& context) {
  const Plan plan = plan_of(context);
  const Tensor x = convert(context.input(0), DType::f64);
  const Tensor window = context.has(2) ? convert(context.input(2), DType::f64) : Tensor();
  Tensor y(DType::f64, context.output_type(0).shape);
  const std::int64_t parts = x.rank() == 3 ? x.dim(2) : 1;
  double* to = y.data<double>();
  std::vector<std::complex<double>> frame(static_cast<std::size_t>(plan.length));
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t f = 0; f < plan.frames; ++f) {
      for (std::int64_t i = 0; i < plan.length; ++i) {
        const double* at = x.data<double>() + (n * x.dim(1) + f * plan.step + i) * parts;
        const double weight = window.empty() ? 1 : window.data<double>()[i];
        frame[static_cast<std::size_t>(i)] = {weight * at[0], parts == 2 ? weight * at[1] : 0.0};
      }
      const std::vector<std::complex<double>> result = fourier(frame, false);
      for (std::int64_t k = 0; k < plan.bins; ++k, to += 2) {
        to[0] = result[static_cast<std::size_t>(k)].real();
        to[1] = result[static_cast<std::size_t>(k)].imag();
      }
    }
  context.set(0, convert(y, context.output_type(0).dtype));
}

/// As if every sample were the start of a frame as long as the window.
std::int64_t work(const NodeView& context) {
  const std::int64_t frame = context.has(2)        ? element_count(context.shape(2))
                             : context.rank(0) > 1 ? context.shape(0)[1]
                                                   : 1;
  return saturating_product({element_count(context.shape(0)), frame, frame});
}

}  // namespace

constinit const OpDef kSTFT{.name = "STFT",
                            .attributes = kAttributes,
                            .min_inputs = 2,
                            .max_inputs = 4,
                            .infer = infer,
                            .evaluate = evaluate,
                            .work = work};

}  // namespace saccade::ops
