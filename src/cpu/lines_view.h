// Lines of elements through an operand. Plain: kernel units include this.
#pragma once

#include <cstdint>

namespace saccade::cpu {

/// Neighbours along a dimension are src_step and dst_step elements apart.
struct LinesDim {
  std::int64_t size = 1;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
};

/// For each combination of the outer dimensions and each of `inner` adjacent elements (in src and dst) there
/// is one line, which runs through the dimensions of `line`, the last one fastest. Unused dimensions have
/// size 1 and stand first.
struct LinesView {
  static constexpr int kDims = 3;
  LinesDim outer[kDims];
  LinesDim line[kDims];
  std::int64_t inner = 1;
  // Products of sizes; no functions here, which kernel units would emit with their own instructions.
  std::int64_t outer_count = 1;
  std::int64_t line_count = 1;
};

}  // namespace saccade::cpu
