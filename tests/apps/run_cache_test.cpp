// What `saccade run` keeps for the next time, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "media/clips.h"
#include "run_command.h"

namespace saccade {
namespace {

using test::read_file;
using test::RunCommand;
using test::Scratch;
using test::write_text;
using ::testing::HasSubstr;

TEST_F(RunCommand, KeepsPlansFromRunToRun) {
  const Scratch cache;
  const std::string here = "SACCADE_PLAN_CACHE=1G SACCADE_CACHE_DIR='" + cache.path().string() + "'";
  const auto plans = [&] {
    std::ptrdiff_t count = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(cache.path()))
      count += each.path().extension() == ".plan" ? 1 : 0;
    return count;
  };
  const auto a = scratch / "a.mp4", b = scratch / "b.mp4", c = scratch / "c.mp4";
  testing::Result result = run(with(clip, a, {"--no-plan-cache"}), here);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(plans(), 0);
  result = run(with(clip, b), here);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(plans(), 1);
  result = run(with(clip, c), here + " SACCADE_LOG=cache");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::ContainsRegex("plan is used"));
  EXPECT_EQ(plans(), 1);
  EXPECT_TRUE(read_file(a) == read_file(b));
  EXPECT_TRUE(read_file(a) == read_file(c));
  // A folder that cannot be made is no reason to say anything.
  result =
      run(with(clip, c, {"--overwrite", "--quiet"}), "SACCADE_PLAN_CACHE=1G SACCADE_CACHE_DIR=/dev/null");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  expect_refused(with(clip, scratch / "d.mp4"), "SACCADE_PLAN_CACHE", "SACCADE_PLAN_CACHE=much");
}

TEST_F(RunCommand, ACacheThatOthersCanFillIsNotUsed) {
  const std::filesystem::path folder = scratch / "tmp",
                              cache = folder / ("saccade-cache-" + std::to_string(::geteuid()));
  const std::string environment =
      "env -u HOME -u XDG_CACHE_HOME -u SACCADE_CACHE_DIR SACCADE_PLAN_CACHE=1G "
      "SACCADE_LOG=cache TMPDIR='" +
      folder.string() + "'";
  std::filesystem::create_directory(folder);
  const auto files = [](const std::filesystem::path& in) {
    std::ptrdiff_t count = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(in))
      count += each.is_regular_file() ? 1 : 0;
    return count;
  };
  const auto infer = [&](const std::string& name) {
    return run({clip.string(), "-o", (scratch / "out.mp4").string(), "--model", name, "--frames", "2",
                "--overwrite", "--quiet"},
               environment);
  };
  testing::Result result = infer(model.string());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GE(files(cache), 1);
  EXPECT_EQ(std::filesystem::status(cache).permissions(), std::filesystem::perms::owner_all);
  // A file that was planted as a model that has a name.
  const auto plant = [&](const std::filesystem::path& at) {
    std::filesystem::create_directories(at / "models");
    std::filesystem::copy_file(model, at / "models/selfie_multiclass_256x256.tflite");
  };
  struct Case {
    std::string why;
    std::function<void()> make;
  };
  const std::vector<Case> cases = {{"is no folder of its own",
                                    [&] {
                                      plant(scratch / "elsewhere");
                                      std::filesystem::create_symlink(scratch / "elsewhere", cache);
                                    }},
                                   {"is no folder of its own", [&] { write_text(cache, "a file"); }},
                                   {"others may write into it",
                                    [&] {
                                      plant(cache);
                                      std::filesystem::permissions(cache, std::filesystem::perms(0777));
                                    }},
                                   {"others may write into it",
                                    [&] {
                                      plant(cache);
                                      std::filesystem::permissions(cache, std::filesystem::perms(0770));
                                    }},
                                   {"belongs to another user", [&] {
                                      plant(cache);
                                      ASSERT_EQ(::chown(cache.c_str(), 12345, 12345), 0);
                                    }}};
  for (const Case& each : cases) {
    if (each.why == "belongs to another user" && ::geteuid() != 0) continue;  // only root can give away
    std::filesystem::remove_all(cache);
    each.make();
    const std::ptrdiff_t before =
        files(folder) + (std::filesystem::exists(scratch / "elsewhere") ? files(scratch / "elsewhere") : 0);
    result = infer(model.string());
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(each.why));
    result = infer("selfie");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr(each.why));
    EXPECT_EQ(testing::run_saccade(said.path(), {"cache", "list"}, environment).code, 1);
    EXPECT_EQ(
        files(folder) + (std::filesystem::exists(scratch / "elsewhere") ? files(scratch / "elsewhere") : 0),
        before);
  }
}

}  // namespace
}  // namespace saccade
