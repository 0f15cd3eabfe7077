// The search over planted costs, with a clock and noise of the test's own.
#include "tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tune/report.h"

namespace saccade::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// A machine on which a frame takes 10 ms times a factor for each setting.
struct FakeMachine {
  std::map<std::pair<std::string, std::string>, double> factors;
  std::map<std::pair<std::string, std::string>, std::string> refusals;
  double frame = 0.01, start_up = 0.1, noise = 0;
  double first_start_up = 0;  ///< of the first run, which compiles
  double clock = 0;
  std::int64_t runs = 0;
  std::mt19937 random{7};

  double true_time(const Settings& settings) const {
    double time = frame;
    for (const auto& each : settings) {
      const auto at = factors.find(each);
      if (at != factors.end()) time *= at->second;
    }
    return time;
  }
  Measure measure() {
    return [this](const Settings& settings, std::int64_t frames, double /*seconds*/) {
      ++runs;
      // The machine is slower for a while, now and then, and every run has a noise of its own.
      const double slow = std::fmod(clock, 20) < 7 ? 1.6 : 1.0;
      std::normal_distribution<double> normal(0, noise);
      Measured measured;
      measured.seconds = true_time(settings) * slow * std::max(0.5, 1 + normal(random));
      for (const auto& each : settings) {
        const auto at = refusals.find(each);
        if (at != refusals.end()) measured.refused = at->second;
      }
      clock += start_up + (runs == 1 ? first_start_up : 0) + measured.seconds * static_cast<double>(frames);
      return measured;
    };
  }
  SearchOptions options(double budget) {
    SearchOptions search_options;
    search_options.budget_seconds = budget;
    search_options.now = [this] { return clock; };
    return search_options;
  }
};

std::vector<Group> groups() {
  return {{"schedule", {{{"mode", "latency"}}, {{"streams", "1"}}, {{"streams", "3"}}, {{"tokens", "8"}}}},
          {"encoder", {{{"encoder-threads", "1"}}, {{"encoder-threads", "2"}}, {{"encoder-threads", "4"}}}},
          {"precision", {{{"precision", "auto"}}}}};
}

TEST(Search, FindsThePlantedBestOverGroups) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeMachine machine;
    machine.random.seed(seed);
    machine.noise = 0.01;
    machine.factors = {{{"mode", "latency"}, 1.3},      {{"streams", "1"}, 1.2},
                       {{"streams", "3"}, 0.8},         {{"tokens", "8"}, 0.95},
                       {{"encoder-threads", "2"}, 0.9}, {{"encoder-threads", "1"}, 1.4},
                       {{"precision", "auto"}, 0.7}};
    const SearchResult result = search(groups(), machine.measure(), machine.options(60));
    EXPECT_THAT(result.best, testing::UnorderedElementsAre(Pair("streams", "3"), Pair("encoder-threads", "2"),
                                                           Pair("precision", "auto")))
        << seed;
    EXPECT_NEAR(result.speed, 1 / (0.8 * 0.9 * 0.7), 0.1);
    EXPECT_LE(result.seconds, 60);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.tried.size(), 8u);
  }
}

TEST(Search, NeverEndsWorseThanItBegan) {
  int changed = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    FakeMachine machine;  // nothing makes a difference, or all of it is worse
    machine.random.seed(seed);
    machine.noise = 0.05;
    if (seed % 2 == 1) machine.factors = {{{"streams", "3"}, 1.05}, {{"precision", "auto"}, 1.2}};
    const SearchResult result = search(groups(), machine.measure(), machine.options(60));
    changed += result.best.empty() ? 0 : 1;
    EXPECT_LE(machine.true_time(result.best), machine.frame * 1.0001) << seed;
    if (result.best.empty()) {
      EXPECT_EQ(result.speed, 1);
    }
  }
  EXPECT_LE(changed, 5);  // by mere noise, at no loss
}

TEST(Search, GivesUpWhatTheJobSaysUnlessThatIsFaster) {
  const std::vector<std::pair<std::string, std::string>> given_up = {{"tokens", "default"}};
  std::vector<Group> all = groups();
  all.insert(all.begin(), Group{"defaults", {given_up}, true});
  for (unsigned seed = 0; seed < 40; ++seed) {
    FakeMachine machine;
    machine.random.seed(seed);
    machine.noise = 0.05;
    // Hardly faster than what the job says, and nothing else helps: no proof would come of that.
    machine.factors = {{given_up.front(), 0.97}, {{"streams", "3"}, 1.05}, {{"precision", "auto"}, 1.2}};
    if (seed % 2 == 1) machine.factors[given_up.front()] = 1.3;  // the job knew better
    const SearchResult result = search(all, machine.measure(), machine.options(60));
    if (seed % 2 == 1) {
      EXPECT_THAT(result.best, testing::Not(testing::Contains(given_up.front()))) << seed;
    } else if (!result.best.empty()) {
      EXPECT_EQ(result.best.front(), given_up.front()) << seed;
    }
    EXPECT_LE(machine.true_time(result.best), machine.frame * 1.0001) << seed;
    EXPECT_LE(result.seconds, 60);
  }
}

