// Parts of inputs: which pictures and sounds come out, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

struct Clip {
  const char* name;
  const char* arguments;
  const char* extension;
};
void PrintTo(const Clip& c, std::ostream* out) { *out << c.name; }
class Range : public testing::TestWithParam<Clip> {};

std::vector<double> numbers(const std::vector<std::string>& texts) {
  std::vector<double> values;
  for (const std::string& text : texts) values.push_back(std::stod(text));
  return values;
}
std::vector<double> audio_times(const std::filesystem::path& file) {
  return numbers(ffprobe("-select_streams a:0 -show_entries packet=pts_time", file));
}

/// Every picture and every packet of sound of [start, start + length) and nothing else, moved by `start`.
TEST_P(Range, HoldsExactlyWhatIsShownInIt) {
  const Clip& clip = GetParam();
  Scratch scratch;
  const auto in = scratch / (std::string("in.") + clip.extension);
  ffmpeg(clip.arguments, {in});
  const double origin = std::stod(ffprobe("-show_entries format=start_time", in).front());
  const std::vector<double> frames = numbers(frame_times(in)), sounds = audio_times(in);
  const auto hashes = packet_hashes(in, "a:0");
  const double tick =
      std::string(clip.extension) == "mkv" || std::string(clip.extension) == "ts" ? 0.0011 : 0.0001;
  int round = 0;
  for (const auto& [start, length] : std::vector<std::pair<double, double>>{
           {0, 1.01}, {0.5, 0.7}, {1.333, 2.1}, {2.999, 0.5}, {3.2, 100}, {0.013, 0.05}}) {
    // A transport stream would start later by itself.
    const std::string kind = std::string(clip.extension) == "ts" ? "mkv" : clip.extension;
    const auto out = scratch / ("out" + std::to_string(round++) + "." + kind);
    JobOptions options = job(in, out, Effect::blur);
    options.start = start;
    options.duration = length;
    const JobReport report = pipeline::run(options, {}, bright());
    const double shift = start > 0 ? origin + start : 0, begin = origin + start, end = begin + length;
    // The program counts in microseconds, the clip in its own unit.
    constexpr double kSlack = 2e-6;
    std::vector<double> expected;
    for (const double t : frames)
      if ((start == 0 || t >= begin - kSlack) && t < end - kSlack) expected.push_back(t - shift);
    const std::vector<double> got = numbers(frame_times(out));
    ASSERT_EQ(got.size(), expected.size()) << start << " " << length;
    EXPECT_EQ(report.frames, static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tick) << start << " " << i;
    std::vector<double> expected_sounds;
    std::vector<std::string> expected_hashes;
    for (std::size_t i = 0; i < sounds.size(); ++i) {
      if ((start == 0 || sounds[i] >= begin - kSlack) && sounds[i] < end - kSlack) {
        expected_sounds.push_back(sounds[i] - shift);
        expected_hashes.push_back(hashes[i]);
      }
    }
    if (expected_sounds.empty()) continue;
    EXPECT_EQ(packet_hashes(out, "a:0"), expected_hashes) << start << " " << length;
    const std::vector<double> got_sounds = audio_times(out);
    ASSERT_EQ(got_sounds.size(), expected_sounds.size());
    EXPECT_NEAR(got_sounds.front(), expected_sounds.front(), tick) << start;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Clips, Range,
    testing::Values(
        Clip{"b_frames_long_gop",
             "-f lavfi -i testsrc2=s=64x48:r=25:d=5 -f lavfi -i sine=d=5 -c:v libx264 -preset veryfast -bf 3 "
             "-g 250 "
             "-c:a aac {}",
             "mp4"},
        Clip{"open_gop",
             "-f lavfi -i testsrc2=s=64x48:r=30000/1001:d=5 -f lavfi -i sine=d=5 -c:v libx264 -preset "
             "veryfast -bf 3 "
             "-g 30 -x264opts open_gop=1 -c:a aac {}",
             "mp4"},
        Clip{"vfr_mkv",
             "-f lavfi -i testsrc2=s=64x48:r=30:d=5 -f lavfi -i sine=d=5 -vf "
             "select=lt(t\\,1)+not(mod(n\\,3)) -vsync "
             "vfr -c:v libx264 -preset veryfast -c:a aac {}",
             "mkv"},
        Clip{"transport_stream",
             "-f lavfi -i testsrc2=s=64x48:r=25:d=5 -f lavfi -i sine=d=5 -c:v libx264 -preset veryfast -g 40 "
             "-c:a mp2 "
             "-muxdelay 0 {}",
             "ts"},
        Clip{"intra",
             "-f lavfi -i testsrc2=s=64x48:r=25:d=5 -f lavfi -i sine=d=5 -c:v mjpeg -c:a pcm_s16le {}",
             "mov"}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

struct Part : testing::Test {
  Scratch scratch;
  std::filesystem::path in = scratch / "in.mkv";
  void make(const std::string& more = "") {
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=4 -f lavfi -i sine=d=4 " + more +
               " -c:v libx264 -preset veryfast -bf 3 -g 250 -c:a aac {}",
           {in});
  }
};

TEST_F(Part, FramesAreCountedAndSoundEndsWithThem) {
  make();
  for (const std::string extension : {"mkv", "mp4"}) {
    for (const std::int64_t frames : {1, 7, 40, 99, 100, 5000}) {
      const auto out = scratch / ("out" + std::to_string(frames) + "." + extension);
      JobOptions options = job(in, out, Effect::blur);
      options.frames = frames;
      const JobReport report = pipeline::run(options, {}, bright());
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(frames, 100));
      EXPECT_EQ(report.frames, static_cast<std::int64_t>(count));
      EXPECT_FALSE(report.interrupted);
      auto expected = frame_times(in);
      expected.resize(count);
      EXPECT_EQ(frame_times(out), expected) << frames;
      const auto all = frame_times(in);
      const double end = count < all.size() ? std::stod(all[count]) : 1e9;
      std::vector<std::string> sounds;
      const auto times = audio_times(in);
      const auto hashes = packet_hashes(in, "a:0");
      for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] < end - 1e-6) sounds.push_back(hashes[i]);
      EXPECT_EQ(packet_hashes(out, "a:0"), sounds) << frames;
    }
  }
}

