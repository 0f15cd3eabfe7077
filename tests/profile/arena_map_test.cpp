#include "profile/arena_map.h"

#include <gtest/gtest.h>

namespace saccade::profile {
namespace {

using compiler::Operand;

compiler::Operand in_arena(std::size_t offset, Shape dims, std::vector<std::int64_t> strides) {
  Operand operand;
  operand.space = Operand::Space::arena;
  operand.offset = offset;
  operand.desc.present = true;
  operand.desc.dims = std::move(dims);
  operand.desc.strides = std::move(strides);
  return operand;
}
Operand dense(std::size_t offset, std::int64_t count) { return in_arena(offset, {count}, {1}); }

compiler::Step step(const char* name, std::vector<Operand> src, std::vector<Operand> dst) {
  compiler::Step made;
  made.name = name;
  made.src = std::move(src);
  made.dst = std::move(dst);
  return made;
}

TEST(ArenaMap, FollowsValuesFromTheirWriterToTheirLastReader) {
  std::vector<compiler::Step> steps;
  steps.push_back(step("a", {}, {dense(0, 10)}));
  steps.push_back(step("b", {dense(0, 10)}, {dense(64, 4)}));
  steps.push_back(step("c", {dense(64, 4)}, {dense(128, 4)}));
  steps.push_back(step("d", {dense(0, 10), dense(128, 4)}, {dense(0, 8)}));  // over a
  steps.push_back(step("e", {dense(0, 8)}, {}));
  steps[2].prepared.shared_scratch = 32;
  steps[2].shared_scratch_offset = 256;
  const std::vector<ArenaBlock> map = arena_map(steps);
  ASSERT_EQ(map.size(), 5u);
  const auto expect = [&](std::size_t i, const char* name, std::size_t offset, std::size_t bytes,
                          std::size_t first, std::size_t last) {
    EXPECT_EQ(map[i].name, name);
    EXPECT_EQ(map[i].offset, offset);
    EXPECT_EQ(map[i].bytes, bytes);
    EXPECT_EQ(map[i].first, first);
    EXPECT_EQ(map[i].last, last);
  };
  expect(0, "a", 0, 40, 0, 3);
  expect(1, "b", 64, 16, 1, 2);
  expect(2, "c", 128, 16, 2, 3);
  EXPECT_TRUE(map[3].scratch);
  expect(3, "c", 256, 32, 2, 2);
  expect(4, "d", 0, 32, 3, 4);
}

TEST(ArenaMap, SlicesOfAConcatenationLiveTogether) {
  // Two slices of 3 and 2 channels of a value of 5, four pixels.
  const Operand left = in_arena(0, {4, 3}, {5, 1}), right = in_arena(12, {4, 2}, {5, 1});
  std::vector<compiler::Step> steps;
  steps.push_back(step("left", {}, {left}));
  steps.push_back(step("right", {}, {right}));
  steps.push_back(step("reader", {in_arena(0, {4, 5}, {5, 1})}, {}));
  const std::vector<ArenaBlock> map = arena_map(steps);
  ASSERT_EQ(map.size(), 2u);
  EXPECT_EQ(map[0].last, 2u);
  EXPECT_EQ(map[1].last, 2u);
  EXPECT_EQ(map[0].bytes, (3 * 5 + 3) * sizeof(float));
}

}  // namespace
}  // namespace saccade::profile
