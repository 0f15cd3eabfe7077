// Attributes that convolutions and pools share.
#pragma once

#include "import/onnx/operator.h"

namespace saccade::import {

/// strides, dilations, pads, auto_pad and kernel_shape, as far as the node gives them; checks their lengths
/// and signs.
ir::Attributes window_attributes(OnnxOperator& op, const std::vector<std::int64_t>& kernel);

}  // namespace saccade::import
