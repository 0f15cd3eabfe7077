#include "platform/machine.h"

#include <gtest/gtest.h>

#include "platform/thread_pool.h"

namespace saccade::platform {
namespace {

TEST(Machine, ParsesLimits) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824);
  EXPECT_EQ(parse_memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712"), std::nullopt);  // version 1's "unlimited"
  EXPECT_EQ(parse_memory_limit(""), std::nullopt);
  EXPECT_EQ(parse_memory_limit("12k"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("-5"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("99999999999999999999999"), std::nullopt);
}

TEST(Machine, DescribesThisMachine) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_GE(machine_cpus(), 1);
  EXPECT_GE(available_cpus(), 1);
  EXPECT_GT(machine_memory(), 0);
  if (const auto limit = cgroup_memory_limit()) {
    EXPECT_GT(*limit, 0);
    EXPECT_LT(*limit, machine_memory());
  }
}

}  // namespace
}  // namespace saccade::platform
