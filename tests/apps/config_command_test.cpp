// `saccade config` and `saccade cache`, and configuration files of every command, by the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "npy.h"
#include "run_saccade.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

struct ConfigCommand : ::testing::Test {
  void SetUp() override {
    testing::write_tiny_network(folder / "model.onnx");
    Tensor x(DType::f32, {1, 3, 8, 6});
    for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = 0.01f * static_cast<float>(i);
    cli::write_npy(folder / "x.npy", x);
  }
  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return at(name);
  }
  testing::Result run(const std::vector<std::string>& arguments, const std::string& environment = "") const {
    return testing::run_saccade(folder, arguments, environment);
  }
  TemporaryFolder scratch{"saccade-config."};
  fs::path folder = scratch.path();
};

TEST_F(ConfigCommand, SaysWhereEachValueCameFrom) {
  const std::string config = file("s.yaml", "crf: 20\nthreads: 3\neffect: blur\n");
  const testing::Result result =
      run({"config", "--show-effective", "--config", config, "--crf", "18", "--json"}, "SACCADE_THREADS=2");
  ASSERT_EQ(result.code, 0) << result.err;
  const json values = json::parse(result.out);
  EXPECT_EQ(values["crf"], (json{{"value", "18"}, {"source", "command line"}, {"place", "--crf"}}));
  EXPECT_EQ(values["threads"]["source"], "environment");
  EXPECT_EQ(values["threads"]["place"], "SACCADE_THREADS");
  EXPECT_EQ(values["effect"]["source"], "file");
  EXPECT_EQ(values["effect"]["place"], config + ":3");
  EXPECT_EQ(values["strength"]["source"], "default");
  EXPECT_EQ(values["strength"]["value"], "50");
  EXPECT_TRUE(values["duration"]["value"].is_null());
  EXPECT_EQ(values["plan-cache-size"]["source"], "environment");
  const testing::Result table = run({"config", "--show-effective", "--config", config});
  EXPECT_THAT(table.out, HasSubstr("file (" + config + ":3)"));
  EXPECT_LT(table.out.find("\ncrf "), table.out.find("\ninput "));  // what was said comes first
  EXPECT_EQ(run({"config"}).code, 2);
  EXPECT_EQ(run({"config", "--schema", "--reference"}).code, 2);
  EXPECT_EQ(json::parse(run({"config", "--schema"}).out)["additionalProperties"], false);
}

TEST_F(ConfigCommand, ChecksFiles) {
  EXPECT_EQ(run({"config", "--check", file("s.yaml", "crf: 20\n")}).code, 0);
  const testing::Result bad = run({"config", "--check", file("s.yaml", "crf: 20\ntreads: 2\n")});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("s.yaml:2: 'treads' is no setting; did you mean 'threads'?"));
  EXPECT_EQ(run({"config", "--check", at("none.yaml")}).code, 1);
}

TEST_F(ConfigCommand, MistypedOptionsAndCommandsAreAnsweredWithTheNearest) {
  EXPECT_THAT(run({"run", "a.mp4", "-o", "b.mp4", "--efect=blur"}).err,
              HasSubstr("did you mean '--effect'?"));
  EXPECT_THAT(run({"infer", at("model.onnx"), "--inptu", at("x.npy")}).err,
              HasSubstr("did you mean '--input'?"));
  EXPECT_THAT(run({"bnech", "x"}).err, HasSubstr("did you mean 'bench'?"));
  EXPECT_THAT(run({"run", "-i", "x.mp4", "-o", "y.mp4"}).err,
              HasSubstr("there is no option '-i' of 'saccade run'; inputs are named without one"));
  EXPECT_THAT(run({"run", "x.mp4", "-vf", "null"}).err,
              HasSubstr("there is no option '-vf' of 'saccade run'"));
  EXPECT_THAT(run({"cache"}).err, HasSubstr("list, verify, prune or clear"));
  EXPECT_EQ(run({"cache"}).code, 2);
  EXPECT_EQ(run({"bnech", "x"}).code, 2);
  EXPECT_EQ(run({"run", "--zzzzzzzz"}).code, 2);
}

