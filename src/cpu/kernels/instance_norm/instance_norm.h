// Planes to mean 0 and variance 1. What prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"
#include "cpu/lines_view.h"

namespace saccade::cpu {

/// A plane is a line of the view. Lines are cut into `parts` of `part` elements, fixed by the shape alone:
/// phase 0 finds the mean and the squared distances from it of each part, phase 1 joins them in order, phase
/// 2 writes the parts. Planes of one part are done in phase 0, `group` outer combinations a task.
struct InstanceNormParams {
  LinesView view;
  Epilogue epilogue;
  float epsilon;
  std::int64_t channels;
  std::int64_t first;  ///< channels in front of this one are passed on
  std::int64_t
      width;  ///< channels that share mean and variance; more than one only where channels are adjacent
  std::int64_t parts, part;
  std::int64_t group;
};

namespace portable {
void instance_norm(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void instance_norm(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void instance_norm(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void instance_norm(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
