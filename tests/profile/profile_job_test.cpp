// A profile of a real job: the files belong together, and the page works in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "apps/tiny_onnx.h"
#include "media/clips.h"
#include "saccade/model.h"
#include "saccade/profile.h"

namespace saccade {
namespace {

using namespace test;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ProfileJob : public ::testing::Test {
 protected:
  ProfileJob() {
    testing::write_small_network(scratch / "small.onnx");
    ffmpeg(
        "-f lavfi -i testsrc2=s=160x120:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -c:a "
        "aac {}",
        {scratch / "in.mp4"});
    options.input = scratch / "in.mp4";
    options.output = scratch / "out.mp4";
    options.model = scratch / "small.onnx";
    options.effect = Effect::blur;
    options.threads = 2;
    profile.folder = scratch / "profile";
    profile.wait = 2;
    profile.warmup = 3;
    profile.active = 8;
    profile.repeat = 2;
  }
  Json json(const char* name) const { return Json::parse(read_file(profile.folder / name)); }

  Scratch scratch;
  JobOptions options;
  ProfileOptions profile;
};

std::map<std::string, const Json*> by_name(const Json& timers) {
  std::map<std::string, const Json*> map;
  for (const Json& timer : timers)
    map[timer["category"].get<std::string>() + " " + timer["name"].get<std::string>()] = &timer;
  return map;
}

TEST_F(ProfileJob, RecordsTheFramesOfItsSchedule) {
  profile.ceilings = false;
  const JobReport report = profile_job(options, profile);
  EXPECT_EQ(report.frames, 26);  // it ends behind the last frame that is recorded
  const Json json = this->json("profile.json");
  EXPECT_EQ(json["schema"], "saccade-profile/1");
  EXPECT_EQ(json["frames_recorded"], 16);
  EXPECT_EQ(json["lost"], 0);
  const auto timers = by_name(json["timers"]);
  for (const char* stage : {"decode", "preprocess", "infer", "mask", "composite"})
    EXPECT_EQ((*timers.at(std::string("stage ") + stage))["count"], 16) << stage;
  for (const char* name : {"stage encode", "stage write", "step read", "queue queue before processing",
                           "queue queue before encoding", "copy copy of a packet"})
    EXPECT_TRUE(timers.contains(name)) << name;
  EXPECT_FALSE(json["machine"].contains("ceilings"));
  std::set<std::int64_t> frames;
  const Json trace = this->json("trace.json");
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["name"] == "infer")
      frames.insert(event["args"]["frame"].get<std::int64_t>());
  const std::set<std::int64_t> wanted = {5, 6, 7, 8, 9, 10, 11, 12, 18, 19, 20, 21, 22, 23, 24, 25};
  EXPECT_EQ(frames, wanted);
}

TEST_F(ProfileJob, TracesAddUpToTheNumbers) {
  profile_job(options, profile);
  const Json json = this->json("profile.json"), trace = this->json("trace.json");
  std::map<std::string, std::int64_t> totals;
  for (const Json& event : trace["traceEvents"]) {
    const auto ns = [&](const char* key) { return std::llround(event[key].get<double>() * 1000); };
    const std::string phase = event["ph"];
    const auto key = [&] {
      std::string k = event["cat"].get<std::string>() + " " + event["name"].get<std::string>();
      if (event.contains("args") && event["args"].contains("layer")) k += " " + event["args"]["layer"].dump();
      return k;
    };
    if (phase == "X") totals[key()] += ns("dur");
    if (phase == "b") totals[key()] -= ns("ts");
    if (phase == "e") totals[key()] += ns("ts");
  }
  ASSERT_FALSE(json["timers"].empty());
  for (const Json& timer : json["timers"]) {
    std::string key = timer["category"].get<std::string>() + " " + timer["name"].get<std::string>();
    if (timer.contains("layer")) key += " " + timer["layer"].dump();
    EXPECT_EQ(totals[key], timer["total_ns"].get<std::int64_t>()) << key;
    EXPECT_LE(timer["min_ms"], timer["median_ms"]);
    EXPECT_LE(timer["median_ms"], timer["p95_ms"]);
    EXPECT_LE(timer["p95_ms"], timer["p99_ms"]);
    EXPECT_LE(timer["p99_ms"], timer["max_ms"]);
  }
}

TEST_F(ProfileJob, ShowsLayersMemoryAndTransfers) {
  options.detect_bottlenecks = true;
  profile_job(options, profile);
  const Plan plan = Model::load(options.model).compile();
  const Json json = this->json("profile.json");
  EXPECT_GT(json["machine"]["ceilings"]["fp32_gflops"], 0);
  ASSERT_FALSE(json["layers"].empty());
  int index = 0;
  for (const Json& layer : json["layers"]) {
    EXPECT_EQ(layer["layer"], index++);
    EXPECT_EQ(layer["count"], 16);
    EXPECT_FALSE(layer["kernel"].get<std::string>().empty());
    EXPECT_GT(layer["floor_us"], 0);
    EXPECT_GT(layer["gbytes_per_s"], 0);
  }
  const Json& memory = json["memory"];
  EXPECT_GE(memory["arena_bytes"].get<std::int64_t>(), plan.live_activation_bytes());
  EXPECT_FALSE(memory["arena_map"].empty());
  for (const Json& block : memory["arena_map"]) {
    EXPECT_LE(block["offset"].get<std::int64_t>() + block["bytes"].get<std::int64_t>(),
              memory["arena_bytes"].get<std::int64_t>());
    EXPECT_LE(block["first"], block["last"]);
    EXPECT_LT(block["last"], memory["steps"]);
  }
  EXPECT_GE(memory["samples"].size(), 1u);
  EXPECT_GE(memory["peak_bytes"], memory["samples"].back()[1]);
  for (const char* way : {"to_device", "to_host"}) {  // the CPU has none
    EXPECT_EQ(json["transfers"][way]["count"], 0);
    EXPECT_EQ(json["transfers"][way]["bytes"], 0);
  }
  // Counters are there, or it says why they are not.
  const Json& counters = json["hardware_counters"];
  EXPECT_TRUE(!counters["counts"].empty() || !counters["missing"].get<std::string>().empty());
  EXPECT_FALSE(json["bottleneck"]["text"].get<std::string>().empty());
  EXPECT_FALSE(json["bottleneck"]["stages"].empty());
}

TEST_F(ProfileJob, RefusesASchedulethatRecordsNothing) {
  profile.wait = 1000;
  try {
    profile_job(options, profile);
    FAIL() << "nothing was recorded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(e.what(), HasSubstr("wait 1000"));
  }
  profile.wait = -1;
  EXPECT_THROW(profile_job(options, profile), Error);
}

/// The browser, if there is one.
std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    const std::string path = std::string("/usr/bin/") + name;
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

TEST_F(ProfileJob, MakesAPageOfItsOwn) {
  options.detect_bottlenecks = true;
  // Names and texts must not break out of the page.
  std::filesystem::rename(options.input, scratch / "<\u0062>&\"'in.mp4");
  options.input = scratch / "<\u0062>&\"'in.mp4";
  profile_job(options, profile);
  const std::string page = read_file(profile.folder / "profile.html");
  // Nothing comes from elsewhere, and links lead to places in the page.
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=\s*["']?(https?:)?//)")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  const std::regex link(R"(href="([^"]*)\")");
  int links = 0;
  for (std::sregex_iterator each(page.begin(), page.end(), link), end; each != end; ++each) {
    const std::string target = (*each)[1];
    if (target == "data:,") continue;  // no icon is asked for
    ASSERT_EQ(target.front(), '#') << target;
    EXPECT_THAT(page, HasSubstr("id=\"" + target.substr(1) + "\""));
    ++links;
  }
  EXPECT_GE(links, 6);

  const std::string program = browser();
  if (program.empty()) GTEST_SKIP() << "there is no Chromium here: the page was not rendered";
  const CommandResult shown = run_command(
      {program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
       "--user-data-dir=" + (scratch / "browser").string(), "--enable-logging=stderr", "--v=0",
       "--virtual-time-budget=5000", "--dump-dom", "file://" + (profile.folder / "profile.html").string()});
  ASSERT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.error, Not(HasSubstr("CONSOLE")));
  const auto rows = [&](const std::string& id) {
    const std::size_t at = shown.out.find("id=\"" + id + "\"");
    if (at == std::string::npos) return std::ptrdiff_t{0};
    const std::string part = shown.out.substr(at, shown.out.find("</section>", at) - at);
    const std::regex row("<tr>");
    return std::distance(std::sregex_iterator(part.begin(), part.end(), row), std::sregex_iterator());
  };
  EXPECT_GE(rows("stages-body"), 10);
  EXPECT_GE(rows("layers-body"), 3);
  EXPECT_GE(rows("memory-body"), 6);
  EXPECT_GE(rows("machine-body"), 5);
  EXPECT_GE(rows("verdict-body"), 6);
  EXPECT_THAT(shown.out, HasSubstr("spans are drawn"));
  EXPECT_THAT(shown.out, HasSubstr("&lt;b&gt;&amp;"));
}

}  // namespace
}  // namespace saccade
