// `saccade run` when it is interrupted or killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "media/clips.h"
#include "run_command.h"

namespace saccade {
namespace {

using test::ffmpeg;
using test::frame_times;
using test::read_file;
using test::RunCommand;
using test::write_text;
using ::testing::ElementsAre;

/// `saccade run` with these arguments, without a word.
pid_t start_silent(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("SACCADE_PLAN_CACHE", "off", 1);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  std::vector<char*> argv{const_cast<char*>(SACCADE_BINARY), const_cast<char*>("run")};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execv(SACCADE_BINARY, argv.data());
  ::_exit(127);
}

/// Starts the program, waits until it shows that it works on frames, sends it a signal; returns its exit
/// code.
int interrupt(const std::vector<std::string>& arguments, int signal, bool ignored = false) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SACCADE_PLAN_CACHE", "off", 1);
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
    const pid_t child =
        start_silent({"--list", list.string(), "-o", out.string(), "--model", model.string()});
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

TEST_F(RunCommand, ASignalEndsTheWaitForTheOtherSideOfAPipe) {
  const auto pipe = scratch / "pipe.mkv", out = scratch / "out.mkv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& arguments :
       {with(clip, pipe), with(clip, out, {"--mask-output", pipe.string()}), with(pipe, out)}) {
    const pid_t child = start_silent(arguments);
    ::usleep(700'000);
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_THAT(scratch.names(), ElementsAre("clip.mp4", "model.onnx", "pipe.mkv"));
  }
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
      ::setenv("SACCADE_PLAN_CACHE", "off", 1);
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

}  // namespace
}  // namespace saccade
