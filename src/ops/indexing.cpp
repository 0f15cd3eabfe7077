#include "ops/indexing.h"

#include <algorithm>
#include <limits>

#include "ops/convert.h"

namespace saccade::ops {

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) noexcept {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) result = saturating_product(result, factor);
  return result;
}

std::size_t normalize_axis(const NodeView& context, std::int64_t axis, std::size_t rank, const char* what) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit)
    context.fail(std::string(what) + " " + std::to_string(axis) + " is out of range for rank " +
                 std::to_string(rank));
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

std::vector<std::size_t> normalize_axes(const NodeView& context, const std::vector<std::int64_t>& axes,
                                        std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) result.push_back(normalize_axis(context, axis, rank));
  std::sort(result.begin(), result.end());
  if (const auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end())
    context.fail("axis " + std::to_string(*twice) + " is given twice");
  return result;
}

Shape broadcast_shapes(const NodeView& context, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t da = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t db = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (da != db && da != 1 && db != 1)
      context.mismatch("shapes " + shape_string(a) + " and " + shape_string(b) + " do not broadcast");
    result[i] = da == 1 ? db : da;
  }
  return result;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides dense = dense_strides(from);
  Strides result(to.size(), 0);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) result[i + shift] = dense[i];
  return result;
}

std::vector<std::int64_t> integer_list(const NodeView& context, std::size_t input) {
  const Tensor& tensor = context.needed(input);
  if (tensor.rank() > 1)
    context.fail("input " + std::to_string(input) + " must be a list, has shape " +
                 shape_string(tensor.shape()));
  if (tensor.dtype() == DType::i64)
    return {tensor.values<std::int64_t>().begin(), tensor.values<std::int64_t>().end()};
  if (tensor.dtype() == DType::i32)
    return {tensor.values<std::int32_t>().begin(), tensor.values<std::int32_t>().end()};
  context.fail("input " + std::to_string(input) + " must be int32 or int64, is " +
               dtype_name(tensor.dtype()));
}

std::int64_t scalar_integer(const NodeView& context, std::size_t input) {
  const std::vector<std::int64_t> list = integer_list(context, input);
  if (list.size() != 1)
    context.fail("input " + std::to_string(input) + " must have one element, has " +
                 std::to_string(list.size()));
  return list[0];
}

double scalar_value(const NodeView& context, std::size_t input) {
  const Tensor& tensor = context.needed(input);
  if (tensor.count() != 1)
    context.fail("input " + std::to_string(input) + " must have one element, has shape " +
                 shape_string(tensor.shape()));
  return convert(tensor, DType::f64).data<double>()[0];
}

}  // namespace saccade::ops
