// What a setting may be, and which source of its value wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "saccade/config.h"
#include "saccade/error.h"
#include "settings/file.h"
#include "settings/limit.h"
#include "settings/nearest.h"
#include "settings/resolve.h"

namespace saccade::settings {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing was thrown";
}

std::string refusal(const std::string& text, Command command = kRun) {
  return message_of([&] { (void)parse_settings(text, "a.yaml", command); });
}

TEST(Settings, EachIsDescribedOnceForACommand) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const Setting& setting : table()) {
    EXPECT_FALSE(setting.doc.empty()) << setting.name;
    EXPECT_FALSE(setting.doc.ends_with('.')) << setting.name;
    EXPECT_NE(setting.commands, 0) << setting.name;
    for (const Command command : {kRun, kInfer, kBench}) {
      if ((setting.commands & command) == 0) continue;
      EXPECT_TRUE(seen.insert({setting.name, command}).second) << setting.name;
    }
    if (setting.kind == Kind::choice) {
      EXPECT_FALSE(setting.words.empty()) << setting.name;
    }
    if (setting.kind == Kind::flag) {
      EXPECT_FALSE(setting.fallback.empty()) << setting.name;
    }
    if (setting.kind == Kind::integer || setting.kind == Kind::number) {
      EXPECT_LT(setting.low, setting.high) << setting.name;
    }
    if (!setting.fallback.empty()) {
      EXPECT_EQ(problem_with(setting, setting.fallback), "") << setting.name;
    }
  }
}

// What a default says is what a job has that nobody said anything about.
TEST(Settings, DefaultsAreThoseOfTheLibrary) {
  const auto text = [](const JobOptions& j) {
    return std::to_string(j.mask_depth) + " " + std::to_string(static_cast<int>(j.effect)) + " " +
           std::to_string(j.strength) + " " + std::to_string(j.opacity) + " " + std::to_string(j.feather) +
           " " + std::to_string(j.grow) + " " + std::to_string(j.refine) + " " +
           std::to_string(j.decontaminate) + std::to_string(j.invert) + std::to_string(j.live) +
           std::to_string(j.strict) + std::to_string(j.tonemap) + std::to_string(j.sequence) +
           std::to_string(j.overwrite) + std::to_string(j.resumable) + std::to_string(j.resume) +
           std::to_string(j.dry_run) + " " + std::to_string(j.start) + " " +
           std::to_string(static_cast<int>(j.deinterlace)) + " " + std::to_string(j.jpeg_quality) + " " +
           std::to_string(j.segment_seconds) + " " + std::to_string(j.max_mask_change) + " " +
           std::to_string(static_cast<int>(j.precision)) + " " + std::to_string(static_cast<int>(j.mode)) +
           " " + std::to_string(j.decoder_threads) + " " + std::to_string(j.plan_cache.max_bytes);
  };
  JobOptions said;
  for (const Setting& setting : table())
    if ((setting.commands & kRun) != 0 && setting.apply != nullptr && !setting.fallback.empty())
      setting.apply(said, {std::string(setting.fallback)});
  EXPECT_EQ(text(said), text(JobOptions{}));
}

