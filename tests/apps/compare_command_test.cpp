// `saccade compare` and `saccade evaluate` by the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "media/clips.h"
#include "run_saccade.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using nlohmann::json;
using test::ffmpeg;
using test::Scratch;
using test::stream_value;
using ::testing::Contains;
using ::testing::HasSubstr;

struct CompareCommand : ::testing::Test {
  Scratch scratch, said;
  std::filesystem::path clip = scratch / "clip.mp4", model = scratch / "model.onnx";

  void SetUp() override {
    ffmpeg("-f lavfi -i testsrc2=s=96x64:r=25:d=0.6 -c:v libx264 -preset ultrafast {}", {clip});
    testing::write_small_network(model);
  }
  testing::Result run(const std::vector<std::string>& arguments) {
    return testing::run_saccade(said.path(), arguments);
  }
  json compared(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare", clip.string(), "--model", model.string(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const testing::Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }
  static const json& layer(const json& report, const std::string& name) {
    for (const json& each : report["layers"])
      if (each["name"] == name) return each;
    ADD_FAILURE() << name;
    return report;
  }
};

TEST_F(CompareCommand, WhatDoesNotMatterChangesNothing) {
  const json report =
      compared({"--with", "threads=2", "--with", "mode=latency", "-o", (scratch / "worst").string()});
  EXPECT_EQ(report["frames"], 15);
  EXPECT_EQ(report["all"]["iou"], 1.0);
  EXPECT_EQ(report["all"]["boundary_f"], 1.0);
  EXPECT_EQ(report["all"]["changed"], 0.0);
  EXPECT_EQ(report["all"]["mae"], 0.0);
  EXPECT_EQ(report["per_frame"].size(), 15u);
  EXPECT_TRUE(report["worst"].empty());
  EXPECT_TRUE(report["suspects"].empty());
  EXPECT_EQ(compared({"--with", "threads=2", "--frames", "4", "--no-layers"})["frames"], 4);
}

TEST_F(CompareCommand, TheDamagedLayerIsNamedAndTheWorstFramesAreDrawn) {
  for (const int damaged : {1, 3}) {
    const auto other = scratch / "damaged.onnx";
    testing::write_small_network(other, damaged);
    const std::string folder = (scratch / ("worst" + std::to_string(damaged))).string();
    const json report = compared({"--with", "model=" + other.string(), "-o", folder, "--worst", "2"});
    ASSERT_EQ(report["suspects"].size(), 1u) << report["layers"];
    EXPECT_EQ(report["suspects"][0], "Conv_c" + std::to_string(damaged));
    EXPECT_GT(layer(report, "Conv_c" + std::to_string(damaged))["own_error"], 1e-3);
    EXPECT_GT(report["all"]["mae"], 0.0);
    ASSERT_EQ(report["pictures"].size(), 2u);
    for (const json& picture : report["pictures"]) {
      EXPECT_EQ(stream_value(picture.get<std::string>(), "v:0", "width"), "384");
      EXPECT_EQ(stream_value(picture.get<std::string>(), "v:0", "height"), "64");
    }
    // Pictures that are there are replaced only if told so.
    std::vector<std::string> again{"compare",     clip.string(), "--model",  model.string(),
                                   "--with",      "threads=2",   "--frames", "1",
                                   "--no-layers", "-o",          folder};
    const testing::Result refused = run(again);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("exists already; use --overwrite"));
    again.push_back("--overwrite");
    EXPECT_EQ(run(again).code, 0);
  }
  const testing::Result text = run({"compare", clip.string(), "--model", model.string(), "--with",
                                    "model=" + (scratch / "damaged.onnx").string()});
  EXPECT_THAT(text.out, HasSubstr("stands out: Conv_c3"));
  EXPECT_THAT(text.out, HasSubstr("worst frame"));
}

TEST_F(CompareCommand, PrecisionsAreLookedAtLayerByLayer) {
  json report = compared({"--with", "precision=bf16"});
  EXPECT_EQ(report["precision"]["other"], "bf16");
  EXPECT_EQ(report["unmatched_layers"], 0);
  EXPECT_GT(layer(report, "Conv_c1")["own_error"], 1e-5);
  EXPECT_LT(layer(report, "Conv_c1")["own_error"], 2e-2);
  EXPECT_LT(report["all"]["mae"], 0.02);
  report = compared({"--with", "precision=int8"});
  EXPECT_EQ(report["precision"]["other"], "int8");
  EXPECT_EQ(report["unmatched_layers"], 0);
  EXPECT_GT(layer(report, "Conv_c1")["own_error"], 1e-5);
  EXPECT_LT(layer(report, "Conv_c1")["own_error"], 0.1);
  // A damaged network in bytes: still the same layer.
  testing::write_small_network(scratch / "damaged.onnx", 1);
  report = compared({"--with", "precision=int8", "--with", "model=" + (scratch / "damaged.onnx").string()});
  double most = 0;
  std::string name;
  for (const json& each : report["layers"])
    if (each["own_error"] > most) most = each["own_error"], name = each["name"];
  EXPECT_EQ(name, "Conv_c1") << report["layers"];
}

