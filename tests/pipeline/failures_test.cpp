// Jobs that cannot end well, or are told to stop: nothing is left half done, the input is never touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <string>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

struct Failure : testing::Test {
  Scratch scratch;
  std::filesystem::path in = scratch / "in.mp4";
  std::string original;

  void SetUp() override {
    ffmpeg(
        "-f lavfi -i testsrc2=s=160x120:r=25:d=4 -f lavfi -i sine=d=4 -c:v libx264 -preset ultrafast -c:a "
        "aac {}",
        {in});
    original = read_file(in);
  }
  std::string error_of(const JobOptions& options, ErrorCode code,
                       const pipeline::NetworkFactory& network = bright()) {
    try {
      pipeline::run(options, {}, network);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
  void expect_untouched() {
    EXPECT_TRUE(read_file(in) == original);
    EXPECT_THAT(scratch.names(), ElementsAre("in.mp4"));
  }
};

TEST_F(Failure, X265IsSparedPicturesThatCrashIt) {
  const auto narrow = scratch / "narrow.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=48x80:r=25:d=0.2 -c:v ffv1 {}", {narrow});
  JobOptions options = job(narrow, scratch / "out.mkv", Effect::blur);
  options.encoder = "libx265";
  EXPECT_THAT(error_of(options, ErrorCode::unsupported), HasSubstr("less than 50 pixels' width"));
  std::filesystem::remove(narrow);
  expect_untouched();
}

TEST_F(Failure, ANetworkThatFailsEndsTheJob) {
  std::atomic<int> calls{0};
  const auto failing = fake([&](int x, int y, const float*) -> float {
    if (x == 0 && y == 0 && ++calls == 20) throw Error(ErrorCode::internal, "out of ideas");
    return 1.0f;
  });
  const std::string said = error_of(job(in, scratch / "out.mp4", Effect::blur), ErrorCode::internal, failing);
  EXPECT_THAT(said, HasSubstr("frame "));
  EXPECT_THAT(said, HasSubstr("out of ideas"));
  EXPECT_LT(calls.load(), 40);
  expect_untouched();
}

TEST_F(Failure, AModelThatCannotBeLoadedLeavesNothing) {
  const auto broken = []() -> std::unique_ptr<pipeline::Network> {
    throw Error(ErrorCode::invalid_model, "model.onnx: damaged");
  };
  error_of(job(in, scratch / "out.mp4", Effect::blur), ErrorCode::invalid_model, broken);
  expect_untouched();
}

TEST_F(Failure, FullDeviceIsTold) {
  EXPECT_THAT(error_of(job(in, "/dev/full", Effect::blur), ErrorCode::io),
              HasSubstr("/dev/full: cannot write: No space left on device"));
  expect_untouched();
}

TEST_F(Failure, FileSizeLimitIsToldAndLeavesNothing) {
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  for (const rlim_t bytes : {rlim_t{100}, rlim_t{20'000}}) {
    const rlimit small{bytes, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string said = error_of(job(in, scratch / "out.mp4", Effect::blur), ErrorCode::io);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_THAT(said, HasSubstr("out.mp4: cannot write: File too large"));
    expect_untouched();
  }
  std::signal(SIGXFSZ, previous);
}

TEST_F(Failure, OutputThatIsTheInputIsRefused) {
  JobOptions options = job(in, scratch.path() / "." / "in.mp4", Effect::blur);
  options.overwrite = true;
  EXPECT_THAT(error_of(options, ErrorCode::invalid_argument), HasSubstr("the same file"));
  expect_untouched();
  const auto background = scratch / "back.png";
  ffmpeg("-f lavfi -i color=red:s=16x16 -frames:v 1 {}", {background});
  const std::string png = read_file(background);
  options = job(in, background, Effect::replace);
  options.background = background.string();
  options.overwrite = true;
  EXPECT_THAT(error_of(options, ErrorCode::invalid_argument), HasSubstr("the same file"));
  EXPECT_TRUE(read_file(background) == png);
}

TEST_F(Failure, OutputsThatCannotBeWrittenAreRefused) {
  error_of(job(in, scratch / "no-such-folder/out.mp4", Effect::blur), ErrorCode::not_found);
  error_of(job(in, scratch.path(), Effect::blur), ErrorCode::invalid_argument);
  error_of(job(in, scratch / "out.xyz", Effect::blur), ErrorCode::unsupported);
  error_of(job(in, scratch / "out", Effect::blur), ErrorCode::unsupported);
  expect_untouched();
}

TEST_F(Failure, CancelKeepsWhatIsDoneUnderAnotherName) {
  std::atomic<bool> cancel{false};
  JobCallbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.progress = [&](const JobProgress& progress) {
    if (progress.frames == 30) cancel.store(true);
  };
  const JobReport report = pipeline::run(job(in, scratch / "out.mp4", Effect::blur), callbacks, bright());
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.output, scratch / "out.partial.mp4");
  EXPECT_THAT(scratch.names(), ElementsAre("in.mp4", "out.partial.mp4"));
  const auto times = frame_times(report.output), all = frame_times(in);
  EXPECT_EQ(static_cast<std::int64_t>(times.size()), report.frames);
  EXPECT_GE(times.size(), 30u);
  EXPECT_LT(times.size(), 50u);
  EXPECT_EQ(times,
            std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(times.size())));
  EXPECT_FALSE(packet_hashes(report.output, "a:0").empty());
}

TEST_F(Failure, AnInputThatShrinksIsNoWholeVideo) {
  // Larger than what is read ahead.
  const auto large = scratch / "large.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=320x240:r=25:d=3 -c:v rawvideo {}", {large});
  JobCallbacks callbacks;
  callbacks.progress = [&](const JobProgress& progress) {
    if (progress.frames == 5) std::filesystem::resize_file(large, std::filesystem::file_size(large) / 2);
  };
  try {
    pipeline::run(job(large, scratch / "out.mp4", Effect::blur), callbacks, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io) << e.what();
    EXPECT_THAT(e.what(), HasSubstr("became shorter while it was read"));
  }
  EXPECT_THAT(scratch.names(), ElementsAre("in.mp4", "large.mkv"));
}

TEST_F(Failure, AnInputWhoseNameVanishesIsReadToItsEnd) {
  JobCallbacks callbacks;
  callbacks.progress = [&](const JobProgress& progress) {
    if (progress.frames == 5) std::filesystem::remove(in);
  };
  EXPECT_EQ(pipeline::run(job(in, scratch / "out.mp4", Effect::blur), callbacks, bright()).frames, 100);
}

TEST_F(Failure, CancelBeforeTheFirstFrameLeavesNothing) {
  std::atomic<bool> cancel{true};
  JobCallbacks callbacks;
  callbacks.cancel = &cancel;
  try {
    pipeline::run(job(in, scratch / "out.mp4", Effect::blur), callbacks, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::interrupted) << e.what();
  }
  expect_untouched();
}

TEST_F(Failure, JobsLeaveNoTraceInOneAnother) {
  const auto alone = scratch / "alone.mkv", after = scratch / "after.mkv", other = scratch / "other.mkv",
             small = scratch / "small.mkv";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -c:v ffv1 {}", {small});
  JobOptions options = job(small, alone, Effect::blur);
  options.encoder = "ffv1";
  pipeline::run(options, {}, bright());
  pipeline::run(job(in, other, Effect::blur), {}, bright());
  options.output = after;
  pipeline::run(options, {}, bright());
  EXPECT_TRUE(raw_frames(alone, "yuv444p") == raw_frames(after, "yuv444p"));
}

}  // namespace
}  // namespace saccade