TEST(Settings, ValuesAreChecked) {
  const auto problem = [](const char* name, const char* value, Command command = kRun) {
    return problem_with(*find(name, command), value);
  };
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"threshold", "0"},
                                                        {"threshold", "1"},
                                                        {"threshold", "0.25"},
                                                        {"refine", "auto"},
                                                        {"refine", "2.5"},
                                                        {"grow", "-3"},
                                                        {"threads", "1024"},
                                                        {"start", "1:02:03.5"},
                                                        {"max-memory", "200M"},
                                                        {"max-memory", "200k"},
                                                        {"max-process-memory", "2g"},
                                                        {"plan-cache-size", "1t"},
                                                        {"crf", "18"},
                                                        {"limit", "pixels=1M"},
                                                        {"limit", "tensor-bytes=512m"},
                                                        {"encoder-option", "tune=film"},
                                                        {"effect", "blur"},
                                                        {"live", "true"}})
    EXPECT_EQ(problem(name, value), "") << name << " " << value;
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
           {"threshold", "nan"},       {"threshold", "inf"},  {"threshold", "1.01"},
           {"threshold", ""},          {"threshold", "0.5x"}, {"threads", "0"},
           {"threads", "1025"},        {"threads", "2.5"},    {"threads", "99999999999999999999"},
           {"start", "1:61"},          {"start", "-1"},       {"start", ""},
           {"max-memory", "much"},     {"max-memory", "0"},   {"limit", "noodles=1"},
           {"limit", "nodes=0"},       {"limit", "nodes"},    {"encoder-option", "=film"},
           {"encoder-option", "film"}, {"effect", "Blur"},    {"live", "yes"},
           {"refine", "-1"},           {"refine", "-0.5"},    {"crf", "-1"}})
    EXPECT_NE(problem(name, value), "") << name << " " << value;
  EXPECT_THAT(problem("effect", "explode"), HasSubstr("remove, blur, replace, mask or overlay"));
  EXPECT_THAT(problem("threads", "0"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(problem("limit", "noodles=1"), HasSubstr("the limits are nodes, rank"));
  // Limits of media are not for commands without any.
  EXPECT_NE(problem("limit", "pixels=1M", kBench), "");
}

TEST(Settings, TheNearestNameIsOffered) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("effect", "effcet"), 1u);  // neighbours that were swapped
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  const std::vector<std::string> names = {"effect", "encoder", "preset"};
  EXPECT_EQ(nearest("efect", names), "effect");
  EXPECT_EQ(nearest("encodr", names), "encoder");
  EXPECT_EQ(nearest("zzzzzz", names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(SettingsFile, HoldsSettingsByTheirNames) {
  const auto entries = parse_settings(
      "effect: blur\nclasses: [0, person]\n\nlive: yes\nencoder-option: [a=b, c=d=e]\n", "a.yaml", kRun);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].name, "effect");
  EXPECT_THAT(entries[0].values, ElementsAre("blur"));
  EXPECT_THAT(entries[1].values, ElementsAre("0", "person"));
  EXPECT_EQ(entries[2].line, 4);
  EXPECT_THAT(entries[2].values, ElementsAre("true"));
  EXPECT_THAT(entries[3].values, ElementsAre("a=b", "c=d=e"));
  EXPECT_THAT(parse_settings("classes: cat,dog", "a.yaml", kRun)[0].values, ElementsAre("cat", "dog"));
  EXPECT_THAT(parse_settings("threads: [1, 2]", "a.yaml", kBench)[0].values, ElementsAre("1", "2"));
  EXPECT_TRUE(parse_settings("", "a.yaml", kRun).empty());
  EXPECT_EQ(parse_settings("---\neffect: blur\n...\n", "a.yaml", kRun).size(), 1u);
  EXPECT_EQ(parse_settings("effect: blur\n---\n", "a.yaml", kRun).size(), 1u);
  // One file may serve several commands.
  EXPECT_TRUE(parse_settings("repeats: 5\nfloor: true\n", "a.yaml", kRun).empty());
  EXPECT_EQ(parse_settings("repeats: 5\neffect: blur\n", "a.yaml", kBench).size(), 1u);
}

