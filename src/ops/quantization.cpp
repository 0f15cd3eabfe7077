#include "ops/quantization.h"

namespace saccade::ops {

void check_granularity(const NodeView& context, std::size_t input, std::int64_t length, const char* what) {
  if (!context.has(input)) return;
  const std::int64_t count = element_count(context.shape(input));
  if (context.rank(input) > 1 || (count != 1 && count != length && !(count == 0 && context.rank(input) == 1)))
    context.mismatch(std::string(what) + " has shape " + shape_string(context.shape(input)) +
                     ", expected one value or " + std::to_string(length));
}

std::vector<double> per_slice(const EvalContext& context, std::size_t input, std::int64_t length) {
  const auto count = static_cast<std::size_t>(length);
  if (!has_zero_point(context, input)) return std::vector<double>(count, 0.0);
  const Tensor values = convert(context.input(input), DType::f64);
  if (values.count() == 1) return std::vector<double>(count, values.data<double>()[0]);
  return {values.values<double>().begin(), values.values<double>().end()};
}

Tensor centred(const EvalContext& context, std::size_t input, std::size_t zero_point, std::size_t axis) {
  Tensor values = convert(context.input(input), DType::f64);
  if (values.rank() == 0) return values;
  const std::int64_t length = values.dim(axis), inner = product(values.shape(), axis + 1, values.rank());
  const std::vector<double> zero = per_slice(context, zero_point, length);
  for (std::int64_t i = 0; i < values.count(); ++i)
    values.data<double>()[i] -= zero[static_cast<std::size_t>(i / inner % length)];
  return values;
}

}  // namespace saccade::ops
