// `saccade run` as a user meets it: exit codes, what it prints where, what is on the disk afterwards.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "media/clips.h"
#include "run_saccade.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using test::ffmpeg;
using test::frame_times;
using test::packet_hashes;
using test::read_file;
using test::Scratch;
using test::stream_value;
using test::write_text;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct RunCommand : ::testing::Test {
  Scratch scratch, said;  // what the program prints lies apart, so that the first shows only what it makes
  std::filesystem::path clip = scratch / "clip.mp4", model = scratch / "model.onnx";

  void SetUp() override {
    ffmpeg(
        "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -c:a aac "
        "{}",
        {clip});
    testing::write_tiny_network(model);
  }
  testing::Result run(std::vector<std::string> arguments, const std::string& environment = "") {
    arguments.insert(arguments.begin(), "run");
    return testing::run_saccade(said.path(), arguments, environment);
  }
  std::vector<std::string> with(const std::filesystem::path& in, const std::filesystem::path& out,
                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{in.string(), "-o", out.string(), "--model", model.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// Exit code 1, one line on standard error, nothing new in the folder.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& reason,
                      const std::string& environment = "") {
    const auto before = scratch.names();
    const std::string hash = read_file(clip);
    const testing::Result result = run(arguments, environment);
    EXPECT_EQ(result.code, 1) << reason << "\n" << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, ::testing::StartsWith("saccade: "));
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_EQ(scratch.names(), before);
    EXPECT_TRUE(read_file(clip) == hash);
  }
};