// A stream that is announced behind the head of a transport stream, here while the decoder still waits for
// more before it gives the first picture, has no place in the plan: it must not cost the job, nor be waited
// for at the end of a range.
TEST_F(Part, StreamsThatAppearLateAreLeftOut) {
  const auto silent = scratch / "silent.ts", loud = scratch / "loud.ts", both = scratch / "both.ts";
  const std::string encode =
      "-vf noise=alls=100:allf=t -c:v libx264 -preset veryfast -qp 2 -bf 3 -muxdelay 0 ";
  ffmpeg("-f lavfi -i testsrc2=s=640x480:r=25:d=0.08 " + encode + "{}", {silent});
  ffmpeg("-f lavfi -i testsrc2=s=640x480:r=25:d=0.4 -f lavfi -i sine=d=0.4 " + encode +
             "-c:a mp2 -output_ts_offset 0.08 {}",
         {loud});
  const std::string content = read_file(silent) + read_file(loud);
  write_text(both, content);
  ::signal(SIGPIPE, SIG_IGN);  // parts are read to their end only
  const auto fifo = scratch / "fifo";
  ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  // A file shows the stream at its end, but not its sample rate; a pipe shows nothing of it beforehand.
  for (const auto& from : {both, fifo})
    for (const bool part : {false, true}) {
      std::jthread writer([&, given = from] {
        if (given == fifo) std::ofstream(fifo, std::ios::binary) << content;
      });
      JobOptions options = job(from, scratch / "out.mkv", Effect::blur);
      options.overwrite = true;
      options.input_options = {{"probesize", "5000"}, {"analyzeduration", "0"}};
      if (part) options.duration = 0.2;
      const JobReport report = pipeline::run(options, {}, bright());
      EXPECT_EQ(report.frames, part ? 5 : 12) << from;
      EXPECT_EQ(stream_value(scratch / "out.mkv", "a:0", "codec_name"), "") << from;
    }
}

