// `saccade optimize` as a user meets it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "media/clips.h"
#include "run_command.h"

namespace saccade {
namespace {

using test::frame_times;
using test::read_file;
using test::RunCommand;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(RunCommand, WhatTrialsCannotReadAgainIsRefusedBeforeThem) {
  const auto at = [&](const char* name) { return (scratch / name).string(); };
  test::ffmpeg("-i {} -frames:v 1 {}", {clip, at("picture.png")});
  test::ffmpeg("-i {} -frames:v 1 {}", {clip, at("one.gif")});
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const char* folder : {"videos", "pictures"}) std::filesystem::create_directory(at(folder));
  std::filesystem::copy_file(clip, at("videos/a.mp4"));
  test::ffmpeg("-i {} -frames:v 3 {}", {clip, at("pictures/p%d.png")});
  const auto before = scratch.names();
  for (const auto& [input, reason, code] : std::vector<std::tuple<std::string, const char*, int>>{
           {at("picture.png"), "picture.png: is a single picture", 1},
           {at("one.gif"), "one.gif: is a single picture", 1},
           {"-", "-: is a pipe, which cannot be read again", 1},
           {at("pipe"), "pipe: is a pipe, which cannot be read again", 1},
           {"/dev/null", "/dev/null: is a device", 1},
           {"rtsp://localhost/x", "is an address", 1},
           {at("pictures"), "pictures: stands for several files", 1},
           {at("pictures/p%d.png"), "stands for several files", 1},
           {at("videos"), "settings are looked for on one video", 2},
           {at("none.mp4"), "none.mp4: no such file", 1}}) {
    const testing::Result result =
        testing::run_saccade(said.path(), {"optimize", input, "-o", at("x.yaml"), "--model", model.string()});
    EXPECT_EQ(result.code, code) << input << result.err;
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_THAT(result.err, Not(HasSubstr("trial.")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(scratch.names(), before);
  }
  expect_refused(with("-", at("out.mp4"), {"--auto-optimize"}), "cannot be read again");
  expect_refused(with(at("picture.png"), at("out.png"), {"--auto-optimize"}), "is a single picture");
}

}  // namespace
}  // namespace saccade
