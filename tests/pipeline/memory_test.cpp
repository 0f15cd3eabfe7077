// What videos take of memory, what a bound makes of it, and what happens where memory runs out all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "fake_network.h"
#include "media/clips.h"
#include "pipeline/memory_plan.h"

namespace saccade {
namespace {

using namespace test;
using pipeline::Concurrency;
using pipeline::MemoryNeeds;
using testing::HasSubstr;

MemoryNeeds needs() {
  MemoryNeeds needs;
  needs.before = 1000;
  needs.arena = 100;
  needs.thread_scratch = 10;
  needs.frame = 20;
  needs.coders = 50;
  needs.threads = 8;
  return needs;
}

TEST(MemoryPlan, AddsUp) {
  const MemoryReport report = needs().with({4, 6});
  EXPECT_EQ(report.context_bytes, 100 + 2 * 10);  // two threads for each picture
  EXPECT_EQ(report.total(), 1000 + 4 * 120 + 6 * 20 + 50);
}

TEST(MemoryPlan, FitsWhatIsWantedAndNeverMore) {
  const Concurrency wanted{8, 10};
  const std::int64_t all = needs().with(wanted).total(), least = needs().with({1, 1}).total();
  std::int64_t last = 0;
  for (std::int64_t bound = least; bound <= all + 5; ++bound) {
    const Concurrency fitting = fit_concurrency(needs(), wanted, bound);
    ASSERT_LE(needs().with(fitting).total(), bound);
    ASSERT_GE(fitting.tokens, fitting.streams);
    ASSERT_GE(fitting.streams, last);  // more memory, no fewer pictures
    last = fitting.streams;
  }
  EXPECT_EQ(last, 8);
  EXPECT_EQ(fit_concurrency(needs(), wanted, all).tokens, 10);
  try {
    fit_concurrency(needs(), wanted, least - 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::limit);
    EXPECT_THAT(e.what(), HasSubstr("one picture at a time"));
  }
}

TEST(MemoryPlan, SlowPresetsHoldMorePictures) {
  EXPECT_EQ(pipeline::encoder_pictures("", "", 4), 0);
  EXPECT_GT(pipeline::encoder_pictures("libx264", "slow", 4), pipeline::encoder_pictures("libx264", "", 4));
  EXPECT_EQ(pipeline::encoder_pictures("libx264", "", 4),
            pipeline::encoder_pictures("libx264", "veryfast", 4));
}

/// Memory that holds so many runs at a time.
struct Room {
  std::atomic<int> runs{0}, most{0}, refused{0};
  int room = 1;
};

class TightNetwork : public FakeNetwork {
 public:
  TightNetwork(Room& room, bool fails_at_work)
      : FakeNetwork(32, 32, [](int, int, const float*) { return 1.0f; }),
        room_(room),
        fails_at_work_(fails_at_work) {}

  std::unique_ptr<pipeline::NetworkRun> make_run(int threads) const override {
    if (!fails_at_work_ && room_.runs.load() >= room_.room) {
      ++room_.refused;
      throw std::bad_alloc();
    }
    return std::make_unique<Run>(room_, fails_at_work_, FakeNetwork::make_run(threads));
  }

 private:
  class Run : public pipeline::NetworkRun {
   public:
    Run(Room& room, bool fails_at_work, std::unique_ptr<NetworkRun> inner)
        : room_(room), fails_at_work_(fails_at_work), inner_(std::move(inner)) {
      const int now = ++room_.runs;
      int most = room_.most;
      while (now > most && !room_.most.compare_exchange_weak(most, now)) continue;
    }
    ~Run() override { --room_.runs; }
    float* input() override { return inner_->input(); }
    const void* run() override {
      if (fails_at_work_ && (room_.runs.load() > room_.room || room_.room == 0)) {
        ++room_.refused;
        throw std::bad_alloc();
      }
      return inner_->run();
    }

   private:
    Room& room_;
    bool fails_at_work_;
    std::unique_ptr<NetworkRun> inner_;
  };

  Room& room_;
  bool fails_at_work_;
};

struct ClipInMemory : testing::Test {
  Scratch scratch;
  std::filesystem::path clip = scratch / "in.mkv", out = scratch / "out.mkv", usual = scratch / "usual.mkv";

  void SetUp() override { ffmpeg("-f lavfi -i testsrc2=s=160x120:r=25:d=2 -c:v ffv1 {}", {clip}); }
  JobOptions options(const std::filesystem::path& output) const {
    JobOptions options = job(clip, output, Effect::blur);
    options.threads = 8;
    options.encoder = "ffv1";
    return options;
  }
};

struct TightMemory : ClipInMemory, testing::WithParamInterface<bool> {};

TEST_P(TightMemory, AJobGoesOnWithFewerPicturesAtOnce) {
  Room room;
  room.room = 2;
  const JobReport report = pipeline::run(options(out), {}, [&]() -> std::unique_ptr<pipeline::Network> {
    return std::make_unique<TightNetwork>(room, GetParam());
  });
  EXPECT_EQ(report.frames, 50);
  const JobReport plain = pipeline::run(options(usual), {}, everything());
  EXPECT_EQ(plain.frames, 50);
  EXPECT_EQ(packet_hashes(out, "v:0"), packet_hashes(usual, "v:0"));
  if (room.refused > 0) {  // there were ever more than two at once
    EXPECT_THAT(report.notices, testing::Contains(HasSubstr("memory ran out")));
  }
}

TEST_P(TightMemory, EndsWhereNotEvenOneFits) {
  Room room;
  room.room = 0;
  try {
    pipeline::run(options(out), {}, [&]() -> std::unique_ptr<pipeline::Network> {
      return std::make_unique<TightNetwork>(room, GetParam());
    });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::limit) << e.what();
    EXPECT_THAT(e.what(), HasSubstr("out of memory with one picture at a time"));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

INSTANTIATE_TEST_SUITE_P(When, TightMemory, testing::Bool(),
                         [](const auto& about) { return about.param ? "AtWork" : "WhenMade"; });

TEST_F(ClipInMemory, ABoundOfTheProcessMeansFewerPicturesAtOnce) {
  JobOptions bounded = options(out);
  JobReport report = pipeline::run(bounded, {}, everything());
  EXPECT_EQ(report.memory.contexts, 8);
  EXPECT_EQ(report.memory.frames, 10);
  EXPECT_GT(report.memory.before, 0);
  EXPECT_GT(report.memory.frame_bytes, 160 * 120);
  bounded.overwrite = true;
  bounded.max_process_memory = 1000;
  EXPECT_THROW(pipeline::run(bounded, {}, everything()), Error);
  EXPECT_TRUE(std::filesystem::exists(out));
  bounded.max_process_memory = std::int64_t{1} << 50;
  EXPECT_EQ(pipeline::run(bounded, {}, everything()).memory.contexts, 8);
}

}  // namespace
}  // namespace saccade
