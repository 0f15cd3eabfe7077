// What `saccade run` refuses, before any work and in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "media/clips.h"
#include "run_command.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using test::ffmpeg;
using test::frame_times;
using test::read_file;
using test::RunCommand;
using test::write_text;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RunCommand, RefusesTooLittleMemory) {
  expect_refused(with(clip, scratch / "out.mp4", {"--max-memory", "1K"}), "bytes for weights, activations");
  EXPECT_EQ(run(with(clip, scratch / "out.mp4", {"--max-memory", "much"})).code, 2);
}

TEST_F(RunCommand, BadInputsAreRefusedInOneLine) {
  const auto out = scratch / "out.mp4";
  expect_refused(with(scratch / "none.mp4", out), "none.mp4: cannot open: No such file or directory");
  expect_refused(with(scratch.path(), out), "need a folder as output");
  write_text(scratch / "text.mp4", "Not a video at all.\n");
  expect_refused(with(scratch / "text.mp4", out), "text.mp4: is not a video or picture");
  write_text(scratch / "empty.mp4", "");
  expect_refused(with(scratch / "empty.mp4", out), "the file is empty");
  const std::string bytes = read_file(clip);
  write_text(scratch / "cut.mp4", bytes.substr(0, bytes.size() / 2));
  expect_refused(with(scratch / "cut.mp4", out), "cut.mp4: ");
  ffmpeg("-i {} -c copy -movflags faststart {}", {clip, scratch / "fast.mp4"});
  const std::string fast = read_file(scratch / "fast.mp4");
  write_text(scratch / "cut-fast.mp4", fast.substr(0, fast.size() / 2));
  expect_refused(with(scratch / "cut-fast.mp4", out), "is cut off");
  ffmpeg("-i {} -vn -c copy {}", {clip, scratch / "sound.m4a"});
  expect_refused(with(scratch / "sound.m4a", out), "has no video stream");
}

TEST_F(RunCommand, BadModelsAreRefusedInOneLine) {
  const auto out = scratch / "out.mp4";
  const auto faulty = [&](const std::string& name, const std::string& content) {
    write_text(scratch / name, content);
    return std::vector<std::string>{clip.string(), "-o", out.string(), "--model", (scratch / name).string()};
  };
  const std::string bytes = read_file(model);
  expect_refused(faulty("cut.onnx", bytes.substr(0, bytes.size() / 2)), "cut.onnx: ");
  expect_refused(faulty("text.onnx", "dummy"), "text.onnx: ");
  testing::OnnxWriter onnx;
  onnx.input("x", {1, 3, 8, 6});
  onnx.node("Frobnicate", {"x"}, {"y"});
  onnx.output("y", {1, 1, 8, 6});
  onnx.write(scratch / "odd.onnx");
  expect_refused({clip.string(), "-o", out.string(), "--model", (scratch / "odd.onnx").string()},
                 "Frobnicate");
  expect_refused({clip.string(), "-o", out.string(), "--model", (scratch / "none.onnx").string()},
                 "none.onnx");
  // A known model that was never fetched.
  expect_refused({clip.string(), "-o", out.string(), "--model", "selfie"}, "saccade fetch selfie",
                 "SACCADE_CACHE_DIR='" + (said / "no-cache").string() + "'");
}

TEST_F(RunCommand, OutputsThatWouldDoHarmAreRefused) {
  std::filesystem::create_symlink(clip, scratch / "link.mp4");
  std::filesystem::create_hard_link(clip, scratch / "hard.mp4");
  for (const auto& out :
       {clip, scratch.path() / "." / "clip.mp4", scratch / "link.mp4", scratch / "hard.mp4"}) {
    expect_refused(with(clip, out, {"--overwrite"}), "the same file as the input");
  }
  expect_refused(with(clip, model, {"--overwrite"}), "the same file as the input");
  write_text(scratch / "there.mp4", "mine");
  expect_refused(with(clip, scratch / "there.mp4"), "--overwrite");
  EXPECT_EQ(read_file(scratch / "there.mp4"), "mine");
  expect_refused(with(clip, scratch / "no/out.mp4"), "does not exist");
  expect_refused(with(clip, scratch.path()), "is a folder");
  expect_refused(with(clip, "/proc/out.mp4"), "/proc");
  EXPECT_EQ(run(with(clip, scratch / "there.mp4", {"--overwrite"})).code, 0);
  EXPECT_EQ(frame_times(scratch / "there.mp4").size(), 50u);
}

