// Precisions of `saccade run`: what is asked, chosen, said and remembered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "media/clips.h"
#include "run_command.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using test::ffmpeg;
using test::read_file;
using test::RunCommand;
using test::Scratch;
using test::write_text;

TEST_F(RunCommand, SaysInWhatPrecisionTheNetworkRan) {
  testing::Result result =
      run(with(clip, scratch / "a.mkv", {"--effect", "mask", "--json", "--precision", "fp32"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["precision"], "fp32");
  EXPECT_EQ(run(with(clip, scratch / "b.mkv", {"--precision", "fp31"})).code, 2);
  expect_refused(with(clip, scratch / "b.mkv", {"--precision", "fp16"}),
                 "precision fp16: there are no kernels");
  write_text(scratch / "job.yaml", "precision: fp16\n");
  expect_refused(with(clip, scratch / "b.mkv", {"--config", (scratch / "job.yaml").string()}),
                 "precision fp16: there are no kernels");
}

TEST_F(RunCommand, QuantisesOnItsOwnFramesAndRemembersIt) {
  testing::write_small_network(model);
  const Scratch cache;
  const std::string here = "SACCADE_PLAN_CACHE=1G SACCADE_CACHE_DIR='" + cache.path().string() + "'";
  const auto bytes = [&](const std::string& out, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--effect", "mask", "--precision", "int8", "--json"});
    const testing::Result result = run(with(clip, scratch / out, more), here);
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const auto first = bytes("a.mp4");
  EXPECT_EQ(first["precision"], "int8");
  const auto& report = first["precision_report"];
  EXPECT_EQ(report["convolutions"], 3);
  EXPECT_EQ(report["convolutions_lowered"], 3);
  EXPECT_GT(report["calibration_pictures"], 1);
  EXPECT_GT(report["measured_pictures"], 1);
  EXPECT_LT(report["mask_change"], 0.2);
  EXPECT_EQ(report["from_cache"], false);
  const auto second = bytes("b.mp4");
  EXPECT_EQ(second["precision_report"]["from_cache"], true);
  EXPECT_EQ(second["precision_report"]["mask_change"], report["mask_change"]);
  EXPECT_TRUE(read_file(scratch / "a.mp4") == read_file(scratch / "b.mp4"));
  // Other pictures, other ranges.
  ffmpeg("-f lavfi -i testsrc2=s=96x64:d=0.04 -frames:v 1 {}", {scratch / "picture.png"});
  const auto third = bytes("c.mp4", {"--calibration", (scratch / "picture.png").string()});
  EXPECT_EQ(third["precision_report"]["from_cache"], false);
  EXPECT_EQ(third["precision_report"]["calibration_pictures"], 1);
}

TEST_F(RunCommand, AutomaticPrecisionSaysWhatItLookedAt) {
  testing::write_small_network(model);
  const testing::Result result =
      run(with(clip, scratch / "a.mkv", {"--effect", "mask", "--precision", "auto", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out)["precision_report"];
  EXPECT_EQ(report["asked"], "auto");
  EXPECT_LE(report["mask_change"], 0.001);
  EXPECT_GE(report["candidates"].size(), 2u);
}

TEST_F(RunCommand, OptionsOfPrecisionThatMakeNoSense) {
  const auto out = scratch / "a.mkv";
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--calibration", clip.string()},
                                                  {"--precision", "auto", "--labels", "/tmp"},
                                                  {"--precision", "auto", "--max-miou-drop", "0.1"},
                                                  {"--precision", "auto", "--max-mask-change", "nan"},
                                                  {"--precision", "auto", "--max-mask-change", "101"}})
    EXPECT_EQ(run(with(clip, out, options)).code, 2) << options.back();
  expect_refused(with(clip, out, {"--precision", "int8", "--calibration", "/nowhere"}),
                 "/nowhere: no such file");
  // The tiny network has no convolution that kernels of bytes know.
  expect_refused(with(clip, out, {"--precision", "int8"}), "could run in bytes");
}

}  // namespace
}  // namespace saccade
