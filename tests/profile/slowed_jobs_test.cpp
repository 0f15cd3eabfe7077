// Real jobs, each made slow by one cause, several times slower than the rest: the verdict names the cause,
// and without the cause they really are faster. Nothing is timed in absolute terms.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "media/clips.h"
#include "pipeline/fake_network.h"
#include "profile/verdict.h"
#include "trace/stage_clock.h"

namespace saccade {
namespace {

using namespace test;
using pipeline::Measurements;

void burn(std::chrono::milliseconds time) {
  const auto end = trace::thread_cpu_time() + time;
  while (trace::thread_cpu_time() < end) continue;
}

/// Networks that take time once a frame: at their first pixel.
pipeline::NetworkFactory burning(int ms) {
  return fake([ms](int x, int y, const float*) {
    if (x == 0 && y == 0) burn(std::chrono::milliseconds(ms));
    return 1.0f;
  });
}
pipeline::NetworkFactory sleeping(int ms) {
  return fake([ms](int x, int y, const float*) {
    if (x == 0 && y == 0) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return 1.0f;
  });
}

struct Judged {
  JobReport report;
  Measurements measured;
  BottleneckReport verdict;
};

Judged judged(JobOptions options, const pipeline::NetworkFactory& network) {
  options.detect_bottlenecks = true;
  options.overwrite = true;
  Judged result;
  result.report = pipeline::run(options, {}, network, &result.measured);
  profile::Trials trials;
  trials.encode = result.measured.encode_trial;
  result.verdict = profile::judge(options, result.measured, {}, trials);
  return result;
}

/// What the same job would have measured with the machine to itself: tests run beside others.
Measurements alone(Measurements m) {
  double used = m.encoder_cpu;
  for (pipeline::StageTime* stage :
       {&m.decode, &m.convert, &m.preprocess, &m.infer, &m.mask, &m.composite, &m.prepare, &m.encode}) {
    stage->wall = stage->cpu;
    stage->delay = 0;
    used += stage->cpu;
  }
  m.seconds = used / std::min(m.threads, m.cpus);
  m.drain = 0;
  m.own_cpus = std::min(m.threads, m.cpus);
  m.idle_cpus = m.cpus - m.own_cpus;
  return m;
}

class SlowedJob : public ::testing::Test {
 protected:
  SlowedJob() {
    ffmpeg("-f lavfi -i testsrc2=s=320x240:r=25:d=2.4 -c:v libx264 -preset ultrafast -g 10 {}", {clip});
  }
  Scratch scratch;
  std::filesystem::path clip = scratch / "in.mkv", out = scratch / "out.mp4";
};

TEST_F(SlowedJob, ByANetworkThatComputes) {
  const Judged slow = judged(job(clip, out, Effect::mask), burning(40));
  const BottleneckReport verdict = profile::judge({}, alone(slow.measured));
  EXPECT_EQ(verdict.stage, "infer") << verdict.text;
  EXPECT_EQ(verdict.cause, "compute-bound");
  EXPECT_GT(verdict.speedup_if_free, 2);
  // Bypassed, as the verdict says.
  const Judged fast = judged(job(clip, out, Effect::mask), burning(0));
  EXPECT_GT(fast.report.frames_per_second, 2 * slow.report.frames_per_second);
}

TEST_F(SlowedJob, ByANetworkThatWaits) {
  const Judged slow = judged(job(clip, out, Effect::mask), sleeping(100));
  EXPECT_EQ(slow.verdict.stage, "infer") << slow.verdict.text;
  EXPECT_EQ(slow.verdict.cause, "waiting") << slow.verdict.text;
  EXPECT_GT(slow.verdict.speedup_if_free, 2);
}

TEST_F(SlowedJob, ByTheEncodersPreset) {
  JobOptions options = job(clip, out, Effect::mask);
  options.effect = Effect::overlay;
  options.preset = "veryslow";
  const Judged slow = judged(options, nothing());
  ASSERT_TRUE(slow.measured.encode_trial);
  const BottleneckReport verdict = profile::judge(options, alone(slow.measured), {},
                                                  {.encode = slow.measured.encode_trial,
                                                   .encode_speedup = {},
                                                   .infer_without_cap = {},
                                                   .infer_bf16 = {},
                                                   .infer_one_window = {},
                                                   .infer_alone = {},
                                                   .crowding = {}});
  EXPECT_EQ(verdict.cause, "encoder-preset") << verdict.text;
  EXPECT_EQ(verdict.stage, "encode");
  ASSERT_FALSE(verdict.suggestions.empty());
  EXPECT_EQ(verdict.suggestions[0].setting, "--preset veryfast");
  EXPECT_GT(verdict.suggestions[0].speedup, 1.5);
  options.preset = "veryfast";
  const Judged fast = judged(options, nothing());
  // An encoder's threads do not get in each other's way so much that fewer were better.
  ASSERT_TRUE(slow.measured.encode_speedup);
  const std::optional<double> speedup = slow.measured.encode_speedup(0);
  ASSERT_TRUE(speedup);
  EXPECT_GT(*speedup, 0);
  EXPECT_GT(slow.measured.encoder_cpu, 2 * fast.measured.encoder_cpu);
  EXPECT_NE(fast.verdict.cause, "encoder-preset");
}

TEST_F(SlowedJob, ByTooFewThreads) {
  JobOptions options = job(clip, out, Effect::mask);
  options.threads = 1;
  Judged slow = judged(options, burning(20));
  slow.measured.cpus = 4;  // whatever this machine has
  const BottleneckReport verdict = profile::judge(options, alone(slow.measured));
  EXPECT_EQ(verdict.cause, "few-threads") << verdict.text;
  EXPECT_EQ(verdict.stage, "schedule");
  EXPECT_EQ(verdict.suggestions.at(0).setting, "--threads 4");
  EXPECT_GT(verdict.suggestions.at(0).speedup, 2);
}

TEST_F(SlowedJob, ByTooFewFramesUnderWay) {
  JobOptions options = job(clip, out, Effect::mask);
  options.threads = 2;
  options.tokens = 1;
  Judged slow = judged(options, burning(20));
  slow.measured.cpus = 4;
  slow.measured.threads = slow.measured.streams = slow.measured.lanes = 4;
  const BottleneckReport verdict = profile::judge(options, alone(slow.measured));
  EXPECT_EQ(verdict.cause, "few-frames-under-way") << verdict.text;
  EXPECT_EQ(verdict.suggestions.at(0).setting, "--tokens 6");
  EXPECT_GT(verdict.suggestions.at(0).speedup, 2);
}

TEST_F(SlowedJob, ByASourceThatIsWaitedFor) {
  const auto fifo = scratch / "pipe.mkv";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string bytes = read_file(clip);
  std::thread writer([&] {
    const int file = ::open(fifo.c_str(), O_WRONLY);
    const std::size_t piece = bytes.size() / 40 + 1;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::size_t size = std::min(piece, bytes.size() - at);
      if (::write(file, bytes.data() + at, size) != static_cast<ssize_t>(size)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ::close(file);
  });
  const Judged slow = judged(job(fifo, out, Effect::mask), everything());
  writer.join();
  EXPECT_EQ(slow.report.frames, 60);
  EXPECT_EQ(slow.verdict.cause, "slow-input") << slow.verdict.text;
  EXPECT_EQ(slow.verdict.stage, "read");
  ASSERT_FALSE(slow.verdict.suggestions.empty());
  EXPECT_GT(slow.verdict.suggestions[0].speedup, 2);
}

TEST_F(SlowedJob, ByAPictureForEachFrame) {
  ffmpeg(
      "-f lavfi -i nullsrc=s=640x480:r=25:d=1.2 -vf geq=random(1)*255:128:128 -c:v libx264 -preset ultrafast "
      "{}",
      {scratch / "noise.mkv"});
  JobOptions options = job(scratch / "noise.mkv", scratch / "pictures", Effect::overlay);
  std::filesystem::create_directory(options.output);
  options.output_format = "png";
  const Judged slow = judged(options, nothing());
  const BottleneckReport verdict = profile::judge(options, alone(slow.measured));
  EXPECT_EQ(verdict.cause, "picture-output") << verdict.text;
  EXPECT_EQ(verdict.stage, "pictures");
  EXPECT_GT(verdict.speedup_if_free, 2);
}

}  // namespace
}  // namespace saccade
