// Walking over dense and strided arrays of any rank, NumPy broadcasting, and axes.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

using Strides = std::vector<std::int64_t>;

/// Element strides of a dense row-major array.
Strides dense_strides(const Shape& shape);

/// Product of dims [begin, end).
std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end);
/// a * b of numbers that are not negative, or the most that the type holds.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept;
std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) noexcept;

/// `axis` in [-rank, rank) made non-negative; otherwise fails, naming `what`.
std::size_t normalize_axis(const NodeView& context, std::int64_t axis, std::size_t rank,
                           const char* what = "axis");
/// All of them, sorted; a repeated axis is an error.
std::vector<std::size_t> normalize_axes(const NodeView& context, const std::vector<std::int64_t>& axes,
                                        std::size_t rank);

/// NumPy's rule; a mismatch is Error(shape_mismatch).
Shape broadcast_shapes(const NodeView& context, const Shape& a, const Shape& b);
/// Strides that read `from` as if it had the shape `to` (0 along broadcast dimensions). `from` must broadcast
/// to `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// A known integer input (i32 or i64, rank 0 or 1) as a list.
std::vector<std::int64_t> integer_list(const NodeView& context, std::size_t input);
/// A known input of one element as a number.
double scalar_value(const NodeView& context, std::size_t input);
std::int64_t scalar_integer(const NodeView& context, std::size_t input);

/// Calls row(offsets, count) for each innermost row of `dims`, in row-major order. offsets[k] is the row's
/// first element in an array of strides[k]; consecutive elements of the row are strides[k].back() apart
/// (`step(strides[k])`).
template <std::size_t K, class Row>
void for_each_row(const Shape& dims, const std::array<Strides, K>& strides, Row row) {
  for (const std::int64_t dim : dims)
    if (dim == 0) return;
  std::array<std::int64_t, K> offsets{};
  if (dims.empty()) return row(offsets, std::int64_t{1});
  const std::size_t outer = dims.size() - 1;
  std::vector<std::int64_t> index(outer, 0);
  while (true) {
    row(offsets, dims.back());
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < K; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < dims[axis]) break;
      for (std::size_t k = 0; k < K; ++k) offsets[k] -= strides[k][axis] * dims[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

/// Distance of neighbours along the innermost dimension.
inline std::int64_t step(const Strides& strides) { return strides.empty() ? 0 : strides.back(); }

}  // namespace saccade::ops