TEST(Search, WhatIsGivenUpStaysSoWhereNothingBetterIsProven) {
  std::vector<Group> all = groups();
  all.insert(all.begin(), Group{"defaults", {{{"threads", "default"}}}, true});
  FakeMachine machine;
  machine.noise = 0.05;
  machine.factors = {{{"threads", "default"}, 0.6}, {{"streams", "3"}, 1.01}, {{"precision", "auto"}, 1.2}};
  const SearchResult result = search(all, machine.measure(), machine.options(60));
  EXPECT_THAT(result.best, ElementsAre(Pair("threads", "default")));
  EXPECT_NEAR(result.speed, 1 / 0.6, 0.15);
  ASSERT_EQ(result.tried.size(), 9u);
  EXPECT_EQ(result.tried.front().verdict, "best");
}

TEST(Search, MoreThanLuck) {
  EXPECT_FALSE(more_than_luck(0, 0));
  EXPECT_FALSE(more_than_luck(5, 5));  // 1 of 32
  EXPECT_TRUE(more_than_luck(6, 6));   // 1 of 64
  EXPECT_FALSE(more_than_luck(7, 8));
  EXPECT_TRUE(more_than_luck(8, 9));  // 10 of 512
  EXPECT_FALSE(more_than_luck(11, 15));
  EXPECT_TRUE(more_than_luck(12, 15));  // 576 of 32768
}

TEST(Search, EquallyFastOnesAreSeldomChosen) {
  int chosen = 0;
  constexpr unsigned kSearches = 500;
  for (unsigned seed = 0; seed < kSearches; ++seed) {
    FakeMachine machine;  // nothing makes a difference
    machine.random.seed(seed);
    machine.noise = 0.08;
    chosen += search(groups(), machine.measure(), machine.options(200)).best.empty() ? 0 : 1;
  }
  EXPECT_LE(chosen, kSearches / 20);
}

TEST(Search, NothingIsGivenUpUntried) {
  std::vector<Group> all = groups();
  all.insert(all.begin(), Group{"defaults", {{{"threads", "default"}}}, true});
  for (const double budget : {0.5, 1.0, 2.0, 3.0}) {  // a run takes 0.34 s
    FakeMachine machine;
    machine.factors = {{{"threads", "default"}, 0.9}};
    const SearchResult result = search(all, machine.measure(), machine.options(budget));
    EXPECT_THAT(result.best, IsEmpty()) << budget;
    EXPECT_FALSE(result.complete) << budget;
    EXPECT_LE(result.seconds, budget + 0.5) << budget;
  }
}

TEST(Search, WhatHoldsAJobBackMostIsGivenUpSoon) {
  std::vector<Group> all = groups();
  all.insert(all.begin(), Group{"defaults", {{{"threads", "default"}}}, true});
  FakeMachine machine;
  machine.frame = 0.065;  // a run takes 1.7 s and more
  machine.noise = 0.03;
  machine.factors = {{{"threads", "default"}, 0.5}};
  const SearchResult result = search(all, machine.measure(), machine.options(60));
  EXPECT_THAT(result.best, ElementsAre(Pair("threads", "default")));
  EXPECT_GT(result.speed, 1.15);  // measured twice, on a machine that is slower now and then
}

// Nine frames a second, of which a run takes seconds, and a first run that compiles: the first group still
// sees that the defaults are nearly twice as fast.
TEST(Search, ASlowJobGivesUpWhatHoldsItBack) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    FakeMachine machine;
    machine.random.seed(seed);
    machine.noise = 0.03;
    machine.frame = 0.11, machine.start_up = 0.4, machine.first_start_up = 4;
    machine.factors[{"all", "default"}] = 1 / 1.84;
    std::vector<Group> list = {{"defaults", {{{"all", "default"}}}, true}};
    for (Group& group : groups()) list.push_back(group);
    const SearchResult result = search(list, machine.measure(), machine.options(60));
    EXPECT_THAT(result.best, testing::Contains(Pair("all", "default"))) << seed;
  }
}

TEST(Search, WhatIsGivenUpMayBreakABoundOrKeepIt) {
  std::vector<Group> all = groups();
  all.insert(all.begin(), Group{"defaults", {{{"threads", "default"}}}, true});
  FakeMachine machine;
  machine.refusals = {{{"threads", "default"}, "takes 900 MB"}};
  SearchResult result = search(all, machine.measure(), machine.options(60));
  EXPECT_EQ(result.tried.at(0).verdict, "refused: takes 900 MB");
  EXPECT_THAT(result.best, testing::Not(testing::Contains(Pair("threads", "default"))));

  // The job as it was given breaks it, and would be fast enough.
  FakeMachine other;
  const Measure inner = other.measure();
  SearchOptions search_options = other.options(60);
  search_options.enough_seconds = 1;
  result = search(
      all,
      [&](const Settings& settings, std::int64_t frames, double seconds) {
        Measured measured = inner(settings, frames, seconds);
        if (settings.empty()) measured.refused = "takes 900 MB";
        return measured;
      },
      search_options);
  EXPECT_EQ(result.start_refused, "takes 900 MB");
  EXPECT_THAT(result.best, testing::Contains(Pair("threads", "default")));
}

