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

Granularity::Granularity(const NodeView& context) : context_(context) {
  const Shape &x = context.shape(0), &scale = context.shape(1);
  block_ = context.node().integer("block_size", 0);
  if (block_ < 0) context.fail("block_size is " + std::to_string(block_));
  if (x.empty()) block_ = 0;
  if (x.empty() || (block_ == 0 && element_count(scale) == 1)) return;
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", 1), x.size());
  length_ = x[axis];
  inner_ = product(x, axis + 1, x.size());
  if (block_ == 0) return;
  blocks_ = length_ == 0 ? 0 : (length_ - 1) / block_ + 1;
  Shape expected = x;
  expected[axis] = blocks_;
  if (scale != expected)
    context.mismatch("scale has shape " + shape_string(scale) + ", expected " + shape_string(expected));
}

void Granularity::check(std::size_t input, const char* what) const {
  if (input == 1 && length_ > 0 && element_count(context_.shape(1)) == 0) context_.mismatch("scale is empty");
  if (block_ == 0) return check_granularity(context_, input, length_, what);
  if (context_.has(input) && context_.shape(input) != context_.shape(1))
    context_.mismatch(std::string(what) + " has shape " + shape_string(context_.shape(input)) +
                      ", expected " + shape_string(context_.shape(1)));
}

std::vector<double> Granularity::values(const EvalContext& context, std::size_t input) const {
  return per_slice(context, input, block_ == 0 ? length_ : element_count(context.shape(1)));
}

std::size_t Granularity::index(std::int64_t element) const {
  const std::int64_t along = element / inner_ % length_;
  if (block_ == 0) return static_cast<std::size_t>(along);
  return static_cast<std::size_t>((element / (inner_ * length_) * blocks_ + along / block_) * inner_ +
                                  element % inner_);
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
