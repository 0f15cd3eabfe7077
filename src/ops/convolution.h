// What Conv and ConvTranspose share.
#pragma once

#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"
#include "ops/window.h"

namespace saccade::ops {

/// Dimensions from the third on.
Shape spatial_dims(const Shape& shape);

/// Ranks, types and the group count of x, w and the bias; `out_channels` is the length a bias must have.
void check_convolution(const NodeView& context, std::int64_t group, std::int64_t in_channels,
                       std::int64_t out_channels);

}  // namespace saccade::ops
