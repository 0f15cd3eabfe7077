// Whole videos through the stages: nothing may be lost, moved or changed that the effect does not touch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

struct Case {
  const char* name;
  const char* arguments;  ///< of ffmpeg; {} is the clip
  const char* extension;
  int audio;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
class VideoJob : public testing::TestWithParam<Case> {};

TEST_P(VideoJob, KeepsEveryFrameAtItsTimeAndEveryAudioPacket) {
  const Case& c = GetParam();
  Scratch scratch;
  const auto in = scratch / (std::string("in.") + c.extension),
             out = scratch / (std::string("out.") + c.extension);
  ffmpeg(c.arguments, {in});
  const JobReport report = pipeline::run(job(in, out, Effect::blur), {}, bright());
  EXPECT_EQ(frame_times(in), frame_times(out));
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(frame_times(in).size()));
  for (int i = 0; i < c.audio; ++i) {
    const std::string stream = "a:" + std::to_string(i);
    EXPECT_EQ(packet_hashes(in, stream), packet_hashes(out, stream));
  }
  for (const char* entry : {"width", "height", "sample_aspect_ratio", "color_range", "color_space",
                            "color_primaries", "color_transfer", "r_frame_rate", "side_data=rotation"}) {
    EXPECT_EQ(stream_value(in, "v:0", entry), stream_value(out, "v:0", entry)) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Clips, VideoJob,
    testing::Values(
        Case{"b_frames",
             "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset veryfast -bf 3 "
             "-c:a aac {}",
             "mp4", 1},
        Case{"no_audio", "-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v libx264 -preset ultrafast {}", "mp4", 0},
        Case{"ntsc",
             "-f lavfi -i testsrc=s=64x48:r=30000/1001:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset "
             "veryfast -c:a aac {}",
             "mp4", 1},
        Case{"vfr",
             "-f lavfi -i testsrc=s=64x48:r=30:d=4 -f lavfi -i sine=d=4 -vf select=lt(t\\,1)+not(mod(n\\,3)) "
             "-vsync vfr -c:v libx264 -preset veryfast -c:a aac {}",
             "mp4", 1},
        Case{"two_audio",
             "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -f lavfi -i sine=f=880:d=2 -map 0 "
             "-map 1 -map 2 -c:v libx264 -preset ultrafast -c:a aac {}",
             "mkv", 2},
        Case{"ten_bit_hlg",
             "-f lavfi -i testsrc=s=64x48:r=25:d=1 -pix_fmt yuv420p10le -c:v libx264 -preset veryfast "
             "-color_primaries bt2020 -color_trc arib-std-b67 -colorspace bt2020nc -color_range tv {}",
             "mp4", 0},
        Case{"hevc",
             "-f lavfi -i testsrc=s=64x64:r=25:d=1 -pix_fmt yuv420p -c:v libx265 -preset ultrafast "
             "-x265-params log-level=none -color_range tv -colorspace bt709 -color_primaries bt709 "
             "-color_trc bt709 {}",
             "mp4", 0},
        Case{"full_range",
             "-f lavfi -i testsrc=s=64x48:r=25:d=1 -pix_fmt yuvj420p -c:v libx264 -preset ultrafast {}",
             "mp4", 0},
        Case{"anamorphic",
             "-f lavfi -i testsrc=s=64x48:r=25:d=1,setsar=16/11 -c:v libx264 -preset ultrafast {}", "mp4",
             0}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(VideoJob, ForegroundIsBitExactWithALosslessEncoder) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mkv";
  for (const std::string format :
       {"yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le", "gbrp"}) {
    const std::string encoder = format == "gbrp" ? "utvideo" : "ffv1";
    std::filesystem::remove(in);
    std::filesystem::remove(out);
    ffmpeg("-f lavfi -i testsrc2=s=71x50:r=25:d=0.4 -pix_fmt " + format + " -c:v " + encoder + " {}", {in});
    JobOptions options = job(in, out, Effect::blur);
    options.encoder = encoder;
    pipeline::run(options, {}, everything());
    EXPECT_EQ(stream_value(out, "v:0", "pix_fmt"), format);
    EXPECT_TRUE(raw_frames(in, format) == raw_frames(out, format)) << format;
  }
}

TEST(VideoJob, ThreadsDoNotChangeTheResult) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=160x120:r=25:d=2 -c:v ffv1 {}", {in});
  std::string first;
  for (const int threads : {1, 2, 4, 7}) {
    const auto out = scratch / ("out" + std::to_string(threads) + ".mkv");
    JobOptions options = job(in, out, Effect::blur);
    options.encoder = "ffv1";
    options.threads = threads;
    EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 50);
    const std::string frames = raw_frames(out, "yuv420p");
    if (first.empty()) first = frames;
    EXPECT_TRUE(frames == first) << threads;
  }
  // Nor does how they are put to use.
  struct Use {
    Mode mode;
    int threads, streams, tokens, encoder, decoder;
  };
  for (const Use& use : {Use{Mode::latency, 2, 0, 0, 0, 1}, Use{Mode::latency, 1, 0, 1, 1, 1},
                         Use{Mode::latency, 4, 0, 2, 0, 3}, Use{Mode::throughput, 3, 0, 1, 2, 1},
                         Use{Mode::automatic, 6, 3, 0, 0, 2}, Use{Mode::automatic, 2, 9, 40, 0, 1}}) {
    const auto out = scratch / "used.mkv";
    JobOptions options = job(in, out, Effect::blur);
    options.encoder = "ffv1";
    options.mode = use.mode, options.threads = use.threads, options.streams = use.streams;
    options.tokens = use.tokens, options.encoder_threads = use.encoder, options.decoder_threads = use.decoder;
    options.overwrite = true;
    EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 50);
    EXPECT_TRUE(raw_frames(out, "yuv420p") == first) << mode_name(use.mode) << " " << use.threads;
  }
  JobOptions wrong = job(in, scratch / "wrong.mkv", Effect::blur);
  wrong.tokens = -1;
  EXPECT_THROW(pipeline::run(wrong, {}, bright()), Error);
}

