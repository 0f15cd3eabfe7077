// Quantised networks as pictures meet them.
#pragma once

#include "saccade/model.h"

namespace saccade::runtime {

/// The same network, taking and returning real numbers where the model has integers that stand for them: what
/// comes in is quantised first, what goes out is dequantised last. Shapes and names stay. A model without
/// quantised inputs and outputs is returned as it is.
Model with_real_ends(const Model& model);

}  // namespace saccade::runtime