TEST_F(Part, StartAndFramesGoTogetherAndThePicturesAreTheRightOnes) {
  make();
  const auto whole = scratch / "whole.mkv", out = scratch / "out.mkv";
  JobOptions options = job(in, whole, Effect::blur);
  options.encoder = "ffv1";
  pipeline::run(options, {}, bright());
  options.output = out;
  options.start = 2.2;
  options.frames = 11;
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 11);
  const std::string all = raw_frames(whole, "yuv444p"), some = raw_frames(out, "yuv444p");
  const std::size_t picture = 64 * 48 * 3;
  ASSERT_EQ(some.size(), 11 * picture);
  EXPECT_TRUE(some == all.substr(55 * picture, 11 * picture));
}

TEST_F(Part, PipesAreReadFromTheirBeginning) {
  make();
  const auto fifo = scratch / "in.fifo", out = scratch / "out.mkv";
  ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  std::thread writer([&] {
    std::ofstream pipe(fifo, std::ios::binary);
    pipe << read_file(in);
  });
  JobOptions options = job(fifo, out, Effect::blur);
  options.start = 2;
  options.duration = 0.4;
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 10);
  writer.join();
}

TEST_F(Part, ChaptersAndSubtitlesMoveAlong) {
  const auto text = scratch / "in.srt", meta = scratch / "in.txt", out = scratch / "out.mkv";
  write_text(
      text,
      "1\n00:00:00,200 --> 00:00:00,900\nOne\n\n2\n00:00:01,200 --> 00:00:02,500\nTwo\n\n3\n00:00:03,800 "
      "--> 00:00:03,900\nThree\n");
  write_text(
      meta,
      ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=A\n[CHAPTER]\nTIMEBASE=1/1000\n"
      "START=1000\nEND=3000\ntitle=B\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=3000\nEND=4000\ntitle=C\n");
  ffmpeg(
      "-f lavfi -i testsrc2=s=64x48:r=25:d=4 -i {} -i {} -map 0 -map 1 -map_metadata 2 -c:v libx264 -preset "
      "veryfast -c:s copy {}",
      {text, meta, in});
  JobOptions options = job(in, out, Effect::blur);
  options.start = 2;
  options.duration = 1.5;
  pipeline::run(options, {}, bright());
  EXPECT_EQ(ffprobe("-show_entries chapter=start_time,end_time:chapter_tags=title", out),
            (std::vector<std::string>{"0.000000,1.000000,B", "1.000000,1.500000,C"}));
  EXPECT_THAT(ffprobe("-select_streams s:0 -show_entries packet=pts_time,duration_time", out),
              testing::AnyOf(ElementsAre("0.000000,0.500000"), testing::IsEmpty()));
}

TEST_F(Part, SubtitlesEndWithIt) {
  const auto text = scratch / "in.srt";
  write_text(text,
             "1\n00:00:00,050 --> 00:00:00,150\nOne\n\n2\n00:00:00,200 --> 00:00:02,500\nTwo\n\n3\n"
             "00:00:02,800 --> 00:00:50,000\nThree\n");
  for (const char* codec : {"srt", "ass"}) {
    ffmpeg(std::string("-f lavfi -i testsrc2=s=64x48:r=25:d=4 -i {} -map 0 -map 1 -c:v libx264 -preset "
                       "veryfast -c:s ") +
               codec + " {}",
           {text, in});
    for (const char* name : {"out.mkv", "out.mp4", "out.webm"}) {
      for (const std::string way : {"duration", "frames", "start", "resumable"}) {
        SCOPED_TRACE(std::string(codec) + " into " + name + " by " + way);
        const auto out = scratch / name;
        if (way == "resumable" && out.extension() != ".mkv") continue;
        JobOptions options = job(in, out, Effect::blur);
        options.overwrite = true;
        if (way == "frames") {
          options.frames = 25;
        } else {
          options.duration = 1;
        }
        if (way == "start") options.start = 2;
        options.resumable = way == "resumable";
        pipeline::run(options, {}, bright());
        const auto cues = ffprobe("-select_streams s:0 -show_entries packet=pts_time,duration_time", out);
        SCOPED_TRACE(testing::PrintToString(cues));
        std::vector<double> ends;
        for (const std::string& cue : cues) {
          const auto comma = cue.find(',');
          if (comma == std::string::npos || cue.find("N/A") != std::string::npos) continue;
          ends.push_back(std::stod(cue) + std::stod(cue.substr(comma + 1)));
        }
        ASSERT_FALSE(ends.empty());
        for (const double end : ends) EXPECT_LE(end, 1.002);
        EXPECT_NEAR(*std::max_element(ends.begin(), ends.end()), 1, 0.002);
        EXPECT_NEAR(std::stod(ffprobe("-show_entries format=duration", out).front()), 1, 0.1);
      }
    }
  }
}

