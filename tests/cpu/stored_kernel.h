// A kernel prepared the way a cached plan does it.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "compiler/recipe.h"
#include "compiler/target.h"

namespace saccade::cpu {

/// Prepares `kernel` a second time from the blocks of a first preparation, without the data of the constants
/// that it says went into them. Must do the same as the first.
inline compiler::PreparedKernel prepare_from_store(const compiler::KernelDesc& kernel,
                                                   compiler::KernelQuery query) {
  compiler::RecordingStore record;
  query.store = &record;
  const compiler::PreparedKernel first = kernel.prepare(query);
  std::vector<Tensor> blank(query.constants.size());
  std::vector<const Tensor*> constants(query.constants.begin(), query.constants.end());
  for (std::size_t i = 0; i < constants.size() && i < 32; ++i) {
    if (constants[i] == nullptr || (first.packed_inputs >> i & 1u) == 0) continue;
    blank[i] = Tensor::zeros(constants[i]->dtype(), constants[i]->shape());
    constants[i] = &blank[i];
  }
  compiler::ReplayingStore replay(record.blocks);
  query.store = &replay;
  query.constants = constants;
  EXPECT_EQ(kernel.can_run(query), nullptr) << kernel.name << " looks at the data of weights";
  compiler::PreparedKernel second = kernel.prepare(query);
  EXPECT_TRUE(replay.exhausted()) << kernel.name << " asks for fewer blocks than it made";
  EXPECT_EQ(second.weight_bytes, first.weight_bytes);
  EXPECT_EQ(second.phase_tasks, first.phase_tasks);
  EXPECT_EQ(second.packed_inputs, first.packed_inputs);
  return second;
}

}  // namespace saccade::cpu
