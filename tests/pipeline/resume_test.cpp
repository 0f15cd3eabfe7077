// Jobs that are killed and go on: the result is that of a job that was left alone, to the byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int kFrames = 230;

class AnotherNetwork : public FakeNetwork {
 public:
  using FakeNetwork::FakeNetwork;
  std::string identity() const override { return "another"; }
};

struct Resume : testing::Test {
  Scratch scratch;
  std::filesystem::path in = scratch / "in.mkv";

  /// Of uneven frame times, with sound and subtitles.
  void SetUp() override {
    const auto text = scratch / "in.srt";
    write_text(text, "1\n00:00:00,500 --> 00:00:01,500\nOne\n\n2\n00:00:04,000 --> 00:00:06,000\nTwo\n");
    ffmpeg(
        "-f lavfi -i testsrc2=s=96x64:r=30:d=10 -f lavfi -i sine=d=10 -i {} -map 0 -map 1 -map 2 -vf "
        "select=not(eq(mod(n\\,13)\\,5))+lt(n\\,60)+gt(n\\,262) -frames:v 281 -vsync vfr -c:v libx264 "
        "-preset "
        "ultrafast -c:a aac -c:s copy {}",
        {text, in});
    std::filesystem::remove(text);
  }
  CommandResult child(const std::filesystem::path& out, const std::vector<std::string>& more) {
    std::vector<std::string> command{KILLED_JOB, in.string(), out.string()};
    command.insert(command.end(), more.begin(), more.end());
    return run_command(command);
  }
  /// A run of this very program that was stopped after more than three parts.
  void stop_midway(const std::filesystem::path& out) const {
    std::atomic<bool> cancel{false};
    JobCallbacks callbacks;
    callbacks.cancel = &cancel;
    callbacks.progress = [&](const JobProgress& progress) { cancel = progress.frames >= 120; };
    EXPECT_TRUE(pipeline::run(options(out), callbacks, bright()).interrupted);
    std::filesystem::remove(scratch / "out.partial.mp4");
  }
  JobOptions options(const std::filesystem::path& out) const {
    JobOptions o = job(in, out, Effect::blur);
    o.resumable = true;
    o.segment_seconds = 1;
    return o;
  }
};

std::vector<long long> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<long long> values(2, -1);
  stream >> values[0] >> values[1];
  return values;
}

