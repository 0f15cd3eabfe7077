#include "quantise/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace saccade::quantise {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(RevertingOrder, IsByErrorForTime) {
  EXPECT_THAT(
      reverting_order(
          {{"cheap", 1, 1}, {"harmless", 0.1, 1}, {"dear", 2, 10}, {"free", 0.01, -1}, {"bad", 9, 3}}),
      ElementsAre("free", "bad", "cheap", "dear", "harmless"));
}

TEST(RevertUntil, FindsTheShortestBeginningThatFits) {
  Names order;
  for (int i = 0; i < 57; ++i) order.push_back(std::to_string(i));
  for (std::size_t needed = 0; needed < order.size(); ++needed) {
    int asked = 0;
    const auto found = revert_until(order, [&](const Names& reverted) {
      ++asked;
      return reverted.size() >= needed;
    });
    ASSERT_TRUE(found) << needed;
    EXPECT_EQ(*found, Names(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(needed)));
    EXPECT_LE(asked, 13);
  }
}

TEST(RevertUntil, GivesUpWhereNothingWouldBeLeft) {
  const Names order{"a", "b", "c"};
  EXPECT_FALSE(revert_until(order, [](const Names& reverted) { return reverted.size() == 3; }));
  EXPECT_FALSE(revert_until(order, [](const Names&) { return false; }));
  EXPECT_FALSE(revert_until({}, [](const Names&) { return true; }));
  const auto one = revert_until({"a"}, [](const Names&) { return true; });
  ASSERT_TRUE(one);
  EXPECT_THAT(*one, IsEmpty());
}

/// A clock that only runs while somebody runs.
struct Track {
  nanoseconds now{0};
  int rounds = 0;
  std::vector<std::function<void()>> runners(std::vector<std::function<double(int)>> speeds) {
    std::vector<std::function<void()>> result;
    for (auto& speed : speeds) {
      auto runs = std::make_shared<int>(0);
      result.emplace_back(
          [this, speed, runs] { now += nanoseconds(static_cast<std::int64_t>(speed((*runs)++))); });
    }
    return result;
  }
  Race::Clock clock() {
    return [this] { return now; };
  }
};

TEST(Race, TellsFasterFromNoise) {
  Track track;
  Race race(track.clock());
  race.run(track.runners({[](int) { return 1000; }, [](int) { return 800; }, [](int) { return 990; },
                          [](int run) { return run % 2 == 0 ? 500 : 1200; }, [](int) { return 1000; }}),
           nanoseconds(100000), 8);
  EXPECT_TRUE(race.faster(1, 0));
  EXPECT_FALSE(race.faster(0, 1));
  EXPECT_FALSE(race.faster(2, 0));  // by 1 %, which may be anything
  EXPECT_FALSE(race.faster(3, 0));  // in half of the rounds only
  EXPECT_FALSE(race.faster(4, 0));
  EXPECT_EQ(race.median_ns(1), 800);
}

TEST(Race, RunsAtLeastSomeRoundsAndNoLongerThanAsked) {
  Track track;
  Race race(track.clock());
  int runs = 0;
  race.run({[&] {
             ++runs;
             track.now += nanoseconds(1000);
           }},
           nanoseconds(10), 7);
  EXPECT_EQ(runs, 8);  // one before it counts
  runs = 0;
  race.run({[&] {
             ++runs;
             track.now += nanoseconds(1000);
           }},
           nanoseconds(20000), 7);
  EXPECT_EQ(runs, 21);
}

}  // namespace
}  // namespace saccade::quantise
