// The loops of an elementwise step.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"

namespace saccade::cpu {

/// One dimension of an iteration space: its length, and a stride in elements for the output and each input, 0
/// where the input is broadcast.
struct IterationDim {
  std::int64_t size;
  std::vector<std::int64_t> strides;
};

/// The dimensions of output 0 in the order of its memory, outermost first, neighbours merged where every
/// operand allows it; at least two. The inputs must be broadcastable to the output.
std::vector<IterationDim> iteration_space(const compiler::KernelQuery& query);

}  // namespace saccade::cpu