TEST_F(Resume, KilledAnywhereGivesTheBytesOfARunThatWasNot) {
  std::mt19937 random(20);
  for (const std::string extension : {"mp4", "mkv"}) {
    const auto whole = scratch / ("whole." + extension), out = scratch / ("out." + extension);
    const CommandResult alone = child(whole, {});
    ASSERT_EQ(alone.exit_code, 0) << alone.error;
    const long long frames = numbers(alone.out)[1];
    EXPECT_EQ(frame_times(in), frame_times(whole));
    EXPECT_EQ(packet_hashes(in, "a:0"), packet_hashes(whole, "a:0"));
    const std::string expected = read_file(whole);
    for (int round = 0; round < 10; ++round) {
      std::filesystem::remove(out);
      // The last rounds are killed while the result is put together, and some more than once.
      const long long at =
          round < 8 ? 1 + static_cast<long long>(random() % static_cast<unsigned>(frames)) : frames;
      const std::string kill = "kill=" + std::to_string(at) + "," + std::to_string(random() % 20'000);
      const CommandResult killed = child(out, {kill});
      if (killed.exit_code == 0) {  // it was done before
        EXPECT_TRUE(read_file(out) == expected) << kill;
        continue;
      }
      EXPECT_EQ(killed.exit_code, -1) << killed.error;
      if (std::filesystem::exists(out)) {  // killed behind the naming of the result
        EXPECT_EQ(at, frames);
        EXPECT_TRUE(read_file(out) == expected) << kill;
        if (!std::filesystem::exists(out.string() + ".resume")) continue;
      }
      if (round % 3 == 0) {
        const CommandResult again =
            child(out, {"resume", "kill=" + std::to_string(at / 2 + frames / 2) + ",3000"});
        if (again.exit_code == 0) {
          EXPECT_TRUE(read_file(out) == expected) << kill;
          continue;
        }
      }
      const CommandResult resumed = child(out, {"resume"});
      ASSERT_EQ(resumed.exit_code, 0) << kill << " " << resumed.error;
      const auto counts = numbers(resumed.out);
      EXPECT_GE(counts[0], at - 62) << kill;  // the part that was begun, and one that was being drained
      EXPECT_EQ(counts[1], frames);
      EXPECT_TRUE(read_file(out) == expected) << extension << " " << kill;
      EXPECT_FALSE(std::filesystem::exists(out.string() + ".resume"));
    }
  }
}

TEST_F(Resume, BytesDoNotDependOnWhatLayInMemory) {
  // 30 macroblocks a row, which x264's AVX-512 code reads past.
  ffmpeg(
      "-f lavfi -i testsrc2=s=480x270:r=25:d=2.5,noise=alls=20:allf=t -pix_fmt yuv420p -c:v libx264 -preset "
      "ultrafast -qp 0 {}",
      {in});
  std::vector<std::string> results;
  ::setenv("MALLOC_MMAP_THRESHOLD_", "1000000000", 1);
  for (const char* filling : {"17", "85", "170"}) {
    ::setenv("MALLOC_PERTURB_", filling, 1);
    const auto out = scratch / (std::string(filling) + ".mkv");
    const CommandResult result = child(out, {});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    results.push_back(read_file(out));
  }
  ::unsetenv("MALLOC_PERTURB_");
  ::unsetenv("MALLOC_MMAP_THRESHOLD_");
  EXPECT_TRUE(results[0] == results[1] && results[0] == results[2]);
}

TEST_F(Resume, KilledBehindTheNamingOfTheResultOnlyTidiesUp) {
  const auto whole = scratch / "whole.mkv", out = scratch / "out.mkv", folder = scratch / "out.mkv.resume";
  ASSERT_EQ(child(whole, {}).exit_code, 0);
  const std::string expected = read_file(whole);
  for (const std::string crash : {"crash=rename,1", "crash=remove,1", "crash=remove,4"}) {
    std::filesystem::remove(out);
    ASSERT_EQ(child(out, {crash}).exit_code, -1) << crash;
    EXPECT_TRUE(read_file(out) == expected) << crash;
    EXPECT_TRUE(std::filesystem::exists(folder / "journal.json")) << crash;
    const auto written = std::filesystem::last_write_time(out);
    JobOptions o = options(out);
    o.threads = 7;  // it still has to be the same job
    o.resume = true;
    EXPECT_THROW(pipeline::run(o, {}, bright()), Error) << crash;
    const CommandResult resumed = child(out, {"resume"});
    EXPECT_EQ(resumed.exit_code, 0) << crash << " " << resumed.error;
    const auto counts = numbers(resumed.out);
    EXPECT_GT(counts[1], kFrames - 1);
    EXPECT_EQ(counts[0], counts[1]) << "something was done again";
    EXPECT_TRUE(read_file(out) == expected) << crash;
    EXPECT_EQ(std::filesystem::last_write_time(out), written) << crash;
    EXPECT_FALSE(std::filesystem::exists(folder)) << crash;
    const CommandResult again = child(out, {"resume"});
    EXPECT_EQ(again.exit_code, 1) << crash;
    EXPECT_THAT(again.error, HasSubstr("may be what an earlier run has finished")) << crash;
  }
}

TEST_F(Resume, AnotherFileInThePlaceOfTheResultIsNotTakenForIt) {
  const auto whole = scratch / "whole.mkv", out = scratch / "out.mkv";
  ASSERT_EQ(child(whole, {}).exit_code, 0);
  ASSERT_EQ(child(out, {"crash=rename,1"}).exit_code, -1);
  std::filesystem::copy_file(out, scratch / "copy.mkv");
  std::filesystem::rename(scratch / "copy.mkv", out);
  const CommandResult refused = child(out, {"resume"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("exists already; use --overwrite"));
  std::filesystem::remove(out);
  const CommandResult resumed = child(out, {"resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_TRUE(read_file(out) == read_file(whole));
  EXPECT_FALSE(std::filesystem::exists(out.string() + ".resume"));
}

TEST_F(Resume, InterruptedAnywhereAFileThatPlaysIsLeft) {
  std::mt19937 random(21);
  const auto all = frame_times(in);
  const auto sounds = packet_hashes(in, "a:0");
  int partial_files = 0;
  for (int round = 0; round < 20; ++round) {
    const bool parts = round % 2 == 0;
    const std::string extension = round % 4 < 2 ? "mp4" : "mkv";
    const auto out = scratch / ("out." + extension), partial = scratch / ("out.partial." + extension);
    const std::string kill =
        "kill=" + std::to_string(1 + random() % all.size()) + "," + std::to_string(random() % 20'000);
    SCOPED_TRACE(extension + (parts ? " in parts " : " in one ") + kill);
    const CommandResult stopped = child(out, parts ? std::vector<std::string>{"interrupt", kill}
                                                   : std::vector<std::string>{"interrupt", kill, "whole"});
    if (stopped.exit_code == 0) {  // it was too late
      EXPECT_EQ(frame_times(out).size(), all.size());
    } else {
      ASSERT_EQ(stopped.exit_code, 130) << stopped.error;
      EXPECT_FALSE(std::filesystem::exists(out));
      ++partial_files;
      const auto times = frame_times(partial);
      EXPECT_EQ(static_cast<long long>(times.size()), numbers(stopped.out)[1]);
      ASSERT_LE(times.size(), all.size());
      EXPECT_TRUE(std::equal(times.begin(), times.end(), all.begin()));
      // Sound as far as the pictures go.
      const auto kept = packet_hashes(partial, "a:0");
      ASSERT_LE(kept.size(), sounds.size());
      EXPECT_TRUE(std::equal(kept.begin(), kept.end(), sounds.begin()));
      const double seconds = std::stod(times.back());
      EXPECT_NEAR(static_cast<double>(kept.size()) * 1024 / 44100, seconds, 0.6);
    }
    for (const auto& file : {out, partial}) std::filesystem::remove(file);
    std::filesystem::remove_all(out.string() + ".resume");
  }
  EXPECT_GE(partial_files, 10);
}

TEST_F(Resume, EveryEncoderCanBeResumed) {
  for (const auto& [encoder, extension] :
       std::vector<std::pair<std::string, std::string>>{{"ffv1", "mkv"},
                                                        {"prores_ks", "mov"},
                                                        {"libvpx-vp9", "webm"},
                                                        {"libx265", "mp4"},
                                                        {"mpeg4", "mp4"}}) {
    const auto whole = scratch / ("whole." + extension), out = scratch / ("out." + extension);
    for (const auto& file : {whole, out}) std::filesystem::remove(file);
    ASSERT_EQ(child(whole, {"encoder=" + encoder}).exit_code, 0) << encoder;
    ASSERT_EQ(child(out, {"encoder=" + encoder, "kill=131,0"}).exit_code, -1) << encoder;
    const CommandResult resumed = child(out, {"encoder=" + encoder, "resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
    EXPECT_GT(numbers(resumed.out)[0], 60) << encoder;
    EXPECT_TRUE(read_file(out) == read_file(whole)) << encoder;
    EXPECT_EQ(frame_times(in).size(), frame_times(out).size()) << encoder;
  }
}

TEST_F(Resume, PartsShowTheSamePicturesAsOneEncoder) {
  const auto parts = scratch / "parts.mkv", one = scratch / "one.mkv";
  ASSERT_EQ(child(parts, {"encoder=ffv1"}).exit_code, 0);
  ASSERT_EQ(child(one, {"encoder=ffv1", "whole"}).exit_code, 0);
  EXPECT_TRUE(raw_frames(parts, "yuv444p") == raw_frames(one, "yuv444p"));
  EXPECT_EQ(frame_times(parts), frame_times(one));
}

TEST_F(Resume, InterruptKeepsAPlayableFileAndWhatIsDone) {
  const auto whole = scratch / "whole.mp4", out = scratch / "out.mp4";
  ASSERT_EQ(child(whole, {}).exit_code, 0);
  const CommandResult stopped = child(out, {"interrupt", "kill=120,0"});
  EXPECT_EQ(stopped.exit_code, 130) << stopped.error;
  const auto partial = scratch / "out.partial.mp4";
  const auto times = frame_times(partial), all = frame_times(in);
  EXPECT_GE(times.size(), 120u);
  EXPECT_LT(times.size(), 140u);
  EXPECT_EQ(times,
            std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(times.size())));
  EXPECT_FALSE(packet_hashes(partial, "a:0").empty());
  EXPECT_LT(packet_hashes(partial, "a:0").size(), packet_hashes(in, "a:0").size());
  EXPECT_FALSE(std::filesystem::exists(out));
  const CommandResult resumed = child(out, {"resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_GT(numbers(resumed.out)[0], 60);
  EXPECT_TRUE(read_file(out) == read_file(whole));
}

TEST_F(Resume, AnotherJobIsRefusedWithWhatDiffers) {
  const auto out = scratch / "out.mp4";
  stop_midway(out);
  const auto refused = [&](const JobOptions& job_options,
                           const pipeline::NetworkFactory& network = bright()) {
    try {
      pipeline::run(job_options, {}, network);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
      return std::string(e.what());
    }
    ADD_FAILURE() << "no error";
    return std::string();
  };
  EXPECT_THAT(refused(options(out)), HasSubstr("go on with --resume, or begin anew with --overwrite"));
  JobOptions o = options(out);
  o.resume = true;
  o.strength = 10;
  EXPECT_THAT(refused(o), HasSubstr("options.strength was 50.0, is 10.0"));
  o = options(out);
  o.resume = true;
  o.crf = 30;
  EXPECT_THAT(refused(o), HasSubstr("options.crf was nothing, is 30.0"));
  o.crf.reset();
  o.threads = 7;
  EXPECT_THAT(refused(o), HasSubstr("encoder.threads was"));
  o.threads = 0;
  o.max_isa = Isa::portable;
  if (active_isa() != Isa::portable) {
    EXPECT_THAT(refused(o), HasSubstr("isa was"));
  }
  o.max_isa.reset();
  EXPECT_THAT(refused(o,
                      [] {
                        return std::make_unique<AnotherNetwork>(64, 64,
                                                                [](int, int, const float*) { return 1.0f; });
                      }),
              HasSubstr("model was 'fake', is 'another'"));
  const auto before = std::filesystem::last_write_time(in);
  std::filesystem::last_write_time(in, before + std::chrono::seconds(1));
  EXPECT_THAT(refused(o), HasSubstr("input.modified was"));
  std::filesystem::last_write_time(in, before);
  // With everything as it was it goes on.
  EXPECT_GT(pipeline::run(o, {}, bright()).frames_before, 60);
}

TEST_F(Resume, DamageIsNoticedAndOverwriteBeginsAnew) {
  const auto out = scratch / "out.mp4", folder = scratch / "out.mp4.resume";
  stop_midway(out);
  JobOptions o = options(out);
  o.resume = true;
  const auto failure = [&] {
    try {
      pipeline::run(o, {}, bright());
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto part = folder / "segment-000001.packets", journal = folder / "journal.json";
  const std::string bytes = read_file(part), text = read_file(journal);
  write_text(part, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(failure(), HasSubstr("part 1 (segment-000001.packets) is missing or not as long as it was"));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  write_text(part, flipped);
  EXPECT_THAT(failure(), HasSubstr("segment-000001.packets: is damaged"));
  write_text(part, bytes);
  for (const std::string& broken : {std::string("{"), std::string("{}"), text.substr(0, text.size() / 2)}) {
    write_text(journal, broken);
    EXPECT_THAT(failure(), HasSubstr("is damaged")) << broken;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  o = options(out);
  o.overwrite = true;
  EXPECT_EQ(pipeline::run(o, {}, bright()).frames_before, 0);
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv", "out.mp4"));
}

TEST_F(Resume, FoldersOfOthersAreLeftAlone) {
  const auto out = scratch / "out.mp4";
  std::filesystem::create_directory(scratch / "out.mp4.resume");
  write_text(scratch / "out.mp4.resume/diary.txt", "mine");
  JobOptions o = options(out);
  o.overwrite = true;
  try {
    pipeline::run(o, {}, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("diary.txt"));
  }
  EXPECT_EQ(read_file(scratch / "out.mp4.resume/diary.txt"), "mine");
}

TEST_F(Resume, WhatCannotBeMadeInPartsIsRefused) {
  for (const char* name : {"out.avi", "out.ts", "out.gif"}) {
    try {
      pipeline::run(options(scratch / name), {}, bright());
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
    }
  }
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv"));
}

TEST_F(Resume, TwoOutputsKilledAnywhereAreBothThoseOfARunThatWasNot) {
  std::mt19937 random(22);
  for (const auto& [extension, mask_extension] :
       std::vector<std::pair<std::string, std::string>>{{"mp4", "mkv"}, {"mkv", "mp4"}}) {
    const auto whole = scratch / ("whole." + extension), out = scratch / ("out." + extension);
    const auto whole_masks = scratch / ("whole-masks." + mask_extension),
               masks = scratch / ("masks." + mask_extension);
    const CommandResult alone = child(whole, {"masks=" + whole_masks.string()});
    ASSERT_EQ(alone.exit_code, 0) << alone.error;
    const long long frames = numbers(alone.out)[1];
    EXPECT_EQ(frame_times(in), frame_times(whole));
    EXPECT_EQ(frame_times(in), frame_times(whole_masks));
    const std::string expected = read_file(whole), expected_masks = read_file(whole_masks);
    const std::string second = "masks=" + masks.string();
    std::vector<std::string> ends;
    for (int round = 0; round < 5; ++round) {
      const long long at = 1 + static_cast<long long>(random() % static_cast<unsigned>(frames));
      ends.push_back("kill=" + std::to_string(round == 4 ? frames : at) + "," +
                     std::to_string(random() % 20'000));
    }
    // Behind the naming of one of them, of both, and while what is not needed any more is removed.
    ends.insert(ends.end(), {"crash=rename,1", "crash=rename,2", "crash=remove,3"});
    for (const std::string& end : ends) {
      SCOPED_TRACE(extension + " " + end);
      for (const auto& file : {out, masks}) std::filesystem::remove(file);
      const CommandResult killed = child(out, {second, end});
      if (killed.exit_code != 0 && std::filesystem::exists(out.string() + ".resume")) {
        EXPECT_EQ(killed.exit_code, -1) << killed.error;
        const CommandResult resumed = child(out, {second, "resume"});
        ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
        EXPECT_EQ(numbers(resumed.out)[1], frames);
      }
      EXPECT_TRUE(read_file(out) == expected);
      EXPECT_TRUE(read_file(masks) == expected_masks);
      EXPECT_FALSE(std::filesystem::exists(out.string() + ".resume"));
    }
  }
}

TEST_F(Resume, TwoOutputsThatAreInterruptedBothPlay) {
  const auto out = scratch / "out.mp4", masks = scratch / "masks.mkv";
  const CommandResult stopped = child(out, {"masks=" + masks.string(), "interrupt", "kill=120,0"});
  EXPECT_EQ(stopped.exit_code, 130) << stopped.error;
  const auto times = frame_times(scratch / "out.partial.mp4");
  EXPECT_GE(times.size(), 120u);
  EXPECT_EQ(frame_times(scratch / "masks.partial.mkv"), times);
  EXPECT_FALSE(std::filesystem::exists(masks));
  // Without its masks, or with others, it is another job.
  const CommandResult without = child(out, {"resume"});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.error, HasSubstr("masks.container was 'matroska', is nothing"));
  const CommandResult others = child(out, {"resume", "masks=" + (scratch / "masks.mp4").string()});
  EXPECT_THAT(others.error, HasSubstr("masks.container was 'matroska', is 'mp4'"));
  // A file in the place of the masks is not replaced.
  write_text(masks, "mine");
  const CommandResult in_the_way = child(out, {"resume", "masks=" + masks.string()});
  EXPECT_THAT(in_the_way.error, HasSubstr("exists already"));
  EXPECT_EQ(read_file(masks), "mine");
  std::filesystem::remove(masks);
  const CommandResult resumed = child(out, {"resume", "masks=" + masks.string()});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_EQ(frame_times(masks), frame_times(in));
}

TEST_F(Resume, MasksThatCannotBeMadeInPartsAreRefused) {
  for (const char* name :
       {"masks.npy", "masks.json", "masks.geojson", "masks/", "masks.nut", "masks.avi", "-"}) {
    SCOPED_TRACE(name);
    JobOptions o = options(scratch / "out.mp4");
    o.mask_output = std::string(name) == "-" ? std::filesystem::path(name) : scratch / name;
    try {
      pipeline::run(o, {}, bright());
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(name));
      EXPECT_THAT(e.what(), HasSubstr("cannot be resumable"));
    }
  }
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv"));
}

TEST_F(Resume, NothingToResumeBeginsAndAFailureLeavesNothingBeforeTheFirstPart) {
  const auto out = scratch / "out.mp4";
  JobOptions o = options(out);
  std::atomic<int> calls{0};
  const auto failing = fake([&](int x, int y, const float*) -> float {
    if (x == 0 && y == 0 && ++calls == 5) throw Error(ErrorCode::internal, "out of ideas");
    return 1.0f;
  });
  EXPECT_THROW(pipeline::run(o, {}, failing), Error);
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv"));
  o.resume = true;
  EXPECT_EQ(pipeline::run(o, {}, bright()).frames_before, 0);
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv", "out.mp4"));
}

}  // namespace
}  // namespace saccade