TEST(Search, KeepsItsBudget) {
  for (const double budget : {2.0, 5.0, 20.0, 60.0}) {
    FakeMachine machine;
    machine.frame = 0.05;
    machine.noise = 0.02;
    machine.factors = {{{"streams", "3"}, 0.5}, {{"encoder-threads", "1"}, 3}};
    const SearchResult result = search(groups(), machine.measure(), machine.options(budget));
    // What is begun before anything is known of its cost may end behind it: that is one run.
    EXPECT_LE(result.seconds, budget + 0.05 * 3 * 1.6 * 24 + 0.1) << budget;
    if (budget >= 60) {
      // What makes no difference may come along by luck: it was measured few times.
      EXPECT_THAT(result.best, testing::Contains(Pair("streams", "3")));
      EXPECT_DOUBLE_EQ(machine.true_time(result.best), 0.05 * 0.5);
    }
    if (budget <= 2) {
      EXPECT_FALSE(result.complete);
      EXPECT_THAT(result.tried.back().verdict, HasSubstr("no time"));
    }
  }
}

TEST(Search, EndsWhereItIsFastEnough) {
  FakeMachine machine;
  machine.factors = {{{"streams", "3"}, 0.5}, {{"encoder-threads", "2"}, 0.5}, {{"precision", "auto"}, 0.5}};
  SearchOptions search_options = machine.options(600);
  search_options.enough_seconds = 0.011;
  const SearchResult result = search(groups(), machine.measure(), search_options);
  EXPECT_THAT(result.best, testing::Not(testing::Contains(Pair("precision", "auto"))));
  EXPECT_TRUE(result.complete);
}

TEST(Search, BoundsRefuseCandidatesAndRescueTheDefault) {
  FakeMachine machine;
  machine.factors = {{{"streams", "3"}, 0.5}, {{"tokens", "8"}, 0.8}};
  machine.refusals = {{{"streams", "3"}, "takes 900 MB, more than 500 MB"}};
  SearchResult result = search(groups(), machine.measure(), machine.options(60));
  EXPECT_THAT(result.best, ElementsAre(Pair("tokens", "8")));
  bool said = false;
  for (const Tried& line : result.tried)
    said = said || line.verdict == "refused: takes 900 MB, more than 500 MB";
  EXPECT_TRUE(said);

  // The default itself breaks the bound; the one candidate that keeps it is slower and wins all the same.
  FakeMachine small;
  small.factors = {{{"streams", "1"}, 1.5}};
  const Measure inner = small.measure();
  const Measure bounded = [&](const Settings& settings, std::int64_t frames, double seconds) {
    Measured measured = inner(settings, frames, seconds);
    const bool fits =
        !settings.empty() && settings.front() == std::pair<std::string, std::string>("streams", "1");
    if (!fits) measured.refused = "too much memory";
    return measured;
  };
  result = search(groups(), bounded, small.options(60));
  EXPECT_EQ(result.start_refused, "too much memory");
  ASSERT_FALSE(result.best.empty());
  EXPECT_EQ(result.best.front(), (std::pair<std::string, std::string>("streams", "1")));
}

TEST(Search, NothingToTryAndFailures) {
  FakeMachine machine;
  SearchResult result = search({}, machine.measure(), machine.options(60));
  EXPECT_THAT(result.best, IsEmpty());
  EXPECT_EQ(machine.runs, 0);
  const Measure broken = [](const Settings&, std::int64_t, double) -> Measured {
    throw std::runtime_error("no input");
  };
  EXPECT_THROW(search(groups(), broken, machine.options(60)), std::runtime_error);
  EXPECT_EQ(combined({{"a", "1"}, {"b", "2"}}, {{"b", "3"}, {"c", "4"}}),
            (Settings{{"a", "1"}, {"b", "3"}, {"c", "4"}}));
}

TEST(Report, NothingIsCalledBestWhereNothingWasTried) {
  OptimizeReport report;
  report.complete = false;
  report.trials = {{.group = "schedule", .settings = {}, .verdict = "not tried: no time was left"}};
  EXPECT_THAT(report_text(report), HasSubstr("before anything was tried"));
  EXPECT_THAT(report_text(report), testing::Not(HasSubstr("best as it was given")));
  report.trials[0].frames = 30;
  EXPECT_THAT(report_text(report), HasSubstr("best as it was given"));
}

}  // namespace
}  // namespace saccade::tune