TEST_F(RunCommand, OptimizeWritesAFileThatRunTakes) {
  const auto file = scratch / "saccade.yaml", page = scratch / "tried.html", out = scratch / "out.mp4";
  const std::vector<std::string> command{
      "optimize", clip.string(), "-o",     file.string(),     "--model", model.string(),
      "--effect", "blur",        "--page", page.string(),     "--json",  "--threads",
      "1",        "--tokens",    "9",      "--tuning-budget", "3"};
  testing::Result result = testing::run_saccade(said.path(), command);
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  EXPECT_GE(report["trials"].size(), 4u);
  EXPECT_GE(report["speedup"], 1.0);
  const std::string text = read_file(file);
  EXPECT_THAT(text, HasSubstr("effect: blur"));
  EXPECT_THAT(text, Not(HasSubstr("clip.mp4")));
  const std::string html = read_file(page);
  EXPECT_THAT(html, HasSubstr("<h2>Trials</h2>"));
  for (const char* foreign : {"http", "src=", "@import", "url("}) EXPECT_THAT(html, Not(HasSubstr(foreign)));
  if (std::filesystem::exists("/usr/bin/chromium")) {
    const test::CommandResult shown =
        test::run_command({"/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu",
                           "--disable-dev-shm-usage", "--user-data-dir=" + (said / "browser").string(),
                           "--enable-logging=stderr", "--v=0", "--dump-dom", "file://" + page.string()});
    EXPECT_EQ(shown.exit_code, 0) << shown.error;
    EXPECT_THAT(shown.error, Not(HasSubstr("CONSOLE")));
    EXPECT_THAT(shown.out, HasSubstr("<section id=\"trials\">"));
  }
  result = run({clip.string(), "-o", out.string(), "--config", file.string(), "--quiet"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(frame_times(out), frame_times(clip));
  // Nothing that is there is replaced unasked, and nothing else was left.
  result = testing::run_saccade(said.path(), command);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("saccade.yaml: exists already"));
  EXPECT_THAT(scratch.names(),
              ElementsAre("clip.mp4", "model.onnx", "out.mp4", "saccade.yaml", "tried.html"));
  // Links are followed, pipes written into.
  const auto link = scratch / "link.yaml", pipe = scratch / "pipe";
  std::filesystem::create_symlink("behind.yaml", link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ::fcntl(reader, F_SETPIPE_SZ, 1 << 20);
  result = testing::run_saccade(
      said.path(), {"optimize", clip.string(), "-o", link.string(), "--model", model.string(), "--effect",
                    "blur", "--page", pipe.string(), "--quiet", "--tuning-budget", "1"});
  EXPECT_EQ(result.code, 0) << result.err;
  std::string piped(1 << 20, '\0');
  piped.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader, piped.data(), piped.size()))));
  ::close(reader);
  EXPECT_THAT(piped, HasSubstr("<h2>Trials</h2>"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe) && std::filesystem::is_symlink(link));
  EXPECT_THAT(read_file(scratch / "behind.yaml"), HasSubstr("effect: blur"));
  const auto tuned = scratch / "tuned.mp4";
  result = run(with(clip, tuned, {"--auto-optimize", "--tuning-budget", "1"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verdict"));
}

TEST_F(RunCommand, StandardOutputHoldsNothingBesideTheResultOrTheMasks) {
  const std::string y4m = "YUV4MPEG2", matroska = "\x1a\x45\xdf\xa3";
  for (const char* name : {"-", "/dev/stdout"}) {
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--json"}, {"--quiet"}}) {
      std::vector<std::string> arguments = with(clip, scratch / "out.mp4", {"--mask-output", name});
      arguments.insert(arguments.end(), {"--overwrite", "--effect", "blur"});
      arguments.insert(arguments.end(), more.begin(), more.end());
      const testing::Result result = run(arguments);
      ASSERT_EQ(result.code, 0) << result.err;
      const std::string text = result.out.substr(0, 16) + result.out.substr(result.out.size() - 64);
      EXPECT_TRUE(result.out.starts_with(matroska)) << text;
      EXPECT_EQ(result.out.find("frames in"), std::string::npos);
      EXPECT_EQ(result.out.find("\"frames\""), std::string::npos);
      if (!more.empty() && more.front() == "--json") {
        EXPECT_EQ(nlohmann::json::parse(result.err.substr(result.err.find("{\n")))["frames"], 50);
      } else if (more.empty()) {
        EXPECT_THAT(result.err, HasSubstr("50 frames in"));
      }
      write_text(scratch / "piped.mkv", result.out);
      EXPECT_EQ(frame_times(scratch / "piped.mkv").size(), 50u);
    }
  }
  const testing::Result video =
      run(with(clip, "-", {"--effect", "mask", "--output-format", "y4m", "--frames", "3"}));
  ASSERT_EQ(video.code, 0) << video.err;
  EXPECT_TRUE(video.out.starts_with(y4m));
  EXPECT_THAT(video.err, HasSubstr("3 frames in"));
  expect_refused(with(clip, "-", {"--output-format", "mkv", "--mask-output", "/dev/stdout"}),
                 "both standard output");
}

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

TEST_F(RunCommand, RefusesTooLittleMemory) {
  expect_refused(with(clip, scratch / "out.mp4", {"--max-memory", "1K"}), "bytes for weights, activations");
  EXPECT_EQ(run(with(clip, scratch / "out.mp4", {"--max-memory", "much"})).code, 2);
}

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

TEST_F(RunCommand, JsonIsAllThatGoesToStandardOutput) {
  const testing::Result result = run(with(clip, scratch / "out.mp4", {"--json", "--progress", "json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["frames"], 50);
  EXPECT_EQ(summary["interrupted"], false);
  EXPECT_GT(summary["peak_memory_bytes"], 0);
  EXPECT_EQ(summary["output"], (scratch / "out.mp4").string());
  std::vector<std::string> notices = summary["notices"];
  EXPECT_THAT(notices, Contains(HasSubstr("chroma green")));
  // Progress: one object a line on standard error; the last one counts all frames.
  std::istringstream lines(result.err);
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["frames"], 50);
  EXPECT_EQ(last["expected_frames"], 50);
  EXPECT_TRUE(last.contains("fps"));
  EXPECT_TRUE(last.contains("stage"));
}

TEST_F(RunCommand, NamesThatAreNoUtf8AreReplacedInJson) {
  const std::string odd = "a\xff\xc3.mp4", replaced = "a\xef\xbf\xbd\xef\xbf\xbd.mp4";
  const auto in = scratch / odd, odd_model = scratch / "m\xfe.onnx", masks = scratch / "m.json";
  std::filesystem::copy_file(clip, in);
  std::filesystem::copy_file(model, odd_model);
  std::filesystem::create_directory(scratch / "out");
  const std::string out = (scratch / ("out/" + odd)).string(), folder = (scratch / "out").string();
  const std::vector<std::vector<std::string>> commands = {
      {"run", in.string(), "-o", out, "--model", model.string(), "--json"},
      {"run", in.string(), "-o", out, "--model", model.string(), "--json", "--dry-run", "--overwrite"},
      {"run", in.string(), clip.string(), "-o", folder, "--model", odd_model.string(), "--json",
       "--overwrite"},
      {"run", in.string(), (scratch / "no\xff.mp4").string(), clip.string(), "-o", folder, "--model",
       model.string(), "--json", "--dry-run", "--overwrite"},
      {"inspect", odd_model.string(), "--json"},
      {"bench", odd_model.string(), "--repeats", "1", "--json", "-"},
      {"config", "--show-effective", in.string(), "--json"},
      {"cache", "list", "--dir", (scratch / "c\xff").string(), "--json"},
      {"compare", in.string(), "--model", odd_model.string(), "--with", "threads=1", "--no-layers",
       "--json"}};
  std::ofstream(scratch / "no\xff.mp4") << "x";
  for (const std::vector<std::string>& command : commands) {
    const testing::Result result = testing::run_saccade(said.path(), command);
    EXPECT_EQ(result.code, 0) << command[0] << ": " << result.err;
    EXPECT_TRUE(nlohmann::json::accept(result.out)) << command[0] << ": " << result.out;
    if (command[0] == "run") {
      EXPECT_THAT(result.out, HasSubstr(replaced));
    }
  }
  ASSERT_EQ(run({in.string(), "-o", masks.string(), "--model", model.string(), "--effect", "mask"}).code, 0);
  const nlohmann::json written = nlohmann::json::parse(read_file(masks));
  EXPECT_EQ(written["images"][0]["file_name"], replaced);
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

TEST_F(RunCommand, WhatAKilledRunLeftIsRemovedByTheNext) {
  const auto out = scratch / "out.mp4", pictures = scratch / "pictures";
  const auto left_over = [&] {
    std::ptrdiff_t count = 0;
    for (const std::string& name : scratch.names())
      count += name.find(".saccade-") != std::string::npos ? 1 : 0;
    return count;
  };
  const auto begin = [&](const std::vector<std::string>& more) {
    const std::ptrdiff_t before = left_over();
    std::vector<std::string> arguments = {SACCADE_BINARY, "run", "-", "-o"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--model", model.string(), "--effect", "blur"});
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[0], 0);
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[0]);
    const std::string bytes = read_file(scratch / "in.y4m");
    EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    for (int i = 0; i < 600 && left_over() == before; ++i) ::usleep(50'000);
    return std::pair{child, ends[1]};  // the input goes on as long as that is open
  };
  const auto end = [](std::pair<pid_t, int> run, int signal) {
    ::kill(run.first, signal);
    ::waitpid(run.first, nullptr, 0);
    ::close(run.second);
  };
  ffmpeg("-i {} -frames:v 20 {}", {clip, scratch / "in.y4m"});
  for (const int signal : {SIGKILL, SIGQUIT}) {
    end(begin({out.string(), "--overwrite"}), signal);
    EXPECT_EQ(left_over(), 1);
    ASSERT_EQ(run(with(clip, out, {"--effect", "blur", "--overwrite", "--frames", "2"})).code, 0);
    EXPECT_EQ(left_over(), 0);
  }
  for (const char* folder : {"pictures/", "."}) {  // a new folder, and one that is there
    const std::string target =
        std::string(folder) == "." ? scratch.path().string() + "/" : (scratch / folder).string();
    end(begin({target, "--output-format", "png"}), SIGKILL);
    EXPECT_EQ(left_over(), 1);
    ASSERT_EQ(run(with(clip, target, {"--effect", "blur", "--output-format", "png", "--frames", "2"})).code,
              0);
    EXPECT_EQ(left_over(), 0);
  }
  // What somebody is writing stays, and what only looks alike.
  write_text(scratch / ".out.mp4.backup", "mine");
  const auto going_on = begin({out.string(), "--overwrite"});
  EXPECT_EQ(left_over(), 1);
  ASSERT_EQ(run(with(clip, out, {"--effect", "blur", "--overwrite", "--frames", "2"})).code, 0);
  EXPECT_EQ(left_over(), 1);
  end(going_on, SIGKILL);
  EXPECT_EQ(read_file(scratch / ".out.mp4.backup"), "mine");
}

TEST_F(RunCommand, FullDisksAreNoticed) {
  expect_refused(with(clip, "/dev/full"), "No space left on device");
  expect_refused(with(clip, scratch / "out.mp4"), "File too large", "ulimit -f 2;");
  const auto small = said / "small";
  std::filesystem::create_directory(small);
  if (test::run_command({"mount", "-t", "tmpfs", "-o", "size=8k", "none", small.string()}).exit_code == 0) {
    expect_refused(with(clip, small / "out.mp4"), "No space left on device");
    EXPECT_TRUE(std::filesystem::is_empty(small));
    test::run_command({"umount", small.string()});
  }
}

TEST_F(RunCommand, ClosedPipesAreNoticed) {
  const std::string program = SACCADE_BINARY;
  const auto result = test::run_command({"bash", "-c",
                                         "set -o pipefail; \"" + program + "\" run \"" + clip.string() +
                                             "\" -o - --quiet --model \"" + model.string() + "\" | true"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("Broken pipe"));
}

TEST_F(RunCommand, StandardStreamsCarryTheVideo) {
  const testing::Result out = run(with(clip, "-", {"--effect", "blur"}));
  ASSERT_EQ(out.code, 0) << out.err;
  write_text(scratch / "streamed.mkv", out.out);
  EXPECT_EQ(frame_times(scratch / "streamed.mkv").size(), 50u);
  EXPECT_THAT(out.err, HasSubstr("50 frames in "));
  const std::string program = SACCADE_BINARY;
  const auto piped = test::run_command({"bash", "-c",
                                        "cat \"" + (scratch / "streamed.mkv").string() + "\" | \"" + program +
                                            "\" run - -o \"" + (scratch / "out.mkv").string() +
                                            "\" --model \"" + model.string() + "\""});
  EXPECT_EQ(piped.exit_code, 0) << piped.error;
  EXPECT_EQ(frame_times(scratch / "out.mkv"), frame_times(scratch / "streamed.mkv"));
  // Nothing on standard input is an error, not a hang.
  const testing::Result nothing = run(with("-", scratch / "none.mkv"));
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("-: "));
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

TEST_F(RunCommand, AWrongEncoderIsAnsweredWithTheRightOne) {
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "h264"}), "did you mean libx264");
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "x264"}), "did you mean libx264?");
  expect_refused(with(clip, scratch / "a.mp4", {"--encoder", "nothing"}), "`saccade doctor` lists");
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