TEST_F(RunCommand, NoOutputReplacesAFileThatIsRead) {
  const auto at = [&](const char* name) { return (scratch / name).string(); };
  write_text(at("z.yaml"), "effect: blur\n");
  write_text(at("model.yaml"), "output:\n  classes: 1\n");
  write_text(at("list.txt"), clip.string() + "\n");
  std::filesystem::create_directory(at("pictures"));
  std::filesystem::create_directory(at("labels"));
  ffmpeg("-i {} -frames:v 2 {}", {clip, scratch / "pictures/p%d.png"});
  ffmpeg("-i {} -frames:v 2 -pix_fmt gray {}", {clip, scratch / "labels/p%d.png"});
  const std::vector<std::string> overwrite = {"--overwrite", "--output-format", "mp4"};
  const auto refused = [&](const std::string& output, std::vector<std::string> more,
                           const std::string& reason) {
    const std::string before = read_file(output);
    more.insert(more.end(), overwrite.begin(), overwrite.end());
    expect_refused(with(clip, output, more), reason);
    more.insert(more.end(), {"--mask-output", output});
    expect_refused(with(clip, scratch / "out.mp4", more), reason);
    EXPECT_EQ(read_file(output), before);
  };
  refused(at("z.yaml"), {"--config", at("z.yaml")}, "z.yaml: the output is the same file as the input");
  refused(at("model.yaml"), {}, "model.yaml: the output is the same file");
  for (const char* read : {"pictures/p2.png", "labels/p1.png"})
    refused(at(read), {"--precision", "auto", "--calibration", at("pictures"), "--labels", at("labels")},
            "is the same file");
  expect_refused({"--list", at("list.txt"), "-o", scratch.path().string(), "--model", model.string(),
                  "--config", at("z.yaml"), "--overwrite"},
                 "clip.mp4");
  std::filesystem::create_symlink("z.yaml", at("link.mp4"));
  refused(at("link.mp4"), {"--config", at("z.yaml")}, "is the same file");
  // Reports too.
  const std::string yaml = read_file(at("model.yaml"));
  const testing::Result bench = testing::run_saccade(
      said.path(), {"bench", model.string(), "--repeats", "1", "--json", at("model.yaml"), "--overwrite"});
  EXPECT_EQ(bench.code, 1);
  EXPECT_EQ(read_file(at("model.yaml")), yaml);
  write_text(at("profile.json"), "{\"effect\": \"blur\"}");
  const testing::Result profile =
      testing::run_saccade(said.path(), {"profile", clip.string(), "-o", scratch.path().string(), "--model",
                                         model.string(), "--config", at("profile.json"), "--overwrite"});
  EXPECT_EQ(profile.code, 1);
  EXPECT_THAT(profile.err, HasSubstr("profile.json: is read by the job"));
  EXPECT_EQ(read_file(at("profile.json")), "{\"effect\": \"blur\"}");
}

TEST_F(RunCommand, OutputsOfOneCommandAreDifferentFiles) {
  const auto at = [&](const std::string& name) { return (scratch / name).string(); };
  std::filesystem::create_symlink("target", at("link"));
  std::filesystem::create_directory(at("p"));
  const auto refused = [&](std::vector<std::string> arguments, const std::string& reason) {
    const auto before = scratch.names();
    arguments.insert(arguments.end(), {"--model", model.string(), "--overwrite"});
    const testing::Result result = testing::run_saccade(said.path(), arguments);
    EXPECT_EQ(result.code, 1) << reason << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_EQ(scratch.names(), before);
  };
  const std::string in = clip.string();
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"x.mkv", "x.mkv"}, {"x.mkv", "p/../x.mkv"}, {"link", "target"}, {"target", "./link"}}) {
    refused({"run", in, "-o", at(a), "--mask-output", at(b), "--output-format", "matroska"},
            "output and mask output are the same file");
    refused({"optimize", in, "-o", at(a), "--page", at(b), "--tuning-budget", "1"},
            "output and page are the same file");
  }
  refused({"optimize", in, "-o", "-", "--page", "/dev/stdout"}, "output and page are both standard output");
  const auto profile = [&](const std::vector<std::string>& more, const std::string& reason) {
    std::vector<std::string> arguments{"profile", in,         "-o", at("p"),        "--effect",
                                       "mask",    "--warmup", "0",  "--no-ceilings"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    refused(arguments, reason);
  };
  for (const std::string name : {"trace.json", "profile.json", "profile.html"}) {
    profile({"--result", name}, "the job's result and the profile's " + name + " are the same file");
    profile({"--mask-output", at("p/../p/" + name)}, "mask output and the profile's " + name);
  }
  profile({"--result", "m.npy", "--mask-output", at("p/m.npy")}, "the job's result and mask output");
  // Nor are settings replaced by those that are found.
  write_text(at("mine.yaml"), "crf: 30\nthreads: 1\n# c\n");
  std::filesystem::create_hard_link(at("mine.yaml"), at("hard.yaml"));
  for (const char* target : {"mine.yaml", "hard.yaml"}) {
    refused({"optimize", in, "--config", at("mine.yaml"), "-o", at(target), "--tuning-budget", "1"},
            "which is read; name another file");
    refused({"optimize", in, "--config", at("mine.yaml"), "-o", at("new.yaml"), "--page", at(target)},
            "which is read; name another file");
  }
  EXPECT_EQ(read_file(at("mine.yaml")), "crf: 30\nthreads: 1\n# c\n");
}

