#include "quantise/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace saccade::quantise {
namespace {

using ::testing::ElementsAre;

double time_of(const std::vector<LayerWays>& layers, const Mix& mix) {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) sum += layers[i].ways[mix[i]].time;
  return sum;
}

double error_of(const std::vector<LayerWays>& layers, const Mix& mix) {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (mix[i] > 0) sum += layers[i].ways[mix[i]].error;
  return sum;
}

std::vector<std::size_t> layers_of(const std::vector<Retreat>& steps) {
  std::vector<std::size_t> layers;
  for (const Retreat& step : steps) layers.push_back(step.layer);
  return layers;
}

TEST(FastestMix, TakesTheFirstOfEquals) {
  EXPECT_THAT(fastest_mix({{"a", {{5, 0}, {3, 1}, {4, 2}}}, {"b", {{2, 0}, {2, 1}}}, {"c", {{1, 0}}}}),
              ElementsAre(1, 0, 0));
}

TEST(Retreats, AreByErrorForTime) {
  const std::vector<Retreat> steps = retreats({{"cheap", {{2, 0}, {1, 1}}},
                                               {"harmless", {{2, 0}, {1, 0.1}}},
                                               {"dear", {{20, 0}, {10, 2}}},
                                               {"exact", {{1, 0}, {2, 5}}},
                                               {"bad", {{4, 0}, {1, 9}}}});
  EXPECT_THAT(layers_of(steps), ElementsAre(4, 0, 2, 1));  // 3, 1, 0.2, 0.1
  EXPECT_EQ(steps[0].to, 0u);
  EXPECT_EQ(steps[0].time, 3);
  EXPECT_EQ(steps[0].error, 9);
}

TEST(Retreats, LeaveOutWaysThatDoNotPay) {
  // From the last: the second costs half as much time and takes nearly all error; the third is no better than
  // the second and slower.
  const std::vector<Retreat> steps = retreats({{"a", {{20, 0}, {14, 1}, {15, 2}, {10, 9}}}});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].to, 1u);
  EXPECT_EQ(steps[1].to, 0u);
}

TEST(Retreats, EndWithTheExactWayAlsoWhereNoErrorWasSeen) {
  const std::vector<Retreat> steps = retreats({{"a", {{2, 0}, {1, 0}}}, {"b", {{2, 0}, {2, 0}, {1, 0}}}});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].to, 0u);
  EXPECT_EQ(steps[1].to, 0u);
}

TEST(FindMix, TakesBackOnlyWhatItMust) {
  // Two layers bring nearly all error; one of them has a way between.
  const std::vector<LayerWays> layers{{"a", {{10, 0}, {8, 0.1}, {4, 0.5}}},
                                      {"b", {{10, 0}, {9, 1}, {4, 60}}},
                                      {"c", {{10, 0}, {4, 0.7}}},
                                      {"d", {{10, 0}, {9, 50}, {4, 70}}},
                                      {"e", {{10, 0}, {12, 3}}}};
  const auto found = find_mix(
      layers, [&](const Mix& mix) { return error_of(layers, mix) <= 4; }, 30);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->mix, ElementsAre(2, 1, 1, 0, 0));
}

TEST(FindMix, UndoesWhatTurnsOutNotToBeNeeded) {
  // "wrong" looked bad, and did nothing in truth; "guilty" looked harmless.
  const std::vector<LayerWays> layers{
      {"wrong", {{30, 0}, {10, 90}}}, {"guilty", {{12, 0}, {10, 1}}}, {"other", {{12, 0}, {10, 0.1}}}};
  const auto found = find_mix(
      layers, [](const Mix& mix) { return mix[1] == 0; }, 30);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->mix, ElementsAre(1, 0, 1));
}

TEST(FindMix, KeepsTheFastestWhereItHolds) {
  const std::vector<LayerWays> layers{{"a", {{10, 0}, {4, 5}}}, {"b", {{4, 0}, {10, 5}}}};
  const auto found = find_mix(
      layers, [](const Mix&) { return true; }, 5);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->mix, ElementsAre(1, 0));
  EXPECT_EQ(found->questions, 1);
}

TEST(FindMix, GivesUpWhereNothingWouldBeLeft) {
  const std::vector<LayerWays> layers{{"a", {{10, 0}, {4, 5}}}, {"b", {{10, 0}, {4, 5}}}};
  const auto exact = [](const Mix& mix) {
    return std::all_of(mix.begin(), mix.end(), [](std::size_t way) { return way == 0; });
  };
  EXPECT_FALSE(find_mix(layers, exact, 20));
  EXPECT_FALSE(find_mix(
      layers, [](const Mix&) { return false; }, 20));
  EXPECT_FALSE(find_mix(
      layers, [](const Mix&) { return true; }, 0));
  EXPECT_FALSE(find_mix(
      {}, [](const Mix&) { return true; }, 20));
  EXPECT_FALSE(find_mix(
      {{"fast already", {{1, 0}, {2, 1}}}}, [](const Mix&) { return true; }, 20));
}

/// A network whose errors do what their sum says, for many budgets: all promises at once.
TEST(FindMix, HoldsAnyBudgetInFewQuestionsAndAlwaysTheSameWay) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int network = 0; network < 40; ++network) {
    std::vector<LayerWays> layers;
    for (int i = 0; i < 30; ++i) {
      LayerWays layer{std::to_string(i), {{20 * unit(random), 0}}};
      for (double error = std::pow(10, -3 * unit(random)); layer.ways.size() < 4; error *= 6)
        layer.ways.push_back({layer.ways.back().time * (0.4 + 0.7 * unit(random)), error});
      layers.push_back(layer);
    }
    const double all = error_of(layers, fastest_mix(layers));
    const Mix exact(layers.size(), 0);
    for (const double budget : {0.02 * all, 0.2 * all, 0.9 * all}) {
      int asked = 0;
      const auto holds = [&](const Mix& mix) {
        ++asked;
        return error_of(layers, mix) <= budget;
      };
      const auto found = find_mix(layers, holds, 24);
      ASSERT_TRUE(found) << network;
      EXPECT_LE(asked, 24);
      EXPECT_EQ(found->questions, asked);
      EXPECT_LE(error_of(layers, found->mix), budget);
      EXPECT_LT(time_of(layers, found->mix), time_of(layers, exact));
      EXPECT_EQ(find_mix(layers, holds, 24)->mix, found->mix);
      // No step back that was taken is worth less than one that was not: as fast as cutting at one price.
      const std::vector<Retreat> steps = retreats(layers);
      Mix cut = fastest_mix(layers);
      for (const Retreat& step : steps) {
        if (error_of(layers, cut) <= budget) break;
        cut[step.layer] = step.to;
      }
      EXPECT_LE(time_of(layers, found->mix), time_of(layers, cut) + 1e-9);
    }
  }
}

}  // namespace
}  // namespace saccade::quantise
