#include "saccade/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "saccade/error.h"

namespace saccade {
namespace {

TEST(Tensor, SharesByCopyAndCopiesByClone) {
  Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  Tensor b = a;
  Tensor c = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(b.data<float>()[0], 9);
  EXPECT_EQ(c.data<float>()[0], 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % 64, 0u);
}

TEST(Tensor, LargeOnesBeginOnALargePage) {
  constexpr std::int64_t kPage = std::int64_t{2} << 20;
  for (const std::int64_t bytes : {kPage, kPage + 1, 3 * kPage - 5}) {
    Tensor a(DType::u8, {bytes});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % static_cast<std::uintptr_t>(kPage), 0u);
    std::fill_n(a.data<std::uint8_t>(), bytes, std::uint8_t{7});
    const Tensor b = a.clone();
    EXPECT_EQ(b.data<std::uint8_t>()[bytes - 1], 7);
  }
}

TEST(Tensor, RefusesWrongTypesAndShapes) {
  Tensor a = Tensor::of<std::int64_t>({3}, {1, 2, 3});
  EXPECT_THROW(a.data<float>(), Error);
  EXPECT_THROW(a.reshaped({2}), Error);
  EXPECT_THROW(Tensor(DType::f32, {1, -1}), Error);
  EXPECT_THROW(Tensor(DType::f32, {1LL << 40, 1LL << 40}), Error);
  EXPECT_THROW(Tensor(DType::f32, {1LL << 60}), Error);
}

TEST(Tensor, ZeroElementsAreFine) {
  const Tensor a(DType::f32, {0, 3});
  EXPECT_EQ(a.count(), 0);
  EXPECT_FALSE(a.empty());
}

}  // namespace
}  // namespace saccade
