#include "cpu/bf16_lanes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "saccade/isa.h"

namespace saccade::cpu {
namespace {

std::vector<const Bf16Lanes*> lanes_here() {
  std::vector<const Bf16Lanes*> all{&portable::kBf16Lanes};
  if (detected_isa() >= Isa::avx2) all.insert(all.end(), {&avx2::kBf16Lanes, &avx512_emulated::kBf16Lanes});
  if (detected_isa() >= Isa::avx512) all.push_back(&avx512::kBf16Lanes);
  if (detected_isa() >= Isa::avx512_bf16) all.push_back(&avx512_bf16::kBf16Lanes);
  return all;
}

bool denormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }

std::vector<float> numbers() {
  std::vector<float> all{0.0f,
                         -0.0f,
                         1.0f,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN(),
                         std::bit_cast<float>(0x7f800001u),  // NaNs whose upper half alone is an infinity
                         std::bit_cast<float>(0xff800001u),
                         std::bit_cast<float>(0x7fffffffu),
                         std::numeric_limits<float>::max(),
                         std::numeric_limits<float>::min(),
                         std::numeric_limits<float>::denorm_min(),
                         std::bit_cast<float>(0x3f808000u),  // ties
                         std::bit_cast<float>(0x3f818000u),
                         std::bit_cast<float>(0xbf808001u),
                         std::bit_cast<float>(0x3f807fffu)};
  std::mt19937 random(3);
  for (int i = 0; i < 4000; ++i) all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  while (all.size() % 16 != 0) all.push_back(2);
  return all;
}

TEST(Bf16Lanes, RoundToNearestAndKeepNaN) {
  const std::vector<float> x = numbers();
  for (const Bf16Lanes* lanes : lanes_here()) {
    const auto width = static_cast<std::size_t>(lanes->lanes);
    for (std::size_t i = 0; i < x.size(); i += width) {
      std::vector<std::uint16_t> y(width);
      std::vector<float> back(width);
      lanes->narrow(x.data() + i, y.data(), lanes->lanes);
      lanes->widen(y.data(), back.data(), lanes->lanes);
      for (std::size_t k = 0; k < width; ++k) {
        if (denormal(x[i + k]) && to_float(BFloat16{y[k]}) == 0) continue;  // may be flushed
        EXPECT_EQ(y[k], to_bfloat16(x[i + k]).bits) << lanes->name << " " << x[i + k];
        EXPECT_EQ(std::bit_cast<std::uint32_t>(back[k]), std::uint32_t{y[k]} << 16) << lanes->name;
      }
    }
  }
}

TEST(Bf16Lanes, TouchNothingBeyondTheirFirstElements) {
  for (const Bf16Lanes* lanes : lanes_here())
    for (int n = 0; n <= lanes->lanes; ++n) {
      const auto width = static_cast<std::size_t>(lanes->lanes), count = static_cast<std::size_t>(n);
      const std::vector<float> x(width, 1.5f);
      std::vector<std::uint16_t> y(width, 7);
      lanes->narrow(x.data(), y.data(), n);
      std::vector<float> back(width, 9.0f);
      lanes->widen(y.data(), back.data(), n);
      for (std::size_t k = 0; k < width; ++k) {
        EXPECT_EQ(y[k], k < count ? to_bfloat16(1.5f).bits : 7) << lanes->name << " " << n;
        EXPECT_EQ(back[k], k < count ? 1.5f : 9.0f) << lanes->name << " " << n;
      }
    }
}

float flushed(float x) { return denormal(x) ? std::copysign(0.0f, x) : x; }

// The manual's words: the products of the upper halves first, then those of the lower ones, each sum rounded
// once; denormal numbers are zeros before and after.
float pair_sum(float c, std::uint32_t a, std::uint32_t b) {
  const auto upper = [](std::uint32_t w) { return flushed(std::bit_cast<float>(w & 0xffff0000u)); };
  const auto lower = [](std::uint32_t w) { return flushed(std::bit_cast<float>(w << 16)); };
  c = flushed(std::fma(upper(a), upper(b), flushed(c)));
  return flushed(std::fma(lower(a), lower(b), c));
}

TEST(Bf16Lanes, SumsOfPairs) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const auto word = [&](float scale) {
    const auto half = [&] { return std::uint32_t{to_bfloat16(scale * normal(random)).bits}; };
    return half() << 16 | half();
  };
  int tested = 0;
  for (const Bf16Lanes* lanes : lanes_here()) {
    if (lanes->add_pairs == nullptr) continue;
    ++tested;
    const auto width = static_cast<std::size_t>(lanes->lanes);
    for (const float scale : {1.0f, 1e-19f, 1e-20f, 1e18f, 1e-39f})
      for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> a(width), b(width);
        std::vector<float> c(width), want(width);
        for (std::size_t k = 0; k < width; ++k) {
          a[k] = word(scale), b[k] = word(round % 2 == 0 ? scale : 1.0f);
          c[k] = round % 3 == 0 ? scale * normal(random) : 0.0f;
          want[k] = pair_sum(c[k], a[k], b[k]);
        }
        lanes->add_pairs(a.data(), b.data(), c.data());
        for (std::size_t k = 0; k < width; ++k) {
          const bool same = std::isnan(want[k])
                                ? std::isnan(c[k])
                                : std::bit_cast<std::uint32_t>(c[k]) == std::bit_cast<std::uint32_t>(want[k]);
          EXPECT_TRUE(same) << lanes->name << " scale " << scale << " lane " << k << ": " << c[k]
                            << " instead of " << want[k];
        }
      }
  }
  EXPECT_TRUE(tested > 0 || detected_isa() < Isa::avx2);
}

}  // namespace
}  // namespace saccade::cpu
