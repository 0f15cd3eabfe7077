// What pooling operators share.
#pragma once

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"
#include "ops/window.h"

namespace saccade::ops {

/// Reads kernel_shape and everything that forward_window reads. Rank of the input: at least 3.
Window pool_window(const NodeView& context);
void infer_pool(InferContext& context);

/// A tap that falls inside the input: its position along one axis.
struct AxisTaps {
  std::vector<std::int64_t> positions;
  std::int64_t covered = 0;  ///< taps that fall inside the input or its declared padding
};
/// For each output position along an axis.
std::vector<AxisTaps> axis_taps(const WindowAxis& axis);

/// Calls visit(output, covered, walk) for each output cell of each plane, where walk(f) calls f(input) for
/// each input cell of its window in row-major order; `output` and `input` are offsets into whole tensors.
template <class Visit>
void for_each_window(const Window& window, std::int64_t planes, Visit visit) {
  std::vector<std::vector<AxisTaps>> taps;
  Shape out, in;
  for (const WindowAxis& axis : window) {
    taps.push_back(axis_taps(axis));
    out.push_back(axis.out);
    in.push_back(axis.in);
  }
  const Strides strides = dense_strides(in);
  const std::int64_t out_size = product(out, 0, out.size()), in_size = product(in, 0, in.size());
  std::vector<std::int64_t> offsets, next;
  for (std::int64_t o = 0; o < out_size; ++o) {
    // The window's cells as offsets into a plane: the same for all planes.
    offsets.assign(1, 0);
    std::int64_t covered = 1, rest = o;
    std::vector<const AxisTaps*> here(window.size());
    for (std::size_t i = window.size(); i-- > 0;) {
      here[i] = &taps[i][static_cast<std::size_t>(rest % out[i])];
      rest /= out[i];
    }
    for (std::size_t i = 0; i < window.size(); ++i) {
      next.clear();
      for (const std::int64_t offset : offsets)
        for (const std::int64_t position : here[i]->positions) next.push_back(offset + position * strides[i]);
      offsets.swap(next);
      covered *= here[i]->covered;
    }
    for (std::int64_t p = 0; p < planes; ++p) {
      const auto walk = [&](auto f) {
        for (const std::int64_t offset : offsets) f(p * in_size + offset);
      };
      visit(p * out_size + o, covered, walk);
    }
  }
}

}  // namespace saccade::ops
