// Scales and zero points: what the quantised operators share.
#pragma once

#include <cmath>
#include <limits>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

/// Whether an optional zero point is there; some exporters give an empty tensor instead of none.
inline bool has_zero_point(const NodeView& context, std::size_t input) {
  return context.has(input) && element_count(context.shape(input)) > 0;
}

/// Fails unless `input` holds one value, or one for each of `length` slices.
void check_granularity(const NodeView& context, std::size_t input, std::int64_t length, const char* what);

/// Scales or zero points as doubles, `length` of them; 0 where the input is absent.
std::vector<double> per_slice(const EvalContext& context, std::size_t input, std::int64_t length);

/// Which scale and zero point belong to an element of input 0 of QuantizeLinear and DequantizeLinear
/// (attributes `axis` and `block_size`; the scale is input 1).
class Granularity {
 public:
  explicit Granularity(const NodeView& context);
  /// Fails unless the input, where there is one, has as many values as are needed.
  void check(std::size_t input, const char* what) const;
  /// The input's values as doubles; zeros where it is absent.
  std::vector<double> values(const EvalContext& context, std::size_t input) const;
  std::size_t index(std::int64_t element) const;

 private:
  const NodeView& context_;
  std::int64_t block_ = 0, length_ = 1, inner_ = 1, blocks_ = 1;
};

/// Rounds to nearest, ties to even, and saturates; NaN gives 0.
template <class T>
T saturate(double x) {
  const double rounded = std::nearbyint(x);
  if (std::isnan(rounded)) return 0;
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

/// x_scale * w_scale / y_scale as integer kernels have it: in single precision, one rounding after the other.
inline float combined_scale(double x_scale, double w_scale, double y_scale) {
  return static_cast<float>(x_scale) * static_cast<float>(w_scale) / static_cast<float>(y_scale);
}

/// A sum of products as a quantised result.
template <class T>
T requantised(double sum, float ratio, double zero_point) {
  return saturate<T>(std::nearbyint(static_cast<double>(static_cast<float>(sum) * ratio)) + zero_point);
}

/// A quantised tensor as f64 with its zero point taken off: one for all, or one for each slice along `axis`.
Tensor centred(const EvalContext& context, std::size_t input, std::size_t zero_point, std::size_t axis);

}  // namespace saccade::ops
