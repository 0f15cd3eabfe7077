// The compiler's result: a flat list of kernel calls over one arena. What the runtime executes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace saccade::compiler {

/// Where a step's operand lives.
struct Operand {
  enum class Space : std::uint8_t { none, arena, constant, input, output };
  Space space = Space::none;
  std::int64_t index = 0;  ///< constant / input / output number
  std::size_t offset = 0;  ///< bytes from the start of the arena, constant, input or output buffer
  TensorDesc desc;
};

struct Step {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string name;  ///< of the node, for reports
  std::string op;
  const KernelDesc* kernel = nullptr;
  PreparedKernel prepared;
  std::vector<Operand> src;
  std::vector<Operand> dst;
  /// The step whose last phase the first phase of this one follows, task by task; kNone: none.
  std::size_t follows = kNone;
  std::size_t shared_scratch_offset = 0;  ///< in the arena, where prepared.shared_scratch > 0
  std::int64_t multiply_adds = 0;
  std::int64_t needed_multiply_adds = 0;  ///< without products with padding
  /// What the kernel does for them: less, where its algorithm is not the direct one.
  std::int64_t kernel_multiply_adds() const {
    return prepared.multiply_adds > 0 ? prepared.multiply_adds : needed_multiply_adds;
  }
  std::int64_t bytes = 0;          ///< read and written once: operands and weights, for reports
  std::int64_t written_bytes = 0;  ///< of `bytes`
};

struct CompiledGraph {
  std::vector<Step> steps;
  std::vector<Tensor> constants;   ///< that steps read directly
  std::vector<TensorDesc> inputs;  ///< dense, row-major, as the caller hands them over
  std::vector<TensorDesc> outputs;
  std::size_t arena_bytes = 0;           ///< activations and shared scratch
  std::size_t thread_scratch_bytes = 0;  ///< largest of all steps, per thread
  std::size_t weight_bytes = 0;
  std::size_t live_bound_bytes =
      0;  ///< largest sum of simultaneously live activations (without scratch): the arena's lower bound
  std::string pass_report;  ///< one line a pass: name, time, nodes before and after
};

}  // namespace saccade::compiler
