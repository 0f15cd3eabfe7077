// `saccade run` as a user meets it: exit codes, what it prints where, what is on the disk afterwards.
#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "media/clips.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using test::ffmpeg;
using test::frame_times;
using test::packet_hashes;
using test::RunCommand;
using test::stream_value;
using test::write_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(RunCommand, MakesAVideoAndSaysWhereTheTimeWent) {
  const auto out = scratch / "out.mp4";
  const testing::Result result = run(with(clip, out, {"--effect", "blur"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(frame_times(clip), frame_times(out));
  EXPECT_EQ(packet_hashes(clip, "a:0"), packet_hashes(out, "a:0"));
  EXPECT_THAT(result.out, HasSubstr("50 frames in "));
  for (const char* stage :
       {"decode", "preprocess", "infer", "mask", "composite", "encode", "limits", "peak memory"}) {
    EXPECT_THAT(result.out, HasSubstr(stage));
  }
  // What was assumed is told: the model's spec, the colours.
  EXPECT_THAT(result.out, HasSubstr("96x64 h264"));
  EXPECT_THAT(result.out, HasSubstr("BT.601"));
  EXPECT_THAT(scratch.names(), ElementsAre("clip.mp4", "model.onnx", "out.mp4"));
}

TEST_F(RunCommand, QuietSaysNothing) {
  const testing::Result result = run(with(clip, scratch / "out.mp4", {"--quiet"}));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out + result.err, "");
}

TEST_F(RunCommand, DryRunWritesNothing) {
  const testing::Result result = run(with(clip, scratch / "out.mov", {"--dry-run"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("prores_ks"));
  EXPECT_THAT(scratch.names(), ElementsAre("clip.mp4", "model.onnx"));
}

TEST_F(RunCommand, PicturesWork) {
  const auto picture = scratch / "in.jpg";
  ffmpeg("-f lavfi -i testsrc2=s=60x40 -frames:v 1 {}", {picture});
  EXPECT_EQ(run(with(picture, scratch / "out.png")).code, 0);
  EXPECT_EQ(stream_value(scratch / "out.png", "v:0", "pix_fmt"), "rgba");
  const testing::Result jpeg = run(with(picture, scratch / "out.jpg"));
  EXPECT_EQ(jpeg.code, 0) << jpeg.err;
  EXPECT_THAT(jpeg.out, HasSubstr("chroma green"));
}

TEST_F(RunCommand, ColoursComeInTheOrderThatTheModelAsksForAndTheRunSaysSo) {
  // The network copies its first channel: on pure red that is 1 in RGB and 0 in BGR.
  testing::OnnxWriter onnx;
  const std::vector<float> first = {1, 0, 0};
  onnx.input("picture", {1, 3, 8, 6});
  onnx.constant("w", {1, 3, 1, 1}, std::span<const float>(first));
  onnx.node("Conv", {"picture", "w"}, {"mask"});
  onnx.output("mask", {1, 1, 8, 6});
  onnx.write(model);
  const auto red = scratch / "red.png", mask = scratch / "mask.png", yaml = scratch / "model.yaml";
  ffmpeg("-f lavfi -i color=red:s=16x12,format=gbrp -frames:v 1 {}", {red});
  const auto value = [&](const std::string& spec, const std::string& said_too) {
    write_text(yaml, spec);
    const testing::Result result = run(with(red, mask, {"--effect", "mask", "--overwrite"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out + result.err, HasSubstr(said_too));
    const std::string pixels = test::raw_frames(mask, "gray");
    EXPECT_EQ(pixels, std::string(16 * 12, pixels.at(0)));
    return static_cast<int>(static_cast<unsigned char>(pixels.at(0)));
  };
  EXPECT_EQ(value("output: {kind: probability}", "rgb"), 255);
  EXPECT_EQ(value("input: {color: bgr}\noutput: {kind: probability}", "bgr"), 0);
  EXPECT_EQ(value("input: {scale: 1/510}\noutput: {kind: probability}", "(byte * "), 128);
  EXPECT_EQ(value("input: {mean: 0.5, std: 2}\noutput: {kind: probability}", "- 0.5) / 2"), 64);
}

TEST_F(RunCommand, ListsOfFindPrint0) {
  const auto second = scratch / "two\nlines.mp4", out = scratch / "out";
  std::filesystem::copy_file(clip, second);
  std::filesystem::create_directory(out);
  write_text(scratch / "list", clip.string() + '\0' + second.string() + '\0');
  testing::Result result = run({"--list", (scratch / "list").string(), "-o", out.string(), "--model",
                                model.string(), "--effect", "blur", "--frames", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 of 2 files done"));
  EXPECT_TRUE(std::filesystem::exists(out / "two\nlines.mp4"));
  write_text(scratch / "list", clip.string() + "\r\n\n");
  result = run({"--list", (scratch / "list").string(), "-o", out.string(), "--model", model.string(),
                "--effect", "blur", "--frames", "2", "--overwrite"});
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(RunCommand, ConfigFilesHoldOptions) {
  write_text(scratch / "job.yaml", "effect: mask\ncrf: 30\ninvert: true\nclasses: [0]\noutput: " +
                                       (scratch / "out.mkv").string() + "\n");
  testing::Result result =
      run({clip.string(), "--model", model.string(), "--config", (scratch / "job.yaml").string(), "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["effect"], "mask");
  EXPECT_EQ(frame_times(scratch / "out.mkv").size(), 50u);
  write_text(scratch / "job.json", R"({"effect": "mask", "overwrite": true})");
  result = run(with(clip, scratch / "out.mkv",
                    {"--config", (scratch / "job.json").string(), "--effect", "blur", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["effect"], "blur");  // the command line wins
  for (const auto& [text, code] : {std::pair{"window: auto\nwindow-overlap: 0.25\n", 0},
                                   {"tile: auto\n", 0},
                                   {"tile: off\n", 0},
                                   {"tile: auto\nwindow: auto\n", 2},
                                   {"window: 48\n", 1},  // the model takes one size only
                                   {"window: many\n", 2}}) {
    write_text(scratch / "parts.yaml", text);
    EXPECT_EQ(run(with(clip, scratch / "parts.mkv",
                       {"--config", (scratch / "parts.yaml").string(), "--frames", "2", "--overwrite"}))
                  .code,
              code)
        << text;
  }
  write_text(scratch / "bad.yaml", "efect: mask\n");
  result = run(with(clip, scratch / "new.mkv", {"--config", (scratch / "bad.yaml").string()}));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'effect'"));
  write_text(scratch / "bad.yaml", "crf: [\n");
  EXPECT_EQ(run(with(clip, scratch / "new.mkv", {"--config", (scratch / "bad.yaml").string()})).code, 2);
  write_text(scratch / "bad.yaml", "effect: explode\n");
  EXPECT_EQ(run(with(clip, scratch / "new.mkv", {"--config", (scratch / "bad.yaml").string()})).code, 2);
}

TEST_F(RunCommand, NamesAreLiteral) {
  for (const char* name : {"a:b.mp4", "%03d.mp4", "spa ce'\".mp4"}) {
    const auto in = scratch / name, out = scratch / (std::string("out-") + name);
    std::filesystem::copy_file(clip, in);
    const testing::Result result = run(with(in, out, {"--effect", "blur"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(frame_times(out).size(), 50u);
  }
}

TEST_F(RunCommand, PicturesBecomeOneVideoOrManyPictures) {
  const auto frames = scratch / "frames";
  std::filesystem::create_directory(frames);
  ffmpeg("-i {} -frames:v 7 {}", {clip, frames / "f%03d.png"});
  int round = 0;
  for (const auto& input : {frames, frames / "*.png", frames / "f%03d.png"}) {
    const auto out = scratch / ("out" + std::to_string(round++) + ".mp4");
    const testing::Result result =
        run(with(input, out, {"--effect", "blur", "--input-option", "framerate=10"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(frame_times(out).size(), 7u) << input;
    EXPECT_EQ(frame_times(out).back(), "0.600000") << input;
  }
  const auto many = scratch / "many", masks = scratch / "masks";
  const testing::Result result =
      run(with(frames, many, {"--effect", "blur", "--mask-output", masks.string()}));
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* name : {"f001.png", "f007.png"}) {
    EXPECT_TRUE(std::filesystem::exists(many / name));
    EXPECT_TRUE(std::filesystem::exists(masks / name));
  }
}

TEST_F(RunCommand, SeveralFilesAreNamedOneAfterTheOther) {
  const auto second = scratch / "second.mp4", out = scratch / "out";
  std::filesystem::copy_file(clip, second);
  std::vector<std::string> arguments = with(second, out, {"--effect", "blur", "--json"});
  arguments.insert(arguments.begin(), clip.string());
  testing::Result result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["files"].size(), 2u);
  for (const char* name : {"clip.mp4", "second.mp4"}) EXPECT_EQ(frame_times(out / name), frame_times(clip));
  // What each has to say stands in the summary; with --quiet and --json nothing does.
  const std::string note = "\n        libx264 in a mp4 file has no transparency";
  for (const auto& [more, notes] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{}, 2}, {{"--progress", "none"}, 2}, {{"--quiet"}, 0}, {{"--effect", "blur"}, 0}}) {
    arguments = with(second, out, {"--overwrite"});
    arguments.insert(arguments.begin(), clip.string());
    arguments.insert(arguments.end(), more.begin(), more.end());
    result = run(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    int found = 0;
    for (const auto& input : {clip, second})
      if (result.out.find("notes   " + input.string() + note) != std::string::npos) ++found;
    EXPECT_EQ(found, notes) << result.out;
  }
  // What ffmpeg's users write first.
  result = run({clip.string(), (scratch / "o.mp4").string()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("no output is given"));
}

}  // namespace
}  // namespace saccade
