// One step to time on every kernel that accepts it.
#pragma once

#include <string>
#include <vector>

#include "compiler/target.h"
#include "cpu/ceilings.h"
#include "ir/graph.h"
#include "saccade/tensor.h"

namespace saccade::bench {

struct Operand {
  Shape dims;
  compiler::Layout layout = compiler::Layout::channels_last;
  bool constant = false;
  std::vector<std::int64_t> integers = {};  ///< a constant list instead of random numbers
};

struct Step {
  std::string where;
  std::string op;
  ir::Attributes attributes;
  std::vector<Operand> inputs;
  Operand output;
  double multiply_adds = 0;
};

struct Options {
  Isa isa;
  std::string kernel;     ///< part of the name of the kernels to time; empty: all
  std::string where;      ///< part of the name of the steps
  double seconds = 0.05;  ///< a kernel and step
  cpu::Ceilings ceilings;
};

/// Prints a line a kernel: time, and its rates beside the ceilings.
void time_step(const Step& step, const Options& options);

std::vector<Step> depthwise_steps();
std::vector<Step> elementwise_steps();
std::vector<Step> copy_steps();
std::vector<Step> matmul_steps();

}  // namespace saccade::bench
