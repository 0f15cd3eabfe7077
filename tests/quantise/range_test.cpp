#include "quantise/range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace saccade::quantise {
namespace {

std::vector<float> normal(std::size_t count, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers(0, deviation);
  std::vector<float> values(count);
  for (float& v : values) v = numbers(random);
  return values;
}

std::vector<float> rectified(std::vector<float> values) {
  for (float& v : values) v = std::max(v, 0.0f);
  return values;
}

Histogram histogram(const std::vector<float>& values) {
  Histogram h;
  h.add(values);
  return h;
}

double true_error(const std::vector<float>& values, const Range& range) {
  std::vector<float> rounded(values.size());
  put_on_grid(values, rounded, grid_of(range));
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += std::pow(static_cast<double>(values[i] - rounded[i]), 2);
  return sum / static_cast<double>(values.size());
}

TEST(Grid, HoldsZeroExactlyAndBothEndsToHalfAStep) {
  for (const Range range :
       {Range{0, 6}, Range{-1, 1}, Range{-0.3f, 17}, Range{-8, 0}, Range{-1e-6f, 1e6f}, Range{2, 3}}) {
    const Grid grid = grid_of(range);
    EXPECT_GE(grid.zero, 0);
    EXPECT_LE(grid.zero, 255);
    const std::vector<float> in{0, range.low, range.high};
    std::vector<float> out(3);
    put_on_grid(in, out, grid);
    EXPECT_EQ(out[0], 0);
    EXPECT_NEAR(out[1], range.low, grid.scale * 0.501f);
    EXPECT_NEAR(out[2], range.high, grid.scale * 0.501f);
  }
}

TEST(Grid, OfNothingIsUsable) {
  for (const Range range :
       {Range{0, 0}, Range{0, 1e-44f}, Range{0, std::numeric_limits<float>::infinity()}}) {
    const Grid grid = grid_of(range);
    EXPECT_GT(grid.scale, 0);
    EXPECT_TRUE(std::isfinite(grid.scale));
  }
}

TEST(Grid, RoundsTiesToEvenAndSaturates) {
  const Grid grid{1.0f, 100};
  const std::vector<float> in{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -1e9f};
  std::vector<float> out(in.size());
  put_on_grid(in, out, grid);
  EXPECT_EQ(out, (std::vector<float>{0, 2, 2, 0, -2, 155, -100}));
}

TEST(Histogram, CountsEveryNumberInItsCell) {
  const std::vector<float> values = normal(5000, 3, 1);
  const Histogram h = histogram(values);
  EXPECT_EQ(h.total(), values.size());
  EXPECT_EQ(h.least(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.greatest(), *std::max_element(values.begin(), values.end()));
  std::vector<std::uint64_t> want(h.cells().size());
  for (const float v : values)
    ++want.at(static_cast<std::size_t>(
        static_cast<std::int64_t>(std::floor(static_cast<double>(v) / h.width())) - h.first()));
  EXPECT_EQ(h.cells(), want);
}

TEST(Histogram, SumsDoNotDependOnTheOrder) {
  std::vector<std::vector<float>> parts;
  for (unsigned i = 0; i < 5; ++i)
    parts.push_back(normal(1000, std::ldexp(0.01f, static_cast<int>(3 * i)), i));
  Histogram forward, backward, joined;
  for (const auto& part : parts) {
    forward.add(part);
    joined.add(histogram(part));
  }
  for (std::size_t i = parts.size(); i-- > 0;) backward.add(parts[i]);
  // Cells may be of another width, depending on when they had to become wider, but hold the same numbers.
  for (const Histogram* h : {&forward, &backward, &joined}) {
    EXPECT_EQ(h->total(), 5000u);
    EXPECT_EQ(h->least(), forward.least());
    EXPECT_EQ(h->greatest(), forward.greatest());
    std::uint64_t sum = 0, below = 0;
    for (std::size_t i = 0; i < h->cells().size(); ++i) {
      sum += h->cells()[i];
      if (h->first() + static_cast<std::int64_t>(i) < 0) below += h->cells()[i];
    }
    EXPECT_EQ(sum, 5000u);
    std::uint64_t negative = 0;
    for (const auto& part : parts)
      negative +=
          static_cast<std::uint64_t>(std::count_if(part.begin(), part.end(), [](float v) { return v < 0; }));
    EXPECT_EQ(below, negative);
  }
}

TEST(Histogram, TakesAnyNumbers) {
  Histogram h;
  h.add(std::vector<float>{});
  EXPECT_TRUE(h.empty());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  h.add(std::vector<float>{kInfinity, -kInfinity, std::nanf("")});
  EXPECT_TRUE(h.empty());
  h.add(std::vector<float>{0, 0});
  h.add(std::vector<float>{1e-40f, kInfinity});
  h.add(std::vector<float>{3e38f, -3e38f, 5});
  EXPECT_EQ(h.total(), 6u);
  EXPECT_EQ(h.greatest(), 3e38f);
  Histogram constant;
  constant.add(std::vector<float>(100, 1000.0f));
  EXPECT_EQ(constant.cells().size(), 1u);
  for (const Estimator e : kEstimators) {
    const Range range = estimate(constant, e);
    EXPECT_EQ(range.low, 0);
    EXPECT_NEAR(range.high, 1000, 100) << estimator_name(e);
    const Range all = estimate(h, e);
    EXPECT_LE(all.low, 0);
    EXPECT_GT(all.high, 0);
  }
}

TEST(Histogram, LargeTensorsAreSampledButTheirExtremesAreNot) {
  std::vector<float> values = rectified(normal(100000, 1, 3));
  values[77777] = 50;
  Histogram h;
  h.add(values, 1000);
  EXPECT_LE(h.total(), 1000u);
  EXPECT_GE(h.total(), 900u);
  EXPECT_EQ(h.greatest(), 50);
}

TEST(Estimators, KeepWhatHasNoOutliers) {
  std::vector<float> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 10000 * 4 - 1;
  for (const Estimator e : kEstimators) {
    const Range range = estimate(histogram(values), e);
    EXPECT_NEAR(range.low, -1, 0.06) << estimator_name(e);
    EXPECT_NEAR(range.high, 3, 0.06) << estimator_name(e);
  }
}

TEST(Estimators, PercentileLeavesOneInTenThousandOut) {
  std::vector<float> values(100000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 1000;
  for (std::size_t i = 0; i < 5; ++i) values[i * 20000] = 100;
  const Range range = estimate(histogram(values), Estimator::percentile);
  EXPECT_NEAR(range.high, 1, 0.05);
  EXPECT_EQ(range.low, 0);
  // Twenty of them are more than one in ten thousand.
  for (std::size_t i = 0; i < 20; ++i) values[i * 5000] = 100;
  EXPECT_GT(estimate(histogram(values), Estimator::percentile).high, 99);
}

TEST(Estimators, ErrorFindsTheBestRange) {
  for (const bool both : {false, true}) {
    std::vector<float> values = normal(50000, 1, 5);
    if (!both) values = rectified(values);
    values[3] = 40;
    const Range best = estimate(histogram(values), Estimator::error);
    const double error = true_error(values, best);
    // No range on a fine lattice is better by more than what cells blur.
    for (float high = 1; high <= 40; high += 0.5f)
      for (float low = both ? -6 : 0; low <= 0; low += 0.5f)
        EXPECT_LE(error, 1.05 * true_error(values, {low, high})) << low << " … " << high;
    EXPECT_LE(error, true_error(values, estimate(histogram(values), Estimator::extremes)));
  }
}

TEST(Estimators, ErrorCutsHeavyTails) {
  std::vector<float> values = normal(50000, 1, 8);
  for (float& v : values) v = v * v * v;
  const Histogram h = histogram(values);
  EXPECT_LT(estimate(h, Estimator::error).high, 0.98f * estimate(h, Estimator::extremes).high);
  EXPECT_LT(true_error(values, estimate(h, Estimator::error)),
            true_error(values, estimate(h, Estimator::extremes)));
}

TEST(Estimators, ErrorsThatHistogramsTellAreTrue) {
  const std::vector<float> values = normal(100000, 1, 6);
  const Histogram h = histogram(values);
  for (const Range range : {Range{-5, 5}, Range{-2, 2}, Range{-1, 3}, Range{0, 4}})
    EXPECT_NEAR(squared_error(h, range) / true_error(values, range), 1, 0.05)
        << range.low << " … " << range.high;
}

TEST(Estimators, EntropyCutsLongTails) {
  std::vector<float> values = rectified(normal(200000, 1, 7));
  values[9] = 60;
  const Range range = estimate(histogram(values), Estimator::entropy);
  EXPECT_LT(range.high, 20);
  EXPECT_GT(range.high, 2);
}

}  // namespace
}  // namespace saccade::quantise