/// Share of white (luma above half) in the four quarters of a picture: top left, top right, bottom left,
/// bottom right.
std::vector<int> white_quarters(const std::string& gray, int width, int height) {
  std::vector<int> sums(4), white;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      sums[static_cast<std::size_t>((y * 2 / height) * 2 + x * 2 / width)] +=
          static_cast<unsigned char>(gray[static_cast<std::size_t>(y * width + x)]) > 128 ? 1 : 0;
    }
  }
  for (const int s : sums) white.push_back(s * 100 / (width * height / 4) > 50 ? 1 : 0);
  return white;
}

TEST(VideoJob, ModelSeesTheUprightPictureAndTheRotationStays) {
  Scratch scratch;
  const auto plain = scratch / "plain.mp4", in = scratch / "in.mp4";
  ffmpeg(
      "-f lavfi -i color=black:s=64x32:d=0.2:r=10,drawbox=0:0:32:16:white:fill -c:v libx264 -preset "
      "ultrafast {}",
      {plain});
  // The network takes for foreground whatever lies in its input's bottom left quarter.
  const auto bottom_left = fake([](int x, int y, const float*) { return x < 16 && y >= 16 ? 1.0f : 0.0f; });
  for (const char* angle : {"90", "180", "270"}) {
    ffmpeg(std::string("-i {} -c copy -metadata:s:v:0 rotate=") + angle + " {}", {plain, in});
    const bool swapped = std::string(angle) != "180";
    for (const char* extension : {"mp4", "mkv"}) {
      const auto out = scratch / (std::string("out") + angle + "." + extension);
      const JobReport report = pipeline::run(job(in, out, Effect::mask), {}, bottom_left);
      const std::string shown = raw_frames(out, "gray");  // ffmpeg turns it for display
      const int width = swapped ? 32 : 64, height = swapped ? 64 : 32;
      ASSERT_EQ(shown.size(), static_cast<std::size_t>(2 * width * height)) << angle << extension;
      EXPECT_EQ(white_quarters(shown, width, height), (std::vector<int>{0, 0, 1, 0})) << angle << extension;
      if (std::string(extension) == "mp4") {
        EXPECT_EQ(stream_value(out, "v:0", "side_data=rotation"),
                  stream_value(in, "v:0", "side_data=rotation"));
        EXPECT_EQ(stream_value(out, "v:0", "width"), "64");
      } else {
        EXPECT_EQ(stream_value(out, "v:0", "side_data=rotation"), "");
        EXPECT_THAT(report.notices, Contains(HasSubstr("cannot say how a picture is to be turned")));
      }
    }
  }
}

TEST(VideoJob, OddSizesComeOutWhole) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=65x33:r=25:d=0.4 -pix_fmt yuv420p -c:v ffv1 {}", {in});
  const JobReport report = pipeline::run(job(in, out, Effect::blur), {}, bright());
  EXPECT_EQ(stream_value(out, "v:0", "width"), "65");
  EXPECT_EQ(stream_value(out, "v:0", "height"), "33");
  EXPECT_EQ(frame_times(out).size(), 10u);
  EXPECT_THAT(report.notices, Contains(HasSubstr("odd side")));
}