TEST_F(CompareCommand, MistakesAreNamed) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& reason, int code = 2) {
    std::vector<std::string> arguments{"compare", clip.string(), "--model", model.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const testing::Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(reason));
  };
  refused({}, "nothing differs");
  refused({"--with", "precision"}, "SETTING=VALUE");
  refused({"--with", "presicion=int8"}, "did you mean 'precision'?");
  refused({"--with", "precision=int7"}, "'int7' is not fp32");
  refused({"--with", "json=true"}, "is no setting");
  refused({"--with", "model=/nowhere.onnx"}, "/nowhere.onnx", 1);
  refused({"--with", "stream=7"}, "stream", 1);
}

TEST_F(CompareCommand, WhatHasNoUseIsRefused) {
  const auto at = [&](const char* name) { return (scratch / name).string(); };
  const std::vector<std::vector<std::string>> useless = {{"--mask-output", at("zz.mkv")},
                                                         {"--encoder", "nope"},
                                                         {"--preset", "zz"},
                                                         {"--encoder-option", "a=b"},
                                                         {"--crf", "12"},
                                                         {"--resumable"},
                                                         {"--sequence"},
                                                         {"--output-format", "png"},
                                                         {"--effect", "blur"},
                                                         {"--strength", "3"},
                                                         {"--jpeg-quality", "50"},
                                                         {"--mask-depth", "16"},
                                                         {"--dry-run"},
                                                         {"--jobs", "2"},
                                                         {"--recursive"},
                                                         {"--detect-bottlenecks"},
                                                         {"--segment-seconds", "3"},
                                                         {"--background", "#fff"},
                                                         {"--encoder-threads", "2"}};
  for (const std::vector<std::string>& more : useless) {
    std::vector<std::string> compare{"compare", clip.string(), "--model",  model.string(),
                                     "--with",  "threads=1",   "--frames", "2"};
    std::vector<std::string> evaluate{"evaluate",     clip.string(), "--model",
                                      model.string(), "--labels",    at("")};
    for (std::vector<std::string> arguments : {compare, evaluate}) {
      arguments.insert(arguments.end(), more.begin(), more.end());
      const testing::Result result = run(arguments);
      EXPECT_EQ(result.code, 2) << result.err;
      EXPECT_THAT(result.err, HasSubstr(more.front() + " has no use here"));
    }
    compare[5] = more.front().substr(2) + "=" + (more.size() > 1 ? more[1] : "true");
    const testing::Result with = run(compare);
    EXPECT_EQ(with.code, 2) << with.err;
    EXPECT_THAT(with.err, HasSubstr("--with " + compare[5]));
  }
  for (const char* with : {"output=x.mp4", "overwrite=true"})
    EXPECT_EQ(run({"compare", clip.string(), "--model", model.string(), "--with", with}).code, 2) << with;
  const testing::Result twice =
      run({"compare", clip.string(), "--model", model.string(), "--with", "grow=1", "--with", "grow=2"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--with grow is said twice"));
  EXPECT_EQ(
      run({"evaluate", clip.string(), "--model", model.string(), "--labels", at(""), "-o", at("x")}).code, 2);
  EXPECT_EQ(run({"profile", clip.string(), "-o", at("p"), "--model", model.string(), "--jobs", "2"}).code, 2);
  EXPECT_EQ(run({"optimize", clip.string(), "-o", at("s.yaml"), "--model", model.string(), "--dry-run"}).code,
            2);
  // A file may hold them for run.
  std::ofstream(at("run.yaml")) << "encoder: libx264\ncrf: 12\neffect: blur\n";
  EXPECT_EQ(compared({"--with", "threads=1", "--frames", "2", "--no-layers", "--config", at("run.yaml"),
                      "--with", "limit=nodes=1000", "--with", "limit=rank=6"})["frames"],
            2);
  EXPECT_THAT(scratch.names(), ::testing::ElementsAre("clip.mp4", "model.onnx", "run.yaml"));
}

TEST_F(CompareCommand, NoPictureReplacesAFileThatIsReadAndNoEmptyFolderIsLeft) {
  const auto folder = scratch / "worst", settings = folder / "worst-mine.yaml";
  std::filesystem::create_directory(folder);
  std::ofstream(settings) << "threads: 1\n";
  const testing::Result result =
      run({"compare", clip.string(), "--model", model.string(), "--with", "threads=2", "--frames", "1",
           "--config", settings.string(), "--overwrite", "-o", folder.string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("which is read"));
  EXPECT_EQ(testing::content(settings), "threads: 1\n");
  // It fails for want of such a stream, with its folder made.
  for (const char* command : {"compare", "profile"}) {
    std::vector<std::string> arguments{command,    clip.string(), "--model", model.string(),
                                       "--stream", "9",           "-o",      (scratch / "new/one").string()};
    if (std::string(command) == "compare") arguments.insert(arguments.end(), {"--with", "threads=1"});
    EXPECT_EQ(run(arguments).code, 1);
    EXPECT_FALSE(std::filesystem::exists(scratch / "new")) << command;
  }
}

TEST_F(CompareCommand, WhatIsLeftOutOfAFolderIsTold) {
  const auto videos = scratch / "videos", both = scratch / "both";
  for (const auto& folder : {videos, both}) {
    std::filesystem::create_directories(folder);
    for (const char* name : {"a.mp4", "b.mp4"}) std::filesystem::copy_file(clip, folder / name);
  }
  ffmpeg("-i {} -frames:v 1 {}", {clip, both / "p.png"});
  const auto of = [&](const std::filesystem::path& input, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare", input.string(), "--model",    model.string(),
                                       "--with",  "threads=1",    "--no-layers"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const std::string note = "2 other files beside the pictures have no part in the video: a.mp4, ...";
  testing::Result result = of(both, {});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nnote    " + note + "\n"));
  result = of(both, {"--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["notices"], json::array({note}));
  for (const auto& several : {videos, videos / "*.mp4"}) {
    result = of(several, {});
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("holds no pictures that could be one video; compare takes one video"));
  }
  EXPECT_EQ(json::parse(of(clip, {"--json"}).out)["notices"], json::array());
}

TEST_F(CompareCommand, MasksAreEvaluatedBesideLabels) {
  const auto pictures = scratch / "pictures", labels = scratch / "labels";
  std::filesystem::create_directories(pictures);
  std::filesystem::create_directories(labels);
  ffmpeg("-f lavfi -i testsrc2=s=60x40 -frames:v 3 {}", {pictures / "p%d.png"});
  const auto evaluated = [&] {
    const testing::Result result = run(
        {"evaluate", pictures.string(), "--labels", labels.string(), "--model", model.string(), "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  };
  const testing::Result none =
      run({"evaluate", pictures.string(), "--labels", labels.string(), "--model", model.string()});
  EXPECT_EQ(none.code, 1);
  const testing::Result nowhere =
      run({"evaluate", pictures.string(), "--labels", "nowhere", "--model", model.string()});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere: cannot read the labels: No such file"));
  EXPECT_THAT(none.err, HasSubstr("no label for p1.png"));
  for (const char* name : {"p1.png", "p2.png", "p3.png"})
    ASSERT_EQ(run({"run", (pictures / name).string(), "-o", (labels / name).string(), "--effect", "mask",
                   "--model", model.string()})
                  .code,
              0);
  json report = evaluated();
  EXPECT_EQ(report["pictures"], 3);
  EXPECT_EQ(report["all"]["iou"], 1.0);
  EXPECT_EQ(report["all"]["mae"], 0.0);
  EXPECT_EQ(report["per_picture"].size(), 3u);
  EXPECT_FALSE(report.contains("class_mean_iou"));
  // Labels that say the opposite.
  ffmpeg("-i {} -vf negate -y {}", {labels / "p1.png", scratch / "negative.png"});
  std::filesystem::rename(scratch / "negative.png", labels / "p1.png");
  report = evaluated();
  EXPECT_EQ(report["per_picture"][0]["iou"], 0.0);
  EXPECT_EQ(report["per_picture"][1]["iou"], 1.0);
  EXPECT_NEAR(report["all"]["changed"], 1.0 / 3, 1e-9);
  ffmpeg("-f lavfi -i testsrc2=s=20x20 -frames:v 1 -y {}", {labels / "p1.png"});
  const testing::Result size =
      run({"evaluate", pictures.string(), "--labels", labels.string(), "--model", model.string()});
  EXPECT_EQ(size.code, 1);
  EXPECT_THAT(size.err, HasSubstr("is 60x40, its label 20x20"));
  EXPECT_EQ(run({"evaluate", pictures.string(), "--model", model.string()}).code, 2);
  // A picture is no label of itself, and of two files neither is taken.
  std::filesystem::copy_file(labels / "p2.png", pictures / "p2.bmp");
  std::vector<std::string> own{
      "evaluate", (pictures / "p2.png").string(), "--labels", pictures.string(), "--model", model.string(),
      "--json"};
  testing::Result result = run(own);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["all"]["iou"], 1.0);
  std::filesystem::copy_file(labels / "p2.png", pictures / "p2.tiff");
  result = run(own);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("which label is that of p2.png, p2.bmp or p2.tiff?"));
}

}  // namespace
}  // namespace saccade
