#include "saccade/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "saccade/error.h"
#include "trace/recorder.h"

namespace saccade {
namespace {

using Json = nlohmann::json;

TEST(Profiler, FollowsItsSchedule) {
  Profiler profiler({.wait = 1, .warmup = 1, .active = 2, .repeat = 2, .spans_a_thread = 100, .threads = 2});
  const Profiler::Timer timer = profiler.timer("work", 1000, 500);
  int turns = 0;
  for (; !profiler.done(); profiler.step(), ++turns) {
    const auto span = profiler.span(timer);
    EXPECT_EQ(profiler.recording(), turns % 4 >= 2);
  }
  EXPECT_EQ(turns, 8);
  const auto reports = profiler.report();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "work");
  EXPECT_EQ(reports[0].category, "step");
  EXPECT_EQ(reports[0].count, 4);
  EXPECT_EQ(reports[0].bytes, 4000);
  EXPECT_THAT(profiler.table(), ::testing::HasSubstr("work"));
}

TEST(Profiler, RefusesNonsense) {
  EXPECT_THROW(Profiler({.wait = -1}), Error);
  EXPECT_THROW(Profiler({.threads = 0}), Error);
}

/// The totals of the trace are those of the report, to the nanosecond.
TEST(Profiler, WritesATraceThatAddsUp) {
  Profiler profiler;
  const auto outer = profiler.timer("outer \"quoted\"\n"), inner = profiler.timer("inner");
  const auto depth = profiler.counter("depth");
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const auto a = profiler.span(outer);
      for (int k = 0; k < 3; ++k) const auto b = profiler.span(inner);
      profiler.count(depth, i);
    }
  };
  std::thread other(work);
  work();
  other.join();
  const trace::NameId queue = profiler.recorder().name({.text = "queue", .category = trace::Category::queue});
  profiler.recorder().record_of_frame(3, queue, 1'000, 2'000'001);
  const Json trace = Json::parse(profiler.chrome_trace());
  const Json report = Json::parse(profiler.json());
  EXPECT_EQ(trace["otherData"]["schema"], "saccade-trace/1");
  EXPECT_EQ(report["schema"], "saccade-profiler/1");
  std::map<std::string, std::int64_t> totals, counts;
  std::map<std::string, double> open;
  int counters = 0;
  std::set<std::int64_t> threads;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    const auto ns = [&](const char* key) { return std::llround(event[key].get<double>() * 1000); };
    if (phase == "X") {
      totals[event["name"]] += ns("dur");
      ++counts[event["name"]];
      threads.insert(event["tid"].get<std::int64_t>());
    } else if (phase == "b") {
      totals[event["name"]] -= ns("ts");
    } else if (phase == "e") {
      EXPECT_EQ(event["id"], 3);
      totals[event["name"]] += ns("ts");
      ++counts[event["name"]];
    } else if (phase == "C") {
      ++counters;
    } else {
      EXPECT_EQ(phase, "M");
    }
  }
  EXPECT_EQ(counters, 100);
  EXPECT_EQ(threads.size(), 2u);
  ASSERT_EQ(report["timers"].size(), 3u);
  for (const Json& timer : report["timers"]) {
    const std::string name = timer["name"];
    EXPECT_EQ(totals[name], timer["total_ns"].get<std::int64_t>()) << name;
    EXPECT_EQ(counts[name], timer["count"].get<std::int64_t>()) << name;
  }
  EXPECT_EQ(totals["queue"], 1'999'001);
  EXPECT_EQ(counts["inner"], 300);
}

}  // namespace
}  // namespace saccade
