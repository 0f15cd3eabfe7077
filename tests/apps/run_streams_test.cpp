// What `saccade run` writes where: standard streams, JSON, full and closed targets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "media/clips.h"
#include "run_command.h"

namespace saccade {
namespace {

using test::frame_times;
using test::read_file;
using test::RunCommand;
using test::write_text;
using ::testing::Contains;
using ::testing::HasSubstr;

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

TEST_F(RunCommand, StandardStreamsCarryTheVideo) {
  const testing::Result out = run(with(clip, "-", {"--effect", "blur"}));
  ASSERT_EQ(out.code, 0) << out.err;
  write_text(scratch / "streamed.mkv", out.out);
  EXPECT_EQ(frame_times(scratch / "streamed.mkv").size(), 50u);
  EXPECT_THAT(out.err, HasSubstr("50 frames in "));
  const std::string program = SACCADE_BINARY;
  const auto piped = test::run_command(
      {"bash", "-c",
       "cat \"" + (scratch / "streamed.mkv").string() + "\" | SACCADE_PLAN_CACHE=off \"" + program +
           "\" run - -o \"" + (scratch / "out.mkv").string() + "\" --model \"" + model.string() + "\""});
  EXPECT_EQ(piped.exit_code, 0) << piped.error;
  EXPECT_EQ(frame_times(scratch / "out.mkv"), frame_times(scratch / "streamed.mkv"));
  // Nothing on standard input is an error, not a hang.
  const testing::Result nothing = run(with("-", scratch / "none.mkv"));
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("-: "));
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
  for (const char* made : {"out", "c\xff"}) std::filesystem::create_directory(scratch / made);
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
  const auto result =
      test::run_command({"bash", "-c",
                         "set -o pipefail; SACCADE_PLAN_CACHE=off \"" + program + "\" run \"" +
                             clip.string() + "\" -o - --quiet --model \"" + model.string() + "\" | true"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("Broken pipe"));
}

TEST_F(RunCommand, TextThatNobodyReadsOnEndsQuietly) {
  const std::string program = "\"" SACCADE_BINARY "\" ";
  const auto piped = [&](const std::string& command, const std::string& into) {
    return test::run_command({"bash", "-c",
                              "set -o pipefail; cd \"" + scratch.path().string() + "\"; { sleep 0.2; " +
                                  program + command + "; } " + into});
  };
  for (const char* command :
       {"run --help", "profile --help", "optimize --help", "--help", "--version", "config --schema",
        "run clip.mp4 -o out.mp4 --overwrite --progress none --model model.onnx",
        "run clip.mp4 -o out.mp4 --overwrite --progress none --model model.onnx --json"}) {
    const auto closed = piped(command, "| true");
    EXPECT_EQ(closed.exit_code, 128 + SIGPIPE) << command;
    EXPECT_EQ(closed.error, "") << command;
    // A full disk is worth a message.
    const auto full = piped(command, "> /dev/full");
    EXPECT_EQ(full.exit_code, 1) << command;
    EXPECT_EQ(full.error, "saccade: cannot write to standard output\n") << command;
  }
  EXPECT_EQ(frame_times(scratch / "out.mp4").size(), 50u);
}

}  // namespace
}  // namespace saccade