TEST_F(ConfigCommand, OneFileServesEveryCommand) {
  const std::string config = file("s.yaml", "model: " + at("model.onnx") +
                                                "\nrepeats: 2\nwarmup: 0\nthreads: 2\nlayers: false\n"
                                                "effect: blur\nlimit: [pixels=1M]\noutput: " +
                                                at("out") + "\ninput: [" + at("x.npy") + "]\n");
  testing::Result result = run({"bench", "--config", config, "--json=-"});
  ASSERT_EQ(result.code, 0) << result.err;
  json report = json::parse(result.out);
  EXPECT_EQ(report["repeats"], 2);
  EXPECT_EQ(report["configurations"][0]["threads"], 2);
  EXPECT_FALSE(report["configurations"][0]["layers"][0].contains("median_us"));
  result = run({"bench", "--config", config, "--json=-", "--threads", "1", "--layers"});
  ASSERT_EQ(result.code, 0) << result.err;
  report = json::parse(result.out);
  EXPECT_EQ(report["configurations"][0]["threads"], 1);
  EXPECT_TRUE(report["configurations"][0]["layers"][0].contains("median_us"));
  result = run({"infer"}, "SACCADE_CONFIG='" + config + "'");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder / "out/mask.npy"));
  EXPECT_EQ(run({"infer", at("model.onnx")}).code, 2);
  EXPECT_EQ(run({"bench"}).code, 2);
}

TEST_F(ConfigCommand, TheCacheIsListedCheckedAndEmptied) {
  const std::string here = "SACCADE_PLAN_CACHE=1G SACCADE_CACHE_DIR='" + at("cache") + "'";
  const auto infer = [&] {
    return run({"infer", at("model.onnx"), "--input", at("x.npy"), "--output", at("out"), "--overwrite"},
               here)
        .code;
  };
  const auto listed = [&] { return json::parse(run({"cache", "list", "--json"}, here).out)["entries"]; };
  EXPECT_EQ(listed().size(), 0u);
  ASSERT_EQ(infer(), 0);
  const json entries = listed();
  ASSERT_GE(entries.size(), 1u);
  json verified = json::parse(run({"cache", "verify", "--json"}, here).out);
  EXPECT_EQ(verified["sound"], entries.size());
  EXPECT_EQ(verified["damaged"], 0);
  // Damage is found, costs nothing but time, and goes.
  const fs::path plan = folder / "cache/plans" / entries[0]["file"].get<std::string>();
  const std::string bytes = testing::content(plan);
  std::ofstream(plan, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_EQ(run({"cache", "verify"}, here).code, 1);
  EXPECT_EQ(run({"cache", "verify", "--remove"}, here).code, 0);
  EXPECT_EQ(listed().size(), entries.size() - 1);
  ASSERT_EQ(infer(), 0);
  EXPECT_EQ(run({"cache", "verify"}, here).code, 0);
  const json pruned = json::parse(run({"cache", "prune", "--max-size", "1", "--json"}, here).out);
  EXPECT_GE(pruned["removed"], 1);
  EXPECT_EQ(listed().size(), 0u);
  ASSERT_EQ(infer(), 0);
  EXPECT_EQ(json::parse(run({"cache", "clear", "--kind", "tuning", "--json"}, here).out)["removed"], 0);
  EXPECT_GE(json::parse(run({"cache", "clear", "--json"}, here).out)["removed"], 1);
  EXPECT_EQ(listed().size(), 0u);
  EXPECT_EQ(run({"cache"}).code, 2);
  EXPECT_EQ(run({"cache", "prune", "--max-size", "much"}).code, 2);
}

}  // namespace
}  // namespace saccade