TEST(VideoJob, PicturesThatChangeSizeInMidStreamAreFitted) {
  Scratch scratch;
  const auto a = scratch / "a.ts", b = scratch / "b.ts", in = scratch / "in.ts", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v libx264 -preset ultrafast {}", {a});
  ffmpeg("-f lavfi -i testsrc=s=96x64:r=25:d=1 -output_ts_offset 1 -c:v libx264 -preset ultrafast {}", {b});
  write_text(in, read_file(a) + read_file(b));
  const JobReport report = pipeline::run(job(in, out, Effect::blur), {}, bright());
  EXPECT_EQ(report.frames, 50);
  EXPECT_EQ(stream_value(out, "v:0", "width"), "64");
  EXPECT_EQ(frame_times(out).size(), 50u);
}

TEST(VideoJob, GrayVideoWorks) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -pix_fmt gray -c:v ffv1 {}", {in});
  EXPECT_EQ(pipeline::run(job(in, out, Effect::blur), {}, bright()).frames, 10);
}

TEST(VideoJob, ColoursOfAPaletteStay) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  // High enough that players take BT.709 for granted.
  ffmpeg("-f lavfi -i color=red:s=1280x720:r=5:d=0.2 -pix_fmt pal8 -c:v png {}", {in});
  ASSERT_EQ(stream_value(in, "v:0", "pix_fmt"), "pal8");
  for (const char* name : {"out.mp4", "out.mkv"}) {
    const auto out = scratch / name;
    JobOptions options = job(in, out, Effect::blur);
    options.crf = 0;
    const JobReport report = pipeline::run(options, {}, everything());
    EXPECT_EQ(stream_value(out, "v:0", "color_space"), "bt709");
    const std::string planes = raw_frames(out, "yuv444p");
    const std::size_t area = 1280 * 720;
    ASSERT_EQ(planes.size(), 3 * area);
    EXPECT_NEAR(static_cast<unsigned char>(planes[area / 2]), 63, 1);
    EXPECT_NEAR(static_cast<unsigned char>(planes[area + area / 2]), 102, 1);
    EXPECT_NEAR(static_cast<unsigned char>(planes[2 * area + area / 2]), 240, 1);
    EXPECT_THAT(report.notices, testing::Not(Contains(HasSubstr("transparency"))));
  }
}

TEST(VideoJob, StandardStreamsAndPipesCarryVideo) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", fifo = scratch / "out.mp4", copy = scratch / "copy.mp4";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -preset ultrafast -c:a aac {}",
      {in});
  ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  std::thread reader([&] { run_command({"cp", fifo.string(), copy.string()}); });
  const JobReport report = pipeline::run(job(in, fifo, Effect::blur), {}, bright());
  reader.join();
  EXPECT_EQ(report.frames, 25);
  EXPECT_EQ(frame_times(copy), frame_times(in));
  EXPECT_EQ(packet_hashes(copy, "a:0"), packet_hashes(in, "a:0"));
}

TEST(VideoJob, ReportAddsUp) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=2 -c:v libx264 -preset ultrafast {}", {in});
  JobCallbacks callbacks;
  std::vector<std::int64_t> seen;
  int planned = 0;
  callbacks.planned = [&](const JobReport& report) {
    ++planned;
    EXPECT_EQ(report.input_summary, "64x48 h264 yuv444p, 25 fps");
  };
  callbacks.progress = [&](const JobProgress& progress) {
    seen.push_back(progress.frames);
    EXPECT_EQ(progress.expected_frames, 50);
  };
  const JobReport report = pipeline::run(job(in, out, Effect::blur), callbacks, bright());
  EXPECT_EQ(planned, 1);
  ASSERT_EQ(seen.size(), 50u);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(report.output, out);
  EXPECT_GE(report.output_bytes, static_cast<std::int64_t>(std::filesystem::file_size(out)));
  EXPECT_GT(report.peak_memory_bytes, 0);
  std::vector<std::string> names;
  for (const StageReport& stage : report.stages) names.push_back(stage.name);
  EXPECT_THAT(names,
              testing::ElementsAre("decode", "preprocess", "infer", "mask", "composite", "encode", "write"));
  EXPECT_THAT(names, Contains(report.limiting_stage));
}

TEST(VideoJob, DryRunWritesNothing) {
  Scratch scratch;
  const auto in = scratch / "in.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v libx264 -preset ultrafast {}", {in});
  JobOptions options = job(in, scratch / "out.mp4", Effect::remove);
  options.dry_run = true;
  const JobReport report = pipeline::run(options, {}, bright());
  EXPECT_EQ(report.frames, 0);
  EXPECT_THAT(report.output_summary, HasSubstr("libx264"));
  EXPECT_THAT(report.notices, Contains(HasSubstr("chroma green")));
  EXPECT_THAT(scratch.names(), testing::ElementsAre("in.mp4"));
}

}  // namespace
}  // namespace saccade