TEST_F(Part, NothingInTheRangeIsAnError) {
  make();
  JobOptions options = job(in, scratch / "out.mkv", Effect::blur);
  options.start = 100;
  try {
    pipeline::run(options, {}, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("the range starts at 100 s (--start), but the last picture"));
  }
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv"));
}

TEST_F(Part, LimitsAreHeldByHeaderAndByContent) {
  make();
  const auto out = scratch / "out.mkv";
  const auto refused = [&](const MediaLimits& limits, const std::filesystem::path& input) {
    JobOptions options = job(input, out, Effect::blur);
    options.media_limits = limits;
    try {
      pipeline::run(options, {}, bright());
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::limit) << e.what();
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused({.max_pixels = 64 * 48 - 1}, in),
              HasSubstr("64x48 are more than the limit of 3071 pixels"));
  EXPECT_THAT(refused({.max_frames = 50}, in), HasSubstr("the limit is 50"));
  EXPECT_THAT(refused({.max_seconds = 3}, in), HasSubstr("the limit is 3"));
  EXPECT_EQ(refused({.max_pixels = 64 * 48, .max_frames = 100, .max_seconds = 5}, in), "no error");
  std::filesystem::remove(out);
  // A stream without a header that would say how long it is.
  const auto raw = scratch / "raw.h264";
  ffmpeg("-i {} -c:v copy {}", {in, raw});
  EXPECT_THAT(refused({.max_frames = 50}, raw), HasSubstr("more than 50 frames"));
  EXPECT_THAT(refused({.max_seconds = 2}, raw), HasSubstr("longer than 2 seconds"));
  // A part within the limits may be taken of what is beyond them.
  JobOptions options = job(in, out, Effect::blur);
  options.media_limits.max_frames = 10;
  options.frames = 10;
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 10);
  EXPECT_THAT(scratch.names(), ElementsAre("in.mkv", "out.mkv", "raw.h264"));
}

TEST_F(Part, AHugePictureIsRefusedByItsHeader) {
  const auto picture = scratch / "bomb.png";
  // 100000 x 100000 pixels, one byte of data.
  constexpr char head[] =
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\x86\xa0\0\1\x86\xa0\x8\x2\0\0\0\x6d\x5e\x9d\xbd\0\0\0\1IDAT\0";
  write_text(picture, std::string(head, sizeof(head) - 1) + std::string(200, 'x'));
  try {
    pipeline::run(job(picture, scratch / "out.png", Effect::blur), {}, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("bomb.png: "));
  }
}

TEST_F(Part, StrictStopsAtDamage) {
  const auto whole = scratch / "whole.mp4", damaged = scratch / "damaged.mp4", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc2=s=160x120:r=25:d=4 -c:v libx264 -preset veryfast -g 25 {}", {whole});
  ffmpeg("-i {} -c copy -bsf:v noise=amount=if(between(n\\,40\\,44)\\,200\\,0) {}", {whole, damaged});
  JobOptions options = job(damaged, out, Effect::blur);
  const JobReport report = pipeline::run(options, {}, bright());
  EXPECT_GE(report.frames, 90);
  std::filesystem::remove(out);
  options.strict = true;
  try {
    pipeline::run(options, {}, bright());
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::media);
    EXPECT_THAT(e.what(), HasSubstr("is damaged behind frame"));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  options.input = whole;
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 100);
}

