#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace saccade {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const Half h{static_cast<std::uint16_t>(bits)};
    const float f = to_float(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(f)))) << bits;
    } else {
      ASSERT_EQ(to_half(f).bits, h.bits) << bits;
    }
  }
}

// Between two neighbours: below the midpoint rounds down, above rounds up, the midpoint goes to the even one.
TEST(Half, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
    const float lo = to_float(Half{static_cast<std::uint16_t>(bits)});
    const float hi = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float mid = lo + (hi - lo) / 2;
    ASSERT_EQ(to_half(mid).bits, bits + (bits & 1u)) << bits;
    ASSERT_EQ(to_half(std::nextafter(mid, lo)).bits, bits) << bits;
    ASSERT_EQ(to_half(std::nextafter(mid, hi)).bits, bits + 1) << bits;
  }
  EXPECT_EQ(to_half(65519.9f).bits, 0x7bffu);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00u);
  EXPECT_EQ(to_half(-1e10f).bits, 0xfc00u);
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3f80u);
  EXPECT_EQ(to_bfloat16(1.00390625f).bits, 0x3f80u);  // midpoint, even below
  EXPECT_EQ(to_bfloat16(1.01171875f).bits, 0x3f82u);  // midpoint, even above
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::nanf("")))));
}

}  // namespace
}  // namespace saccade
