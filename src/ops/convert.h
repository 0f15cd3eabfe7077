// Conversion between element types.
#pragma once

#include "saccade/tensor.h"

namespace saccade::ops {

/// Element by element. Floats round to nearest, ties to even. Float to integer truncates and saturates, NaN
/// gives 0; integer to a narrower integer wraps; anything to bool is x != 0.
Tensor convert(const Tensor& tensor, DType dtype);

}  // namespace saccade::ops
