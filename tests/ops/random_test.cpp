// Generators: where numbers lie, how they are spread, and that they depend on the seed alone.
#include <algorithm>
#include <cmath>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments moments(const Tensor& t) {
  Moments m;
  const std::span<const float> values = t.values<float>();
  for (const float v : values) m.mean += static_cast<double>(v);
  m.mean /= static_cast<double>(t.count());
  for (const float v : values)
    m.deviation += (static_cast<double>(v) - m.mean) * (static_cast<double>(v) - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(t.count()));
  m.least = static_cast<double>(*std::min_element(values.begin(), values.end()));
  m.most = static_cast<double>(*std::max_element(values.begin(), values.end()));
  return m;
}

std::vector<float> values(const Tensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }

TEST(RandomUniform, FillsItsRangeEvenly) {
  const Tensor y =
      run("RandomUniform", {ints({100, 400})}, {{"low", real(-3)}, {"high", real(5)}, {"seed", integer(7)}});
  ASSERT_EQ(y.shape(), (Shape{100, 400}));
  const Moments m = moments(y);
  EXPECT_NEAR(m.mean, 1, 0.05);
  EXPECT_NEAR(m.deviation, 8 / std::sqrt(12.0), 0.05);
  EXPECT_GE(m.least, -3);
  EXPECT_LT(m.least, -2.99);
  EXPECT_LT(m.most, 5);
  EXPECT_GT(m.most, 4.99);
  // Each eighth holds about as many.
  std::vector<int> counts(8);
  for (const float v : y.values<float>()) ++counts[static_cast<std::size_t>(v + 3)];
  for (const int count : counts) EXPECT_NEAR(count, 5000, 350);
}

TEST(RandomUniform, DependsOnItsSeedAndThePlaceAlone) {
  const auto drawn = [](std::int64_t seed, std::int64_t count) {
    return values(run("RandomUniform", {ints({count})}, {{"seed", integer(seed)}}));
  };
  EXPECT_EQ(drawn(1, 100), drawn(1, 100));
  EXPECT_NE(drawn(1, 100), drawn(2, 100));
  std::vector<float> more = drawn(1, 200);
  more.resize(100);
  EXPECT_EQ(drawn(1, 100), more);
  // Streams of neighbouring seeds are not shifted copies of one another.
  const std::vector<float> next = drawn(2, 100);
  EXPECT_EQ(std::find(next.begin(), next.end(), more[50]), next.end());
}

TEST(RandomNormal, HasItsMeanAndDeviation) {
  const Moments m = moments(
      run("RandomNormal", {ints({40'000})}, {{"mean", real(10)}, {"scale", real(2)}, {"seed", integer(-5)}}));
  EXPECT_NEAR(m.mean, 10, 0.04);
  EXPECT_NEAR(m.deviation, 2, 0.03);
  EXPECT_LT(m.least, 4);
  EXPECT_GT(m.least, -1);
  EXPECT_GT(m.most, 16);
}

TEST(Random, TypesAndShapes) {
  for (const char* type : {"float16", "bfloat16", "float64"})
    EXPECT_EQ(
        dtype_name(run("RandomUniform", {ints({3})}, {{"seed", integer(1)}, {"dtype", text(type)}}).dtype()),
        std::string(type));
  EXPECT_EQ(run("RandomNormal", {ints({0}, {})}, {{"seed", integer(1)}}).shape(), Shape{});
  EXPECT_EQ(run("RandomNormal", {ints({2, 0})}, {{"seed", integer(1)}}).shape(), (Shape{2, 0}));
  expect_refused(ErrorCode::invalid_model, "int32", "RandomUniform", {ints({3})},
                 {{"seed", integer(1)}, {"dtype", text("int32")}});
  expect_refused(ErrorCode::invalid_model, "dimension -1", "RandomNormal", {ints({-1})},
                 {{"seed", integer(1)}});
}

}  // namespace
}  // namespace saccade::ops
