// How far the pixels of a network's result look: whether a picture may be worked on in tiles, and how far the
// tiles must overlap for their results to be those of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

/// Of one direction. A tile's result is that of the whole picture but for some pixels next to those edges of
/// the tile that are no edges of the picture, if the tile begins at a multiple of `period` and both its size
/// and the picture's are multiples of it.
struct AxisReach {
  std::int64_t in = 0, out = 0;        ///< sizes of input and result that this was found with
  std::int64_t step_in = 1;            ///< so many pixels of the input …
  std::int64_t step_out = 1;           ///< … are so many of the result, in lowest terms
  std::int64_t before = 0, after = 0;  ///< pixels of the result that differ, at the first and the last edge
  std::int64_t period = 1;             ///< in pixels of the input
  std::size_t in_axis = 0, out_axis = 0;  ///< dimensions of input and result
  /// Whether `in` is large enough for any pixel to be right. If not, `before` and `after` mean nothing.
  bool fits() const { return before + after < out; }
};

struct Reach {
  AxisReach y, x;
};

/// Of output number `output`, seen from input 0, whose pixels lie along the axes `y_axis` and `x_axis`.
/// `input_shapes` are concrete. Throws Error(unsupported) with the node that looks at the whole picture, or
/// whose reach cannot be told; else as with_shapes.
Reach find_reach(const ir::Graph& graph, const std::vector<Shape>& input_shapes, std::size_t output,
                 std::size_t y_axis, std::size_t x_axis);

}  // namespace saccade::compiler
