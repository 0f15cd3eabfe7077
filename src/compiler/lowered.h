// What lowering hands to the memory plan: steps over buffers that have no address yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "compiler/compiled_graph.h"

namespace saccade::compiler {

/// A block of memory that holds one value, or several that are parts of it.
struct Buffer {
  std::size_t bytes = 0;
  Operand::Space space = Operand::Space::arena;
  std::int64_t index = 0;                       ///< of the constant, input or output
  int first = std::numeric_limits<int>::max();  ///< first step that writes it (arena)
  int last = -1;                                ///< last step that touches it
};

/// One physical form of a value: where in which buffer, in which order.
struct Placed {
  std::size_t buffer = 0;
  std::size_t offset = 0;  ///< bytes
  TensorDesc desc;
};

inline constexpr int kAbsent = -1;

struct LoweredStep {
  Step step;  ///< without operands
  std::vector<int>
      src;  ///< indices into Lowered::placed, kAbsent for an absent input or one that the kernel holds itself
  std::vector<int> dst;
};

/// Which kernel runs a node, and how its operands lie.
struct Decision {
  std::string kernel;            ///< empty: the reference kernel
  std::uint32_t assignment = 0;  ///< number in lowering's list of layouts
  bool in_concat = false;        ///< writes into the result of a concatenation
};

struct Lowered {
  std::vector<LoweredStep> steps;
  std::vector<Placed> placed;
  std::vector<Buffer> buffers;
  std::vector<Tensor> constants;
  std::vector<TensorDesc> inputs, outputs;
  std::vector<Decision> decisions;       ///< of the nodes that needed a kernel, in order
  std::vector<std::size_t> packed_uses;  ///< per value of the graph: uses that only packed it
};

}  // namespace saccade::compiler