TEST_F(Part, ResumableJobsKeepTheirRange) {
  make();
  const auto whole = scratch / "whole.mp4", parts = scratch / "parts.mp4";
  JobOptions options = job(in, whole, Effect::blur);
  options.start = 1;
  options.frames = 60;
  options.threads = 2;
  pipeline::run(options, {}, bright());
  options.output = parts;
  options.resumable = true;
  options.segment_seconds = 1;
  pipeline::run(options, {}, bright());
  EXPECT_EQ(frame_times(parts), frame_times(whole));
  EXPECT_EQ(packet_hashes(parts, "a:0"), packet_hashes(whole, "a:0"));
}

// Where pictures can be moved by whole frames only, a range that starts between two of them.
TEST(RangeBetweenPictures, MovesSoundAndPicturesAlike) {
  Scratch scratch;
  for (const auto& [name, codecs] : {std::pair{"in.avi", "-c:v mjpeg -c:a pcm_s16le"},
                                     std::pair{"in.mxf", "-c:v mpeg2video -c:a pcm_s16le"}}) {
    const auto in = scratch / name;
    ffmpeg(std::string("-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i anoisesrc=d=2:r=48000 ") + codecs +
               " {}",
           {in});
    const std::vector<std::string> pictures = frame_times(in), hashes = packet_hashes(in, "a:0");
    const std::vector<double> sounds = audio_times(in);
    for (const double start : {0.05, 0.113, 0.19, 0.2, 1.01}) {
      for (const char* out_name : {"out.mkv", "out.nut"}) {
        JobOptions options = job(in, scratch / out_name, Effect::blur);
        options.start = start;
        options.duration = 0.5;
        options.overwrite = true;
        pipeline::run(options, {}, bright());
        std::vector<double> expected;
        for (const std::string& time : pictures)
          if (std::stod(time) >= start - 1e-6 && std::stod(time) < start + 0.5 - 1e-6)
            expected.push_back(std::stod(time));
        const std::vector<std::string> times = frame_times(options.output);
        ASSERT_EQ(times.size(), expected.size()) << name << start;
        const double moved = expected.front() - std::stod(times.front());
        EXPECT_NEAR(expected.back() - std::stod(times.back()), moved, 0.0011);
        const std::vector<std::string> kept = packet_hashes(options.output, "a:0");
        ASSERT_FALSE(kept.empty());
        const auto found = std::find(hashes.begin(), hashes.end(), kept.front());
        ASSERT_NE(found, hashes.end());
        EXPECT_NEAR(
            sounds.at(static_cast<std::size_t>(found - hashes.begin())) - audio_times(options.output).front(),
            moved, 0.0011)
            << name << start;
      }
    }
  }
}

TEST(RangeOfNothing, SaysWhereTheInputEnds) {
  Scratch scratch;
  for (const char* name : {"in.mp4", "in.mkv", "in.ts"}) {
    const auto in = scratch / name;
    ffmpeg(
        "-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i sine=d=3 -c:v libx264 -preset ultrafast -g 25 "
        "-c:a mp2 {}",
        {in});
    JobOptions options = job(in, scratch / "out.mkv", Effect::blur);
    const auto said = [&] {
      try {
        pipeline::run(options, {}, bright());
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
        return std::string(e.what());
      }
      return std::string("no error");
    };
    for (const double start : {2.5, 60.0}) {
      options.start = start;
      options.duration.reset();
      EXPECT_THAT(said(), HasSubstr("the last picture of the input is shown at 1.9")) << name << start;
      options.duration = 1;
      EXPECT_THAT(said(), HasSubstr("the last picture of the input is shown at 1.9")) << name << start;
    }
    // Between two pictures.
    options.start = std::stod(frame_times(in).at(25)) -
                    std::stod(ffprobe("-show_entries format=start_time", in).front()) + 0.01;
    options.duration = 0.02;
    EXPECT_THAT(said(), HasSubstr("no picture is shown between 1.0")) << name;
    EXPECT_FALSE(std::filesystem::exists(options.output));
  }
}

}  // namespace
}  // namespace saccade
