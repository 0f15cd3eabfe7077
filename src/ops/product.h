// The inner loops of MatMul and Gemm.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/dispatch.h"

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

}  // namespace saccade::ops
