// `saccade profile`, and the verdict at the end of `saccade run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/run_saccade.h"
#include "apps/tiny_onnx.h"
#include "media/clips.h"

namespace saccade::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ProfileCommand : public ::testing::Test {
 protected:
  ProfileCommand() {
    testing::write_small_network(scratch / "small.onnx");
    ffmpeg("-f lavfi -i testsrc2=s=96x64:r=25:d=1.2 -c:v libx264 -preset ultrafast {}", {scratch / "in.mp4"});
  }
  testing::Result run(std::vector<std::string> arguments) {
    return testing::run_saccade(scratch.path(), arguments);
  }
  std::string in() const { return (scratch / "in.mp4").string(); }
  std::string model() const { return (scratch / "small.onnx").string(); }

  Scratch scratch;
};

TEST_F(ProfileCommand, WritesTraceNumbersPageAndResult) {
  const auto folder = scratch / "profile";
  const testing::Result result =
      run({"profile", in(), "-o", folder.string(), "--model", model(), "--warmup", "4", "--active", "6",
           "--repeat", "2", "--effect", "blur", "--result", "blurred.mkv", "--detect-bottlenecks"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("profile.html"));
  EXPECT_THAT(result.out, HasSubstr("bottleneck: "));
  EXPECT_EQ(frame_times(folder / "blurred.mkv").size(), 20u);
  const Json json = Json::parse(read_file(folder / "profile.json"));
  EXPECT_EQ(json["frames_recorded"], 12);
  EXPECT_EQ(json["schedule"]["active"], 6);
  EXPECT_EQ(json["job"]["effect"], "blur");
  EXPECT_FALSE(json["bottleneck"]["cause"].get<std::string>().empty());
  EXPECT_FALSE(Json::parse(read_file(folder / "trace.json"))["traceEvents"].empty());
  EXPECT_THAT(read_file(folder / "profile.html"), HasSubstr("\"frames_recorded\":12"));
  // Again: over what is there only if told so, be it of an earlier profile or of somebody else.
  std::vector<std::string> again{"profile", in(),       "-o",          folder.string(), "--model",
                                 model(),   "--result", "blurred.mkv", "--no-ceilings", "--quiet"};
  const std::string before = read_file(folder / "profile.json");
  for (const char* kept : {"blurred.mkv", "trace.json", "profile.json", "profile.html"}) {
    const testing::Result refused = run(again);
    EXPECT_EQ(refused.code, 1) << kept;
    EXPECT_THAT(refused.err, HasSubstr("exists already; use --overwrite"));
    EXPECT_EQ(read_file(folder / "profile.json"), before);
    for (const auto& each : std::filesystem::directory_iterator(folder))
      if (each.path().filename() != kept)
        std::filesystem::rename(each.path(), scratch / each.path().filename());
    EXPECT_EQ(run(again).code, 1) << kept;
    for (const char* each : {"blurred.mkv", "trace.json", "profile.json", "profile.html"})
      if (std::string(each) != kept) std::filesystem::rename(scratch / each, folder / each);
  }
  again.push_back("--overwrite");
  EXPECT_EQ(run(again).code, 0);
  EXPECT_NE(read_file(folder / "profile.json"), before);
}

TEST_F(ProfileCommand, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run({"profile", in(), "--model", model()}).code, 2);
  EXPECT_EQ(run({"profile", "-o", (scratch / "p").string(), "--model", model()}).code, 2);
  EXPECT_EQ(run({"profile", in(), in(), "-o", (scratch / "p").string(), "--model", model()}).code, 2);
  EXPECT_EQ(run({"profile", in(), "-o", (scratch / "p").string(), "--result", "a/b.mp4"}).code, 2);
  EXPECT_EQ(run({"profile", in(), "-o", (scratch / "p").string(), "--active", "-1"}).code, 2);
  const testing::Result result =
      run({"profile", in(), "-o", (scratch / "p").string(), "--model", model(), "--wait", "1000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("left out by wait 1000"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "p/result.mp4")) << "refused before any work";
}

TEST_F(ProfileCommand, ASinglePictureIsProfiledWhereNoFrameIsLeftOut) {
  ffmpeg("-i {} -frames:v 1 {}", {in(), scratch / "in.png"});
  std::vector<std::string> arguments{"profile",      (scratch / "in.png").string(),
                                     "-o",           (scratch / "p").string(),
                                     "--model",      model(),
                                     "--result",     "out.png",
                                     "--no-ceilings"};
  const testing::Result refused = run(arguments);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has 1 frame, which is left out"));
  EXPECT_THAT(refused.err, HasSubstr("--warmup"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "p/out.png"));
  arguments.insert(arguments.end(), {"--warmup", "0"});
  const testing::Result result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(scratch / "p/out.png"));
  EXPECT_EQ(Json::parse(read_file(scratch / "p/profile.json"))["frames_recorded"], 1);
}

TEST_F(ProfileCommand, FoldersOfVideosAreRefusedAndWhatIsLeftOutIsTold) {
  const auto videos = scratch / "videos", both = scratch / "both";
  for (const auto& folder : {videos, both}) {
    std::filesystem::create_directories(folder);
    for (const char* name : {"a.mp4", "b.mp4"}) std::filesystem::copy_file(in(), folder / name);
  }
  ffmpeg("-i {} -frames:v 1 {}", {in(), both / "p.png"});
  for (const auto& several : {videos, videos / "*.mp4"}) {
    const testing::Result result =
        run({"profile", several.string(), "-o", (scratch / "p").string(), "--model", model()});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("a profile is that of one input"));
    EXPECT_FALSE(std::filesystem::exists(scratch / "p"));
  }
  const testing::Result result =
      run({"profile", both.string(), "-o", (scratch / "p").string(), "--model", model()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("has 1 frame, which is left out"));
  EXPECT_THAT(result.err, HasSubstr("2 other files beside the pictures have no part in the video"));
}

TEST_F(ProfileCommand, RunsEndWithAVerdictWhereItIsAskedFor) {
  const std::string out = (scratch / "out.mp4").string();
  testing::Result result =
      run({"run", in(), "-o", out, "--model", model(), "--detect-bottlenecks", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json verdict = Json::parse(result.out)["bottleneck"];
  EXPECT_FALSE(verdict["text"].get<std::string>().empty());
  EXPECT_GE(verdict["speedup_if_free"], 1);
  EXPECT_LE(verdict["suggestions"].size(), 3u);
  for (const Json& stage : verdict["stages"]) EXPECT_GE(stage["speedup_if_free"], 0.99) << stage;
  result = run({"run", in(), "-o", out, "--model", model(), "--overwrite", "--json"});
  EXPECT_FALSE(Json::parse(result.out).contains("bottleneck"));
  // A picture too: its stages follow one another.
  ffmpeg("-i {} -frames:v 1 {}", {in(), scratch / "in.png"});
  result = run({"run", (scratch / "in.png").string(), "-o", (scratch / "out.png").string(), "--model",
                model(), "--detect-bottlenecks"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("bottleneck: "));
}

}  // namespace
}  // namespace saccade::test