/// Starts the program, waits until it shows that it works on frames, sends it a signal; returns its exit
/// code.
int interrupt(const std::vector<std::string>& arguments, int signal, bool ignored = false) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (ignored) std::signal(signal, SIG_IGN);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::close(pipe_ends[0]);
    std::vector<char*> argv{const_cast<char*>(SACCADE_BINARY), const_cast<char*>("run")};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execv(SACCADE_BINARY, argv.data());
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string text;
  bool sent = false;
  for (char c; ::read(pipe_ends[0], &c, 1) == 1;) {
    text += c;
    if (!sent && c == '\n' && text.find("\"frames\"") != std::string::npos) {
      ::kill(child, signal);
      sent = true;
    }
  }
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(sent) << text;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
  // What ffmpeg's users write first.
  result = run({clip.string(), (scratch / "o.mp4").string()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("no output is given"));
}

TEST_F(RunCommand, CtrlCKeepsAPlayablePart) {
  const auto longer = scratch / "long.mp4", out = scratch / "out.mp4";
  ffmpeg(
      "-f lavfi -i testsrc2=s=640x360:r=25:d=20 -f lavfi -i sine=d=20 -c:v libx264 -preset ultrafast -c:a "
      "aac {}",
      {longer});
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(scratch / "out.partial.mp4");
    const int code = interrupt(
        with(longer, out, {"--effect", "blur", "--preset", "veryslow", "--progress", "json"}), signal);
    EXPECT_EQ(code, 130);
    EXPECT_FALSE(std::filesystem::exists(out));
    ASSERT_THAT(scratch.names(), ElementsAre("clip.mp4", "long.mp4", "model.onnx", "out.partial.mp4"));
    const auto times = frame_times(scratch / "out.partial.mp4"), all = frame_times(longer);
    EXPECT_GE(times.size(), 1u);
    EXPECT_LT(times.size(), 500u);
    EXPECT_TRUE(std::equal(times.begin(), times.end(), all.begin()));
  }
}