TEST_F(RunCommand, BitsOfMasksThatAreNotWrittenAreRefused) {
  for (const auto& [name, effect] : std::vector<std::pair<const char*, const char*>>{
           {"a.mp4", "blur"}, {"a.mkv", "mask"}, {"a.png", "blur"}})
    for (const char* depth : {"1", "16"}) {
      const auto in = std::string(name) == "a.png" ? scratch / "in.png" : clip;
      if (in != clip && !std::filesystem::exists(in)) ffmpeg("-i {} -frames:v 1 {}", {clip, in});
      expect_refused(with(in, scratch / name, {"--effect", effect, "--mask-depth", depth}), "--mask-output");
    }
  EXPECT_EQ(run(with(clip, scratch / "m.npy", {"--effect", "mask", "--mask-depth", "16"})).code, 0);
  EXPECT_EQ(
      run(with(clip, scratch / "b.mp4",
               {"--effect", "blur", "--mask-depth", "16", "--mask-output", (scratch / "b.mkv").string()}))
          .code,
      0);
  for (const char* refine : {"-1", "-0.5"})
    EXPECT_EQ(run(with(clip, scratch / "c.mp4", {std::string("--refine=") + refine})).code, 2) << refine;
}

TEST_F(RunCommand, AWrongEncoderIsAnsweredWithTheRightOne) {
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "h264"}), "did you mean libx264");
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "x264"}), "did you mean libx264?");
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "nothing"}), "`saccade doctor` lists");
}

TEST_F(RunCommand, UsageErrorsHaveTheirOwnCode) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{},
        {clip.string()},
        {clip.string(), "-o", "x.mp4", "--effect", "explode"},
        {clip.string(), "-o", "x.mp4", "--threshold", "2"},
        {clip.string(), "-o", "x.mp4", "--threshold", "nan"},
        {clip.string(), "-o", "x.mp4", "--crf", "nan"},
        {clip.string(), "-o", "x.mp4", "--crf", "-1"},
        {clip.string(), "-o", "x.mp4", "--stream", "-1"},
        {clip.string(), "-o", "x.mp4", "--frobnicate"},
        {clip.string(), "-o", "x.mp4", "--tile=0", "--model", model.string()},
        {clip.string(), "-o", "x.mp4", "--tile", "auto", "--window", "auto", "--model", model.string()},
        {clip.string(), "-o", "x.mp4", "--window-overlap", "0.99"},
        {clip.string(), "-o", "x.mp4", "--effect", "replace", "--model", model.string()},
        {clip.string(), "-o", "x.mp4", "--background", "red", "--model", model.string()},
        {clip.string(), "-o", "x.mp4", "--threads", "0"}}) {
    const testing::Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("internal")));
    EXPECT_LT(result.err.size(), 400u) << result.err;
  }
}

TEST_F(RunCommand, SearchesThatDoNotTakePlaceAreRefused) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& reason) {
    const auto before = scratch.names();
    const testing::Result result = testing::run_saccade(said.path(), arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_EQ(scratch.names(), before);
  };
  const std::string in = clip.string(), out = (scratch / "out").string(), net = model.string();
  for (const char* several : {"--auto-optimize", "--detect-bottlenecks"}) {
    const std::string reason = several + std::string(" is for one input; of several that run at once");
    refused({"run", in, net, "-o", out, "--model", net, several}, reason);
    refused({"run", scratch.path().string(), "-o", out, "--model", net, several}, reason);
    refused({"run", (scratch / "*.mp4").string(), "-o", out, "--model", net, several}, reason);
  }
  for (const char* bound : {"--tuning-budget", "--target-fps", "--max-latency"}) {
    refused({"run", in, "-o", out + ".mp4", "--model", net, bound, "3"},
            bound + std::string(" has no use without --auto-optimize"));
    refused({"profile", in, "-o", out, "--model", net, bound, "3"}, bound + std::string(" has no use here"));
    refused({"compare", in, "--model", net, "--with", "threads=1", bound, "3"}, "has no use here");
    refused({"evaluate", in, "--model", net, "--labels", out, bound, "3"}, "has no use here");
    EXPECT_EQ(testing::run_saccade(said.path(), {"config", "--show-effective", bound, "3"}).code, 0);
  }
  refused({"profile", in, "-o", out, "--model", net, "--auto-optimize"}, "--auto-optimize has no use here");
  // A file may hold them for optimize.
  write_text(scratch / "all.yaml", "tuning-budget: 3\ntarget-fps: 10\nmax-latency: 100\n");
  const testing::Result result = run(with(clip, out + ".mp4", {"--config", (scratch / "all.yaml").string()}));
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(RunCommand, ConfigFilesThatContradictThemselvesAreRefused) {
  for (const char* text : {"effect: blur\neffect: mask\n", "config: other.yaml\n", "? [a]\n: b\n"}) {
    write_text(scratch / "job.yaml", text);
    const testing::Result result = run(
        {clip.string(), "-o", (scratch / "out.mp4").string(), "--config", (scratch / "job.yaml").string()});
    EXPECT_EQ(result.code, 2) << text << result.err;
    EXPECT_THAT(result.err, HasSubstr("job.yaml"));
    EXPECT_THAT(result.err, Not(HasSubstr("did you mean 'config'")));
  }
}

}  // namespace
}  // namespace saccade
