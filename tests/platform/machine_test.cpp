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

TEST(Machine, ParsesSizes) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("512"), 512);
  EXPECT_EQ(parse_size("64K"), 65536);
  EXPECT_EQ(parse_size("3G"), std::int64_t{3} << 30);
  EXPECT_EQ(parse_size("8388607T"), std::int64_t{8388607} << 40);
  EXPECT_EQ(parse_size("200k"), 204800);
  EXPECT_EQ(parse_size("512m"), 512 << 20);
  EXPECT_EQ(parse_size("3g"), std::int64_t{3} << 30);
  EXPECT_EQ(parse_size("8388607t"), std::int64_t{8388607} << 40);
  for (const char* text : {"", "K", "-1", "-1K", "1KB", "1kb", "1x", "1 K", " 1", "8388608T", "8388608t",
                           "99999999999999999999"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
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