TEST_F(RunCommand, ATerminalThatIsClosedEndsNothingUnderNohup) {
  const auto longer = scratch / "long.mp4", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc2=s=320x180:r=25:d=20 -c:v libx264 -preset ultrafast {}", {longer});
  const std::vector<std::string> arguments = with(longer, out, {"--effect", "blur", "--progress", "json"});
  EXPECT_EQ(interrupt(arguments, SIGHUP, true), 0);
  EXPECT_EQ(frame_times(out).size(), 500u);
  std::filesystem::remove(out);
  EXPECT_EQ(interrupt(arguments, SIGHUP), 130);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(RunCommand, ASignalBeforeTheFirstFrameEndsItInOrderToo) {
  const auto list = scratch / "list", out = scratch / "out";
  ASSERT_EQ(::mkfifo(list.c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
      ::execl(SACCADE_BINARY, SACCADE_BINARY, "run", "--list", list.c_str(), "-o", out.c_str(), "--model",
              model.c_str(), nullptr);
      ::_exit(127);
    }
    // Waits until the program opens its list: it has not looked for the model yet.
    const int fd = ::open(list.c_str(), O_WRONLY);
    ::kill(child, signal);
    // Nothing is written: it must not wait for more of its list.
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(fd);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_THAT(scratch.names(), ElementsAre("clip.mp4", "list", "model.onnx"));
  }
}

}  // namespace
}  // namespace saccade