TEST(SettingsFile, MistakesAreNamedWithTheirLine) {
  EXPECT_THAT(refusal("effect: blur\nefect: mask\n"),
              HasSubstr("a.yaml:2: 'efect' is no setting; did you mean 'effect'?"));
  EXPECT_THAT(refusal("zzzzzzzz: 1\n"), HasSubstr("--reference"));
  EXPECT_THAT(refusal("effect: blur\neffect: mask\n"), HasSubstr("a.yaml:2: 'effect' stands there twice"));
  EXPECT_THAT(refusal("effect: explode\n"), HasSubstr("a.yaml:1: 'effect': 'explode' is not remove, blur"));
  EXPECT_THAT(refusal("threads: 0\n"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusal("threads: [1, 2]\n"), HasSubstr("expected one value"));
  EXPECT_THAT(refusal("threads: {a: 1}\n"), HasSubstr("expected a value or a list"));
  EXPECT_THAT(refusal("live: often\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(refusal("crf: [\n"), HasSubstr("neither YAML nor JSON"));
  EXPECT_THAT(refusal("- effect\n"), HasSubstr("name: value"));
  for (const char* nothing :
       {"background: #ff0000\n", "background:\n", "background: ~\n", "background: null\n"})
    EXPECT_THAT(refusal(std::string("effect: replace\n") + nothing),
                HasSubstr("a.yaml:2: 'background' has no value; leave the line out"));
  EXPECT_THAT(refusal("{\"crf\": null}"), HasSubstr("'crf' has no value"));
  EXPECT_THAT(refusal("classes: [a, ~]\n"), HasSubstr("expected a value or a list"));
  EXPECT_THAT(refusal("effect: blur\n---\ncrf: 20\n"), HasSubstr("a.yaml:3: another document begins here"));
  EXPECT_THAT(refusal("---\n---\ncrf: 20\n"), HasSubstr("another document"));
  EXPECT_THAT(refusal("config: other.yaml\n"), HasSubstr("cannot stand in a file"));
}

TEST(SettingsFile, WhatIsWrittenIsReadBack) {
  const std::vector<FileEntry> entries = {{"background", {"a: b #c"}, 0},
                                          {"encoder-option", {"tune=film", "x=[1]"}, 0},
                                          {"threads", {"4"}, 0},
                                          {"live", {"true"}, 0}};
  const std::string text = write_settings(entries, "Two\nlines");
  EXPECT_THAT(text, ::testing::StartsWith("# Two\n# lines\n"));
  const auto back = parse_settings(text, "a.yaml", kRun);
  ASSERT_EQ(back.size(), entries.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, entries[i].name);
    EXPECT_EQ(back[i].values, entries[i].values);
  }
}

struct SettingsSources : ::testing::Test {
  std::string file(const std::string& text) const {
    std::ofstream(folder / "s.yaml") << text;
    return (folder / "s.yaml").string();
  }
  Effective effective(const std::map<std::string, Values>& said) const {
    return Effective(kRun, said, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    });
  }
  TemporaryFolder scratch{"saccade-settings."};
  std::filesystem::path folder = scratch.path();
  std::map<std::string, std::string> environment;
};

TEST_F(SettingsSources, TheCommandLineWinsThenTheEnvironmentThenTheFile) {
  const std::string config = file("threads: 3\nprecision: int8\neffect: mask\nmodel: a.onnx\n");
  environment = {{"SACCADE_THREADS", "2"}, {"SACCADE_MODEL", "b.onnx"}};
  const Effective e = effective({{"config", {config}}, {"threads", {"1"}}});
  EXPECT_EQ(e.integer("threads", 0), 1);
  EXPECT_EQ(e.source("threads"), Source::command_line);
  EXPECT_EQ(e.text("model"), "b.onnx");
  EXPECT_EQ(e.source("model"), Source::environment);
  EXPECT_EQ(e.text("precision"), "int8");
  EXPECT_EQ(e.source("precision"), Source::file);
  EXPECT_EQ(e.text("strength"), "50");
  EXPECT_EQ(e.source("strength"), Source::fallback);
  for (const Resolved& r : e.all())
    if (r.setting->name == "effect") {
      EXPECT_EQ(r.place, config + ":3");
    }
  JobOptions job;
  e.apply(job);
  EXPECT_EQ(job.threads, 1);
  EXPECT_EQ(job.precision, Precision::int8);
  EXPECT_EQ(job.effect, Effect::mask);
  EXPECT_EQ(job.model, "b.onnx");
}

TEST_F(SettingsSources, VariablesThatAreReadElsewhereKeepTheirMeaning) {
  const std::string config = file("isa: portable\nplan-cache-size: 1M\n");
  environment = {{"SACCADE_MAX_ISA", "avx2"}, {"SACCADE_PLAN_CACHE", "off"}, {"SACCADE_CONFIG", config}};
  const Effective e = effective({});
  // A bound: the file asks for less. The cache: the variable has the last word.
  EXPECT_EQ(e.text("isa"), "portable");
  EXPECT_EQ(e.source("isa"), Source::file);
  EXPECT_EQ(e.text("plan-cache-size"), "off");
  EXPECT_EQ(e.source("plan-cache-size"), Source::environment);
  JobOptions job;
  e.apply(job);
  EXPECT_EQ(job.max_isa, Isa::portable);
  EXPECT_EQ(job.plan_cache.max_bytes, PlanCacheOptions{}.max_bytes);
  environment.erase("SACCADE_CONFIG");
  EXPECT_EQ(effective({}).source("isa"), Source::environment);
  JobOptions untouched;
  effective({}).apply(untouched);
  EXPECT_FALSE(untouched.max_isa);
}

TEST_F(SettingsSources, BadVariablesAreNamed) {
  environment = {{"SACCADE_THREADS", "many"}};
  EXPECT_THAT(message_of([&] { effective({}); }), HasSubstr("SACCADE_THREADS: 'many' is not a whole number"));
}

TEST_F(SettingsSources, TheLibraryReadsFilesToo) {
  JobOptions job;
  job.crf = 30;
  read_config(file("effect: replace\nbackground: '#00ff00'\ntokens: 3\nmode: latency\nencoder-threads: "
                   "2\nstart: 1:00\n"
                   "max-mask-change: 0.5\nrefine: auto\nno-plan-cache: false\nrepeats: 7\nlimit: [pixels=1M, "
                   "nodes=9]\n"),
              job);
  EXPECT_EQ(job.effect, Effect::replace);
  EXPECT_EQ(job.background, "#00ff00");
  EXPECT_EQ(job.tokens, 3);
  EXPECT_EQ(job.mode, Mode::latency);
  EXPECT_EQ(job.encoder_threads, 2);
  EXPECT_EQ(job.start, 60);
  EXPECT_DOUBLE_EQ(job.max_mask_change, 0.005);
  EXPECT_LT(job.refine, 0);
  EXPECT_TRUE(job.plan_cache.enabled);
  EXPECT_EQ(job.crf, 30);
  EXPECT_EQ(job.media_limits.max_pixels, 1 << 20);
  EXPECT_EQ(job.limits.max_nodes, 9);
  EXPECT_THROW(read_config(folder / "none.yaml", job), Error);
}

}  // namespace
}  // namespace saccade::settings
