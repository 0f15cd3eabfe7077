#include "saccade/tensor.h"

#include <gtest/gtest.h>

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
