// Many files: what they become, and that one does not harm another.
#include "pipeline/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct Batch : testing::Test {
  Scratch scratch;
  std::filesystem::path in = scratch / "in", out = scratch / "out";

  void SetUp() override { std::filesystem::create_directories(in / "sub" / "deep"); }
  void video(const std::string& name) {
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -c:v libx264 -preset ultrafast {}", {in / name});
  }
  void picture(const std::string& name) {
    ffmpeg("-f lavfi -i testsrc2=s=64x48 -frames:v 1 {}", {in / name});
  }
  BatchOptions options(const std::vector<std::filesystem::path>& inputs) const {
    BatchOptions o;
    o.inputs = inputs;
    o.output = out;
    o.job.effect = Effect::blur;
    return o;
  }
  std::vector<std::string> planned(const BatchOptions& o) const {
    std::vector<std::string> names;
    for (const BatchItem& item : plan_batch(o)) names.push_back(item.output.lexically_relative(out).string());
    return names;
  }
  std::string refused(const BatchOptions& o) const {
    try {
      pipeline::run_batch(o, {}, bright());
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(Batch, FoldersPatternsAndNamesStandForFiles) {
  for (const char* name : {"b.mp4", "a.JPG", "c.png", "d.bmp", "notes.txt", ".hidden.mp4", "x.wmv"})
    write_text(in / name, "?");
  write_text(in / "sub" / "e.mkv", "?");
  write_text(in / "sub" / "deep" / "a.jpg", "?");
  BatchOptions o = options({in});
  EXPECT_THAT(planned(o), ElementsAre("a.JPG", "b.mp4", "c.png", "d.png", "x.mp4"));
  o.recursive = true;
  EXPECT_THAT(planned(o),
              ElementsAre("a.JPG", "b.mp4", "c.png", "d.png", "x.mp4", "sub/e.mkv", "sub/deep/a.jpg"));
  EXPECT_THAT(planned(options({in / "*.p?g", in / "b.mp4", in / "./b.mp4"})), ElementsAre("c.png", "b.mp4"));
  o = options({in / "a.JPG"});
  o.job.effect = Effect::remove;  // needs transparency
  EXPECT_THAT(planned(o), ElementsAre("a.png"));
  // A name that exists is no pattern.
  write_text(in / "[ab].mp4", "?");
  EXPECT_THAT(planned(options({in / "[ab].mp4"})), ElementsAre("[ab].mp4"));
}

TEST_F(Batch, NamesFollowTheContentAndTheFormatAskedFor) {
  picture("one.gif");
  picture("photo.jpg");
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=10:d=0.3 {}", {in / "many.gif"});
  video("clip.mkv");
  const auto results = [&](const char* format) {
    std::filesystem::remove_all(out);
    BatchOptions o = options({in});
    o.job.output_format = format;
    if (*format == '\0') o.job.mask_output = scratch / "masks";
    const BatchReport report = pipeline::run_batch(o, {}, bright());
    for (const BatchResult& result : report.results)
      EXPECT_EQ(result.state, BatchResult::State::done)
          << result.item.input << ": " << (result.error ? result.error->what() : "");
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      if (entry.is_regular_file())
        files.push_back(entry.path().lexically_relative(out).string() + " " +
                        stream_value(entry.path(), "v:0", "codec_name"));
    }
    std::sort(files.begin(), files.end());
    return files;
  };
  EXPECT_THAT(results(""), ElementsAre("clip.mkv h264", "many.mp4 h264", "one.png png", "photo.jpg mjpeg"));
  EXPECT_THAT(std::filesystem::exists(scratch / "masks" / "one.png"), true);
  EXPECT_THAT(results("tiff"),
              testing::AllOf(testing::Contains("one.tiff tiff"), testing::Contains("photo.tiff tiff"),
                             testing::Contains("clip/clip_000010.tiff tiff"),
                             testing::Contains("many/many_000003.tiff tiff"), testing::SizeIs(2 + 10 + 3)));
  EXPECT_THAT(results("webp"),
              ElementsAre("clip.webp webp", "many.webp webp", "one.webp webp", "photo.webp webp"));
}

TEST_F(Batch, WhatWouldEndBadlyIsRefusedBeforeTheFirst) {
  for (const char* name : {"a.png", "a.bmp", "b.mp4"}) write_text(in / name, "?");
  write_text(in / "sub" / "b.mp4", "?");
  EXPECT_THAT(refused(options({in})), HasSubstr("would both be written to"));
  EXPECT_THAT(refused(options({in / "b.mp4", in / "sub" / "b.mp4"})), HasSubstr("would both be written to"));
  EXPECT_THAT(refused(options({in / "none.mp4", in / "b.mp4"})), HasSubstr("No such file"));
  EXPECT_THAT(refused(options({in / "*.webm"})), HasSubstr("no video or picture has a name of this form"));
  EXPECT_THAT(refused(options({in / "sub" / "deep"})), HasSubstr("holds no videos or pictures"));
  BatchOptions o = options({in / "b.mp4", in / "a.png"});
  o.output = in;
  o.job.overwrite = true;
  EXPECT_THAT(refused(o), HasSubstr("would replace the input"));
  o.output = in / "b.mp4";
  EXPECT_THAT(refused(o), HasSubstr("is no folder"));
  o.output = scratch / "result.mp4";
  EXPECT_THAT(refused(o), HasSubstr("is the name of a file"));
  EXPECT_FALSE(std::filesystem::exists(o.output));
  o = options({in / "b.mp4", in / "a.png"});
  o.job.mask_output = out;
  EXPECT_THAT(refused(o), HasSubstr("need folders of their own"));
  o.job.mask_output = scratch / "masks.mkv";
  EXPECT_THAT(refused(o), HasSubstr("is the name of a file"));
  std::filesystem::create_directories(out);
  write_text(out / "b.mp4", "mine");
  EXPECT_THAT(refused(options({in / "b.mp4", in / "a.png"})), HasSubstr("exists already"));
  o = options({in / "b.mp4"});
  o.job.overwrite = true;
  o.job.effect = Effect::replace;
  o.job.background = (out / "b.mp4").string();
  EXPECT_THAT(refused(o), HasSubstr("same file"));
  EXPECT_EQ(read_file(out / "b.mp4"), "mine");
}

TEST_F(Batch, OneThatFailsDoesNotStopTheOthers) {
  video("a.mp4");
  video("sub/a.mp4");
  picture("b.png");
  picture("c.jpg");
  write_text(in / "bad.mp4", "no video");
  write_text(in / "empty.png", "");
  for (const int jobs : {1, 3}) {
    std::filesystem::remove_all(out);
    BatchOptions o = options({in});
    o.recursive = true;
    o.jobs = jobs;
    o.job.threads = 2;
    std::vector<std::size_t> counts;
    BatchCallbacks callbacks;
    callbacks.ended = [&](const BatchResult&, std::size_t ended, std::size_t all) {
      counts.push_back(ended);
      EXPECT_EQ(all, 6u);
    };
    const BatchReport report = pipeline::run_batch(o, callbacks, bright());
    EXPECT_THAT(counts, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(report.done, 4u);
    EXPECT_EQ(report.failed, 2u);
    EXPECT_EQ(report.frames, 22);
    EXPECT_FALSE(report.interrupted);
    for (const BatchResult& result : report.results) {
      const std::string name = result.item.input.filename().string();
      const bool bad = name == "bad.mp4" || name == "empty.png";
      EXPECT_EQ(result.state, bad ? BatchResult::State::failed : BatchResult::State::done) << name;
      ASSERT_EQ(result.error.has_value(), bad) << name;
      if (bad) {
        EXPECT_THAT(result.error->what(), HasSubstr(name));
      }
      EXPECT_EQ(std::filesystem::exists(result.item.output), !bad) << name;
    }
    EXPECT_EQ(frame_times(out / "sub" / "a.mp4"), frame_times(in / "sub" / "a.mp4"));
  }
}

TEST_F(Batch, MasksGoToAFolderOfTheirOwn) {
  video("a.mp4");
  video("sub/a.mp4");
  picture("b.jpg");
  BatchOptions o = options({in});
  o.recursive = true;
  o.job.mask_output = scratch / "masks";
  EXPECT_EQ(pipeline::run_batch(o, {}, bright()).done, 3u);
  for (const char* name : {"a", "sub/a"}) {
    EXPECT_EQ(frame_times(scratch / "masks" / (std::string(name) + ".mkv")).size(), 10u) << name;
    EXPECT_EQ(stream_value(scratch / "masks" / (std::string(name) + ".mkv"), "v:0", "pix_fmt"), "gray");
  }
  const auto single = scratch / "single.png";
  JobOptions one = job(in / "b.jpg", scratch / "single.jpg", Effect::blur);
  one.mask_output = single;
  pipeline::run(one, {}, bright());
  EXPECT_TRUE(read_file(scratch / "masks" / "b.png") == read_file(single));
  EXPECT_THAT(refused(o), HasSubstr("exists already"));
  std::filesystem::remove_all(out);
  EXPECT_THAT(refused(o), HasSubstr("masks/a.mkv: exists already"));
  std::filesystem::remove_all(scratch / "masks");
  o.job.resume = true;
  EXPECT_EQ(pipeline::run_batch(o, {}, bright()).done, 3u);
  EXPECT_EQ(pipeline::run_batch(o, {}, bright()).skipped, 3u);
  // Never over an input.
  picture("c.png");
  o = options({in / "a.mp4", in / "b.jpg", in / "c.png"});
  o.job.mask_output = in;
  o.job.overwrite = true;
  EXPECT_THAT(refused(o), HasSubstr("would replace the input"));
}

TEST_F(Batch, ResultsAreThoseOfSingleJobs) {
  video("a.mkv");
  video("b.mp4");
  picture("c.png");
  BatchOptions o = options({in});
  o.jobs = 3;
  o.job.threads = 3;
  pipeline::run_batch(o, {}, bright());
  for (const char* name : {"a.mkv", "b.mp4", "c.png"}) {
    JobOptions single = job(in / name, scratch / name, Effect::blur);
    single.threads = 1;
    pipeline::run(single, {}, bright());
    EXPECT_TRUE(read_file(scratch / name) == read_file(out / name)) << name;
  }
}

TEST_F(Batch, TheBudgetOfMemoryBoundsHowManyRunAtOnce) {
  for (int i = 0; i < 6; ++i) picture("p" + std::to_string(i) + ".png");
  std::atomic<int> running{0}, most{0};
  const auto counting = fake([&](int x, int y, const float*) {
    if (x == 0 && y == 0) {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (x == 31 && y == 31) --running;
    return 1.0f;
  });
  BatchOptions o = options({in});
  o.jobs = 6;
  o.job.threads = 6;
  o.max_memory = 1;  // too little for one: one at a time
  EXPECT_EQ(pipeline::run_batch(o, {}, counting).done, 6u);
  EXPECT_EQ(most, 1);
}

TEST_F(Batch, CancelEndsItAndResumeGoesOn) {
  for (const char* name : {"a.png", "b.png", "c.png"}) picture(name);
  std::atomic<bool> cancel{false};
  BatchCallbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.ended = [&](const BatchResult&, std::size_t ended, std::size_t) { cancel = ended == 2; };
  BatchOptions o = options({in});
  o.jobs = 1;
  const BatchReport first = pipeline::run_batch(o, callbacks, bright());
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.done, 2u);
  EXPECT_EQ(first.results[2].state, BatchResult::State::not_started);
  EXPECT_THAT(refused(o), HasSubstr("exists already"));
  o.job.resume = true;
  const BatchReport second = pipeline::run_batch(o, {}, bright());
  EXPECT_EQ(second.skipped, 2u);
  EXPECT_EQ(second.done, 1u);
}

}  // namespace
}  // namespace saccade
