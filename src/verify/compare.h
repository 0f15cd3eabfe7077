// How a result differs from what was expected.
#pragma once

#include <optional>
#include <string>

#include "saccade/tensor.h"

namespace saccade::verify {

struct Tolerance {
  /// nullopt: 1e-3, which is a unit in the last place of float16; for bfloat16, which is coarser, 2^-7.
  std::optional<double> relative;
  double absolute = 1e-6;
  double peak = 0;  ///< of the largest finite magnitude in what is expected
};

/// nullopt where dtype and shape are the same.
std::optional<std::string> difference_of_type(const Tensor& got, const Tensor& want);

/// nullopt where `got` has the dtype and shape of `want` and every element fulfils |got - want| <= absolute +
/// relative |want| + peak max |want|; NaN equals NaN, infinities equal themselves. Else one line that says
/// what differs, how many elements, and the worst of them.
std::optional<std::string> difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

}  // namespace saccade::verify
