// The loops of MatMul and its quantised forms, and of Gemm.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/dispatch.h"
#include "ops/indexing.h"

namespace saccade::ops {

/// What sums of T are accumulated in: double, or 64-bit integers that wrap around.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

/// A matrix in memory: element (i, j) stands at i * row + j * column.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t row;
  std::int64_t column;
};

/// sums[j] = sum over p of a(i, p) * b(p, j), for one row i.
template <class T>
void product_row(const MatrixView<T>& a, const MatrixView<T>& b, std::int64_t i, std::int64_t depth,
                 std::vector<Accumulator<T>>& sums) {
  std::fill(sums.begin(), sums.end(), Accumulator<T>{0});
  for (std::int64_t p = 0; p < depth; ++p) {
    const auto factor = static_cast<Accumulator<T>>(a.data[i * a.row + p * a.column]);
    const T* row = b.data + p * b.row;
    if (b.column == 1)
      for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += factor * static_cast<Accumulator<T>>(row[j]);
    else
      for (std::size_t j = 0; j < sums.size(); ++j)
        sums[j] += factor * static_cast<Accumulator<T>>(row[static_cast<std::int64_t>(j) * b.column]);
  }
}

/// Operands of a product by NumPy's rules, with vectors made matrices, and the broadcast batch dimensions.
struct Operands {
  Shape a, b, batch;
};
Operands product_operands(const NodeView& context, const Shape& a, const Shape& b);
/// Shape of the product of two inputs.
Shape product_shape(const NodeView& context, std::size_t a, std::size_t b);

/// All products: calls finish(offset, sums) for each row of the result, where `offset` is its first element.
template <class T, class Finish>
void multiply_matrices(const NodeView& context, const Tensor& a, const Tensor& b, Finish finish) {
  const Operands o = product_operands(context, a.shape(), b.shape());
  const std::int64_t rows = o.a[o.a.size() - 2], depth = o.a.back(), columns = o.b.back();
  const Strides sa = broadcast_strides({o.a.begin(), o.a.end() - 2}, o.batch),
                sb = broadcast_strides({o.b.begin(), o.b.end() - 2}, o.batch);
  std::vector<Accumulator<T>> sums(static_cast<std::size_t>(columns));
  for_each_row<3>(o.batch, {dense_strides(o.batch), sa, sb}, [&](const auto& at, std::int64_t n) {
    for (std::int64_t m = 0; m < n; ++m) {
      const MatrixView<T> left{a.data<T>() + (at[1] + m * step(sa)) * rows * depth, depth, 1};
      const MatrixView<T> right{b.data<T>() + (at[2] + m * step(sb)) * depth * columns, columns, 1};
      for (std::int64_t i = 0; i < rows; ++i) {
        product_row(left, right, i, depth, sums);
        finish(((at[0] + m) * rows + i) * columns, sums);
      }
    }
  });
}

}  // namespace saccade::ops
