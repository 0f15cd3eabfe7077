// Sparse constants of TFLite.
#pragma once

#include <cstddef>
#include <span>

#include "import/tflite/tflite_generated.h"
#include "saccade/tensor.h"

namespace saccade::import {

/// The tensor of that shape whose stored elements are `data`; all others are 0. The caller has checked that
/// the whole tensor may be allocated. Throws Error(invalid_model).
Tensor densified(const tflite::SparsityParameters& sparsity, DType dtype, const Shape& shape,
                 std::span<const std::byte> data);

}  // namespace saccade::import
