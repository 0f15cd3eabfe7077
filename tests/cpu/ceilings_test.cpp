#include "cpu/ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "cpu/kernels/probe/dot.h"
#include "cpu/kernels/probe/probe.h"
#include "platform/pages.h"

namespace saccade::cpu {
namespace {

Ceilings example() {
  Ceilings c;
  c.fp32 = 10, c.bf16 = 20, c.int8 = 40;
  c.levels = {
      {"L1", 100, 8, 4}, {"L2", 1000, 4, 2}, {"memory", std::numeric_limits<std::int64_t>::max(), 1, 1}};
  return c;
}

TEST(Ceilings, AKernelsNameEndsInItsPrecision) {
  const Ceilings c = example();
  EXPECT_EQ(c.multiply_adds("conv.dense.avx2.fp32"), 10);
  EXPECT_EQ(c.multiply_adds("conv.dense.amx.bf16"), 20);
  EXPECT_EQ(c.multiply_adds("int8"), 40);
  EXPECT_EQ(c.multiply_adds("copy"), 10);
}

TEST(Ceilings, TheFirstLevelThatHoldsTheBytes) {
  const Ceilings c = example();
  EXPECT_EQ(c.level_of(0).name, "L1");
  EXPECT_EQ(c.level_of(100).name, "L1");
  EXPECT_EQ(c.level_of(101).name, "L2");
  EXPECT_EQ(c.level_of(1001).name, "memory");
}

TEST(Ceilings, TheFloorIsTheLongerOfArithmeticAndMemory) {
  const Ceilings c = example();
  const Floor small = floor_of(c, 10, 500, 64, 16);
  EXPECT_EQ(small.arithmetic_ns, 50);
  EXPECT_EQ(small.memory_ns, 8);  // reading takes longer than writing, and both at once are possible
  EXPECT_EQ(small.ns(), 50);
  EXPECT_EQ(small.bound(), "arithmetic");
  const Floor large = floor_of(c, 10, 500, 900, 300);
  EXPECT_EQ(large.memory_ns, 1200);  // one after the other
  EXPECT_EQ(large.ns(), 1200);
  EXPECT_EQ(large.bound(), "memory");
  EXPECT_EQ(floor_of(c, 10, 0, 400, 400).memory_ns, 200);
}

// No figure is compared with another: only that there are some, whatever else the machine does.
TEST(Ceilings, AreMeasuredForEveryLevel) {
  for (const int threads : {1, 2}) {
    const Ceilings c = measure_ceilings(detected_isa(), threads);
    EXPECT_EQ(c.threads, threads);
    EXPECT_GT(c.fp32, 0);
    EXPECT_GE(c.bf16, c.fp32);
    EXPECT_GE(c.int8, c.fp32);
    ASSERT_GE(c.levels.size(), 3u);
    EXPECT_EQ(c.levels.front().name, "L1");
    EXPECT_EQ(c.levels.back().name, "memory");
    for (std::size_t i = 0; i < c.levels.size(); ++i) {
      EXPECT_GT(c.levels[i].read, 0) << c.levels[i].name;
      EXPECT_GT(c.levels[i].write, 0) << c.levels[i].name;
      if (i > 0) {
        EXPECT_GT(c.levels[i].bytes, c.levels[i - 1].bytes);
      }
    }
  }
}

std::vector<std::pair<const char*, const Probe*>> probes() {
  std::vector<std::pair<const char*, const Probe*>> list = {{"portable", &portable::kProbe}};
  if (detected_isa() >= Isa::avx2) {
    list.emplace_back("avx2", &avx2::kProbe);
    list.emplace_back("emulated", &avx512_emulated::kProbe);
  }
  if (detected_isa() >= Isa::avx512) list.emplace_back("avx512", &avx512::kProbe);
  return list;
}

TEST(Probe, ReadsEverythingAndWritesNothingElse) {
  constexpr std::size_t kCount = 768, kAround = 64;
  for (const auto& [name, probe] : probes()) {
    platform::Pages pages((kCount + 2 * kAround) * sizeof(float));
    const std::span<float> all(static_cast<float*>(pages.data()), kCount + 2 * kAround);
    float* const p = all.data() + kAround;
    for (const std::size_t place : {std::size_t{0}, std::size_t{511}, kCount - 1}) {
      std::fill(all.begin(), all.end(), 0.5f);
      all.front() = all.back() = 9;
      p[place] = 3;
      EXPECT_EQ(probe->read(p, kCount), 3) << name << " " << place;
    }
    for (const auto write : {probe->write, probe->stream}) {
      std::fill(all.begin(), all.end(), 0.0f);
      write(p, kCount);
      EXPECT_EQ(std::count(p, p + kCount, 0.0f), 0) << name;
      EXPECT_EQ(std::count(all.begin(), all.end(), 0.0f), 2 * kAround) << name;
    }
    EXPECT_GT(probe->multiply_adds(10), 0) << name;
  }
}

TEST(Probe, SumsOfNarrowProductsRunWhereTheMachineHasThem) {
  for (const Isa isa :
       {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx}) {
    if (isa > detected_isa()) continue;
    const DotProbes dots = dot_probes(isa);
    if (isa == Isa::avx2) {
      ASSERT_NE(dots.int8, nullptr);
    }
    if (dots.int8 != nullptr) {
      EXPECT_EQ(dots.int8(20), 2 * dots.int8(10));
    }
    if (dots.bf16 != nullptr) {
      EXPECT_EQ(dots.bf16(20), 2 * dots.bf16(10));
    }
  }
}

}  // namespace
}  // namespace saccade::cpu
