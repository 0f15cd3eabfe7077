#include "saccade/precision.h"

#include <gtest/gtest.h>

namespace saccade {
namespace {

TEST(Precision, NamesAreReadBack) {
  for (std::size_t i = 0; i < kPrecisionCount; ++i) {
    const auto precision = static_cast<Precision>(i);
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  }
  for (const char* name : {"", "FP32", "automatic", "int4", "fp32 "}) EXPECT_FALSE(parse_precision(name));
}

}  // namespace
}  // namespace saccade
