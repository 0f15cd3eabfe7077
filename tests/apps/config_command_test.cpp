// `saccade config` and `saccade cache`, and configuration files of every command, by the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "base/temporary_folder.h"
#include "npy.h"
#include "run_saccade.h"
#include "settings/setting.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

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
  const std::set<std::string> settings_of_run_ = [] {
    std::set<std::string> names;
    for (const settings::Setting& setting : settings::table())
      if ((setting.commands & settings::kRun) != 0) names.emplace(setting.name);
    return names;
  }();
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

/// What --help lists: commands ("cache list" too), or the flags of one.
std::vector<std::string> listed(const std::string& help, const std::string& from, const std::regex& line) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(std::min(help.find(from), help.size())));
  std::smatch match;
  for (std::string text; std::getline(lines, text);)
    if (std::regex_search(text, match, line)) names.push_back(match[1]);
  return names;
}

TEST_F(ConfigCommand, FlagsTakeWordsForTrueAndFalseAndNoOthers) {
  const std::regex a_command("^  ([a-z]+) "), a_flag("^  (--[a-z-]+)(,--no-[a-z-]+[{]false[}])?( {2,}|$)");
  std::vector<std::vector<std::string>> commands;
  for (const std::string& name : listed(run({"--help"}).out, "Subcommands:", a_command)) {
    commands.push_back({name});
    for (const std::string& inner : listed(run({name, "--help"}).out, "Subcommands:", a_command))
      commands.push_back({name, inner});
  }
  EXPECT_EQ(commands.size(), 17u);
  int flags = 0;
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    for (const std::string& flag : listed(run(arguments).out, "Options:", a_flag)) {
      ++flags;
      const std::string word = flags % 2 == 0 ? "maybe" : "2";
      arguments.back() = flag + "=" + word;
      const testing::Result result = run(arguments);
      EXPECT_EQ(result.code, 2) << command.back() << arguments.back() << result.err;
      EXPECT_THAT(result.err, HasSubstr("'" + word + "': expected true or false"));
    }
  }
  EXPECT_GE(flags, 100);
  EXPECT_EQ(run({"bench", at("model.onnx"), "--no-layers=maybe"}).code, 2);
  for (const char* flag : {"--strict=", "--quiet="})
    EXPECT_THAT(run({"run", "a.mp4", flag, "-o", "b.mp4"}).err,
                HasSubstr(std::string(flag).substr(0, std::string(flag).size() - 1) + ": has no value"));
  for (const char* word : {"false", "no", "Off", "n"}) {
    const auto shown = run({"config", "--show-effective", "--json", std::string("--strict=") + word});
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(json::parse(shown.out)["strict"]["value"], false) << word;
  }
  for (const char* word : {"true", "yes", "ON", "y"})
    EXPECT_EQ(json::parse(run({"config", "--show-effective", "--json", std::string("--strict=") + word})
                              .out)["strict"]["value"],
              true)
        << word;
}

TEST_F(ConfigCommand, UnknownTopicsOfDiagnosticsAreRefused) {
  const testing::Result result = run({"cache", "list", "--dir", at("")}, "SACCADE_LOG=cache,foo");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("SACCADE_LOG: 'foo' is none of cache, dispatch, passes, ffmpeg, all"));
  for (const char* list : {"cache", "all", "passes,dispatch,", "ffmpeg"})
    EXPECT_EQ(run({"cache", "list", "--dir", at("")}, std::string("SACCADE_LOG=") + list).code, 0) << list;
}

