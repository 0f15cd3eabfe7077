#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

#include "fake_target.h"

namespace saccade::compiler {
namespace {

// Steps over dense f32 buffers of the given sizes.
class Chain {
 public:
  Lowered lowered;

  int buffer(std::int64_t elements, Operand::Space space = Operand::Space::arena) {
    const TensorDesc desc{true, DType::f32, Layout::plain, {elements}, {1}};
    lowered.buffers.push_back({static_cast<std::size_t>(elements) * 4, space, 0});
    lowered.placed.push_back({lowered.buffers.size() - 1, 0, desc});
    return static_cast<int>(lowered.placed.size()) - 1;
  }
  void step(std::vector<int> src, std::vector<int> dst, const KernelDesc& kernel = testing::fake::kKernels[4],
            std::size_t scratch = 0) {
    const auto s = static_cast<int>(lowered.steps.size());
    LoweredStep step;
    step.step.kernel = &kernel;
    step.step.prepared.shared_scratch = scratch;
    for (const std::vector<int>* list : {&src, &dst})
      for (const int id : *list) {
        Buffer& b = lowered.buffers[lowered.placed[static_cast<std::size_t>(id)].buffer];
        b.first = std::min(b.first, s);
        b.last = std::max(b.last, s);
      }
    step.src = std::move(src);
    step.dst = std::move(dst);
    lowered.steps.push_back(std::move(step));
  }
};

const KernelDesc& in_place() { return testing::fake::kKernels[1]; }  // Relu: output over input 0

// No two buffers that are alive at one step may touch; all are aligned.
void expect_sound(const CompiledGraph& graph, const Lowered& lowered) {
  struct Block {
    std::size_t begin, end;
    int first, last;
  };
  std::vector<Block> blocks;
  for (std::size_t s = 0; s < graph.steps.size(); ++s) {
    for (std::size_t i = 0; i < graph.steps[s].dst.size(); ++i) {
      const Operand& operand = graph.steps[s].dst[i];
      if (operand.space != Operand::Space::arena) continue;
      EXPECT_EQ(operand.offset % 64, 0u);
      const Buffer& b =
          lowered.buffers[lowered.placed[static_cast<std::size_t>(lowered.steps[s].dst[i])].buffer];
      EXPECT_LE(operand.offset + b.bytes, graph.arena_bytes);
      blocks.push_back({operand.offset, operand.offset + b.bytes, static_cast<int>(s), b.last});
    }
  }
  for (std::size_t a = 0; a < blocks.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      // A step that writes in place takes over what dies with it.
      const bool together = blocks[a].first < blocks[b].last && blocks[b].first < blocks[a].last;
      if (!together) continue;
      EXPECT_TRUE(blocks[a].end <= blocks[b].begin || blocks[b].end <= blocks[a].begin) << a << " and " << b;
    }
}

TEST(MemoryPlan, ReusesWhatIsDead) {
  Chain c;
  int x = c.buffer(1000, Operand::Space::input);
  for (int i = 0; i < 10; ++i) {
    const int y = c.buffer(1000);
    c.step({x}, {y});
    x = y;
  }
  const CompiledGraph graph = plan_memory(c.lowered);
  expect_sound(graph, c.lowered);
  EXPECT_EQ(graph.arena_bytes, 2 * 4032u);
  EXPECT_EQ(graph.live_bound_bytes, graph.arena_bytes);
}

TEST(MemoryPlan, InPlaceHalvesAChain) {
  Chain c;
  int x = c.buffer(1000);
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  for (int i = 0; i < 10; ++i) {
    const int y = c.buffer(1000);
    c.step({x}, {y}, in_place());
    x = y;
  }
  const CompiledGraph graph = plan_memory(c.lowered);
  EXPECT_EQ(graph.arena_bytes, 4032u);
}

TEST(MemoryPlan, ScratchOfAFollowerLivesFromTheStepThatItFollows) {
  Chain c;
  const int x = c.buffer(1000), y = c.buffer(1000), z = c.buffer(16);
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  c.step({x}, {y});
  c.step({x}, {z}, testing::fake::kKernels[4], 512);
  c.lowered.steps[2].step.follows = 0;
  const CompiledGraph graph = plan_memory(c.lowered);
  expect_sound(graph, c.lowered);
  const std::size_t scratch = graph.steps[2].shared_scratch_offset;
  for (const std::size_t s : {0u, 1u}) {
    const std::size_t begin = graph.steps[s].dst[0].offset;
    EXPECT_TRUE(scratch + 512 <= begin || begin + 4000 <= scratch) << s;
  }
}

TEST(MemoryPlan, NotInPlaceWhereTheInputIsStillNeeded) {
  Chain c;
  const int x = c.buffer(1000);
  const int y = c.buffer(1000);
  const int z = c.buffer(1000);
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  c.step({x}, {y}, in_place());
  c.step({x, y}, {z});
  const CompiledGraph graph = plan_memory(c.lowered);
  expect_sound(graph, c.lowered);
  EXPECT_NE(graph.steps[1].dst[0].offset, graph.steps[0].dst[0].offset);
}

TEST(MemoryPlan, NotInPlaceOverTheCallersInputOrAConstant) {
  for (const Operand::Space space : {Operand::Space::input, Operand::Space::constant}) {
    Chain c;
    const int y = c.buffer(1000);
    c.lowered.constants.push_back(Tensor::zeros(DType::f32, {1000}));
    c.step({c.buffer(1000, space)}, {y}, in_place());
    const CompiledGraph graph = plan_memory(c.lowered);
    EXPECT_EQ(graph.steps[0].dst[0].space, Operand::Space::arena);
    EXPECT_EQ(graph.steps[0].src[0].space, space);
  }
}

TEST(MemoryPlan, NotInPlaceWhereAnotherInputReadsTheBuffer) {
  Chain c;
  const int x = c.buffer(1000);
  const int y = c.buffer(1000);
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  c.step({x, x}, {y}, in_place());  // may be overwritten as input 0 only
  const CompiledGraph graph = plan_memory(c.lowered);
  EXPECT_NE(graph.steps[1].dst[0].offset, graph.steps[0].dst[0].offset);
}

TEST(MemoryPlan, NotInPlaceWhereAPartOfTheInputIsBroadcast) {
  Chain c;
  const int x = c.buffer(1000);
  const int y = c.buffer(1000);
  // Its first element, which each element of the result needs.
  const TensorDesc first{true, DType::f32, Layout::plain, {1}, {1}};
  c.lowered.placed.push_back({c.lowered.placed[static_cast<std::size_t>(x)].buffer, 0, first});
  const int part = static_cast<int>(c.lowered.placed.size()) - 1;
  const KernelDesc& either = testing::fake::kKernels[2];  // Add: output over input 0 or 1
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  c.step({x, part}, {y}, either);
  const CompiledGraph graph = plan_memory(c.lowered);
  EXPECT_NE(graph.steps[1].dst[0].offset, graph.steps[0].dst[0].offset);
}

TEST(MemoryPlan, IntoTheCallersOutput) {
  Chain c;
  const int x = c.buffer(1000);
  const int y = c.buffer(1000, Operand::Space::output);
  c.step({c.buffer(1000, Operand::Space::input)}, {x});
  c.step({x}, {y}, in_place());
  const CompiledGraph graph = plan_memory(c.lowered);
  EXPECT_EQ(graph.steps[0].dst[0].space, Operand::Space::output);
  EXPECT_EQ(graph.arena_bytes, 0u);
}

TEST(MemoryPlan, ScratchIsAliveDuringItsStepOnly) {
  Chain c;
  int x = c.buffer(16, Operand::Space::input);
  for (int i = 0; i < 4; ++i) {
    const int y = c.buffer(16);
    c.step({x}, {y}, testing::fake::kKernels[4], 4096);
    x = y;
  }
  const CompiledGraph graph = plan_memory(c.lowered);
  EXPECT_EQ(graph.arena_bytes, 4096u + 2 * 64u);
  for (const Step& step : graph.steps) {
    EXPECT_EQ(step.shared_scratch_offset % 64, 0u);
    const std::size_t at = step.dst[0].offset;
    EXPECT_TRUE(at + 64 <= step.shared_scratch_offset || at >= step.shared_scratch_offset + 4096);
  }
}

TEST(MemoryPlan, StaysNearTheBoundForMixedSizes) {
  Chain c;
  std::vector<int> alive{c.buffer(100, Operand::Space::input)};
  for (int i = 0; i < 60; ++i) {
    const int y = c.buffer(50 + (i * 7919) % 5000);
    c.step({alive.back(), alive[static_cast<std::size_t>(i / 3) % alive.size()]}, {y});
    alive.push_back(y);
    if (alive.size() > 5) alive.erase(alive.begin());
  }
  const CompiledGraph graph = plan_memory(c.lowered);
  expect_sound(graph, c.lowered);
  EXPECT_GE(graph.arena_bytes, graph.live_bound_bytes);
  EXPECT_LE(graph.arena_bytes, graph.live_bound_bytes * 5 / 4);
}

}  // namespace
}  // namespace saccade::compiler
