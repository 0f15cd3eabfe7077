// Operands as lines of elements along some axes: how reductions and softmax see any layout.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "cpu/lines_view.h"

namespace saccade::cpu {

/// Describes f32 `src` with the logical `axes` taken as lines, and `dst`, in which these axes are gone, have
/// size 1, or (with `same_shape`) are still there. Dimensions that follow each other in memory are merged.
/// nullptr where it cannot be described, else why not.
const char* describe_lines(const compiler::TensorDesc& src, const compiler::TensorDesc& dst,
                           const std::vector<bool>& axes, bool same_shape, LinesView& view);

}  // namespace saccade::cpu