TEST_F(ConfigCommand, ValuesThatAreMissingAreRefused) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& reason) {
    const testing::Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(reason));
  };
  refused({"run", "a.mp4", "-o", "b.mp4", "--encoder", ""}, "--encoder: has no value");
  refused({"run", "a.mp4", "-o", "b.mp4", "--encoder=", "x"}, "--encoder: has no value");
  refused({"cache", "list", "--dir="}, "--dir: has no value");
  refused({"bench", at("model.onnx"), "--threads", "1,,2"}, "--threads: '' is not a whole number");
  refused({"bench", at("model.onnx"), "--isa", "portable,"}, "--isa: '' is not portable");
  refused({"config", "--check", file("s.yaml", "encoder: ''\n")}, "'encoder': has no value");
  refused({"config", "--check", file("s.yaml", "classes: a,,b\n")}, "'classes': has no value");
}

// What the table says of a number, `run`, `config --check` and the schema hold to alike.
TEST_F(ConfigCommand, EveryLimitIsTheSameForRunFilesAndSchema) {
  const json schema = json::parse(run({"config", "--schema"}).out)["properties"];
  const auto number_in = [](const json& property) {
    for (const json& form : property.value("anyOf", json::array({property})))
      if (form.contains("maximum") || form.contains("minimum")) return form;
    return property;
  };
  int bounds = 0;
  for (const auto& [name, property] : schema.items()) {
    const json form = number_in(property);
    for (const auto& [bound, beyond] : {std::pair{"maximum", 1.0}, std::pair{"minimum", -1.0}}) {
      if (!form.contains(bound) || !settings_of_run_.contains(name)) continue;
      const double at_most = form[bound].get<double>();
      const auto refusal = [&](double value) {
        const std::string text =
            json(value == std::floor(value) ? json(static_cast<std::int64_t>(value)) : json(value)).dump();
        const int checked = run({"config", "--check", file("s.yaml", name + ": " + text + "\n")}).code;
        EXPECT_EQ(run({"config", "--show-effective", "--" + name + "=" + text}).code, checked)
            << name << " " << text;
        return checked;
      };
      EXPECT_EQ(refusal(at_most), 0) << name;
      EXPECT_EQ(refusal(at_most + beyond), name == "refine" && at_most + beyond == 0 ? 0 : 2) << name;
      ++bounds;
    }
  }
  EXPECT_GE(bounds, 30);
  for (const char* line :
       {"grow: 300", "grow: -257", "refine: 129", "refine: 0.5", "feather: 129", "layers: 3", "start: .inf",
        "duration: 0", "segment-seconds: 0", "repeats: much"}) {
    const testing::Result result = run({"config", "--check", file("s.yaml", std::string(line) + "\n")});
    EXPECT_EQ(result.code, 2) << line;
    EXPECT_THAT(result.err, HasSubstr("s.yaml:1: '"));
  }
  for (const char* line :
       {"grow: -256", "refine: 128", "refine: 1", "refine: 0.0", "feather: 128", "layers: no"})
    EXPECT_EQ(run({"config", "--check", file("s.yaml", std::string(line) + "\n")}).code, 0) << line;
  for (const char* time : {"inf", "nan", "1e300", "99999999999999"})
    EXPECT_EQ(run({"run", "a.mp4", "-o", "b.mp4", "--start", time}).code, 2) << time;
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

TEST_F(ConfigCommand, WrongValuesAndFoldersOfTheCacheAreNamed) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& reason, int code) {
    arguments.insert(arguments.begin(), "cache");
    const testing::Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_THAT(result.err, Not(HasSubstr("there is no option '--kind'")));
  };
  for (const char* action : {"list", "verify", "clear"}) refused({action, "--kind", "foo"}, "foo", 2);
  for (const char* days : {"1e9", "-1", "abc", "nan", "inf", ""})
    refused({"prune", "--older-than", days}, "--older-than: '" + std::string(days) + "' is not a number", 2);
  refused({"list", "--knid", "plan"}, "there is no option '--knid' of 'saccade cache list'", 2);
  for (const char* action : {"list", "verify", "prune", "clear"}) {
    refused({action, "--dir", at("typo")}, "typo: no such folder", 1);
    refused({action, "--dir", at("x.npy")}, "x.npy: is not a folder", 1);
  }
}

}  // namespace
}  // namespace saccade
