#include "quantise/race.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace saccade::quantise {
namespace {

using std::chrono::nanoseconds;

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
