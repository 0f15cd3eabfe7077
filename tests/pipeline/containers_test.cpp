// What containers and codecs cannot hold as it is: rates, delays, counts, time codes, pages, bits.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

TEST(Theora, EveryFrameAtTheRateOfTheInput) {
  if (avcodec_find_encoder_by_name("libtheora") == nullptr) GTEST_SKIP() << "no encoder of Theora";
  Scratch scratch;
  const auto in = scratch / "in.mp4", uneven = scratch / "uneven.mp4";
  ffmpeg("-f lavfi -i testsrc2=s=160x96:r=25:d=2 -c:v libx264 {}", {in});
  ffmpeg(
      "-f lavfi -i testsrc2=s=160x96:r=25:d=2 -vf select=lt(t\\,1)+not(mod(n\\,3)) -vsync vfr -c:v libx264 "
      "{}",
      {uneven});
  for (const char* name : {"out.ogv", "out.mkv"}) {
    JobOptions options = job(in, scratch / name, Effect::blur);
    if (std::string(name) == "out.mkv") options.encoder = "libtheora";
    const JobReport report = pipeline::run(options, {}, everything());
    EXPECT_EQ(report.frames, 50) << name;
    EXPECT_EQ(stream_value(options.output, "v:0", "codec_name"), "theora") << name;
    EXPECT_EQ(stream_value(options.output, "v:0", "r_frame_rate"), "25/1") << name;
    EXPECT_EQ(frame_times(options.output), frame_times(in)) << name;
  }
  JobOptions options = job(uneven, scratch / "uneven.ogv", Effect::blur);
  const JobReport report = pipeline::run(options, {}, everything());
  EXPECT_THAT(report.notices, Contains(HasSubstr("do not come evenly")));
  EXPECT_EQ(static_cast<std::int64_t>(frame_times(options.output).size()), report.frames);
}

std::vector<unsigned> webp_delays(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  std::vector<unsigned> delays;
  for (std::size_t p = 12; p + 8 <= bytes.size();) {
    const std::size_t length = at(bytes, p + 4) | at(bytes, p + 5) << 8 | at(bytes, p + 6) << 16;
    if (bytes.compare(p, 4, "ANMF") == 0)
      delays.push_back(at(bytes, p + 20) | at(bytes, p + 21) << 8 | at(bytes, p + 22) << 16);
    p += 8 + length + length % 2;
  }
  return delays;
}

TEST(AnimatedWebp, TheLastDelayStays) {
  Scratch scratch;
  const auto in = scratch / "in.gif", out = scratch / "out.webp";
  // Pictures that differ so much that the encoder joins none.
  const std::string frames = "-f lavfi -i mandelbrot=s=64x48:r=10:start_scale=0.4 -frames:v 4 ";
  ffmpeg(frames + "-final_delay 200 {}", {in});
  pipeline::run(job(in, out, Effect::blur), {}, everything());
  EXPECT_THAT(webp_delays(out), ElementsAre(100, 100, 100, 2000));
  ffmpeg("-f lavfi -i mandelbrot=s=64x48:r=10 -frames:v 1 {}", {scratch / "one.png"});
  ffmpeg("-f lavfi -i mandelbrot=s=64x48:r=10 -frames:v 4 -final_delay 3 {}", {in});
  JobOptions options = job(in, out, Effect::blur);
  options.overwrite = true;
  pipeline::run(options, {}, everything());
  EXPECT_THAT(webp_delays(out), ElementsAre(100, 100, 100, 30));
}

TEST(Apng, OnAPipeItTellsHowManyPicturesItHas) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", file = scratch / "file.apng", piped = scratch / "piped.apng";
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -c:v ffv1 {}", {in});
  pipeline::run(job(in, file, Effect::blur), {}, everything());
  JobOptions options = job(in, "-", Effect::blur);
  options.output_format = "apng";
  const int standard = ::dup(STDOUT_FILENO);
  const int target = ::open(piped.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::fflush(stdout);
  ::dup2(target, STDOUT_FILENO);
  pipeline::run(options, {}, everything());
  ::dup2(standard, STDOUT_FILENO);
  ::close(standard);
  ::close(target);
  EXPECT_TRUE(read_file(piped) == read_file(file));
  const std::string bytes = read_file(piped);
  const std::size_t control = bytes.find("acTL");
  ASSERT_NE(control, std::string::npos);
  EXPECT_EQ(bytes.substr(control + 4, 4), std::string("\0\0\0\x0a", 4));
}

TEST(TimeCode, IsMovedToTheStartOfARange) {
  Scratch scratch;
  for (const auto& [rate, start, code] : {std::tuple{"24", 0.5, "01:00:00:12"},
                                          {"25", 0.5, "01:00:00:12"},
                                          {"24000/1001", 0.5, "01:00:00:12"},
                                          {"25", 0.0, "01:00:00:00"},
                                          {"25", 1.2, "01:00:01:05"}}) {
    const auto in = scratch / "in.mov";
    ffmpeg(std::string("-f lavfi -i testsrc2=s=64x48:d=2:r=") + rate +
               " -f lavfi -i sine=d=2 -c:v libx264 -c:a aac -timecode 01:00:00:00 {}",
           {in});
    for (const char* name : {"out.mov", "out.mp4"}) {
      JobOptions options = job(in, scratch / name, Effect::blur);
      options.start = start;
      options.overwrite = true;
      const JobReport report = pipeline::run(options, {}, everything());
      EXPECT_EQ(stream_value(options.output, "v:0", "tags=timecode"), code) << rate << " " << name;
      EXPECT_THAT(report.notices, Not(Contains(HasSubstr("left out")))) << rate << " " << name;
    }
  }
}

TEST(Tiff, PagesBehindTheFirstAreTold) {
  Scratch scratch;
  const auto one = scratch / "one.tif", many = scratch / "many.tif";
  ffmpeg("-f lavfi -i testsrc=s=64x48 -frames:v 1 -pix_fmt rgb24 -compression_algo raw {}", {one});
  // The same directory twice more: each names the next at its end.
  std::string bytes = read_file(one);
  const auto number = [&](std::size_t place, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | at(bytes, place + i);
    return value;
  };
  const auto put = [&](std::size_t place, std::size_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[place + i] = static_cast<char>(value >> 8 * i & 255);
  };
  ASSERT_EQ(bytes[0], 'I');
  std::size_t directory = number(4, 4);
  const std::string entries = bytes.substr(directory, 2 + 12 * number(directory, 2) + 4);
  for (int page = 0; page < 2; ++page) {
    put(directory + entries.size() - 4, bytes.size());
    directory = bytes.size();
    bytes += entries;
  }
  write_text(many, bytes);
  JobReport report = pipeline::run(job(one, scratch / "one.png", Effect::blur), {}, everything());
  EXPECT_THAT(report.notices, Not(Contains(HasSubstr("pages"))));
  report = pipeline::run(job(many, scratch / "many.png", Effect::blur), {}, everything());
  EXPECT_THAT(report.notices, Contains(HasSubstr("has 3 pages: only the first")));
  std::filesystem::create_directory(scratch / "frames");
  std::filesystem::copy_file(one, scratch / "frames" / "1.tif");
  std::filesystem::copy_file(many, scratch / "frames" / "2.tif");
  report = pipeline::run(job(scratch / "frames", scratch / "series.mkv", Effect::blur), {}, everything());
  EXPECT_THAT(report.notices, Contains(HasSubstr("2 further pages are left out")));
}

TEST(RawStreams, SayThatTimesAreLost) {
  Scratch scratch;
  const auto even = scratch / "even.mkv", uneven = scratch / "uneven.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v ffv1 {}", {even});
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=2 -vf select=lt(t\\,1)+not(mod(n\\,3)) -vsync vfr -c:v ffv1 {}",
         {uneven});
  for (const char* name : {"a.h264", "b.yuv", "c.hevc"}) {
    JobOptions options = job(uneven, scratch / name, Effect::blur);
    if (std::string(name) == "c.hevc") options.encoder = "libx265";
    const JobReport report = pipeline::run(options, {}, everything());
    if (std::string(name) == "c.hevc" && report.frames == 0) continue;
    EXPECT_THAT(report.notices, Contains(HasSubstr("knows no times"))) << name;
    options.input = even;
    options.overwrite = true;
    EXPECT_THAT(pipeline::run(options, {}, everything()).notices, Not(Contains(HasSubstr("knows no times"))))
        << name;
  }
}

TEST(Depth, WhatIsLostIsToldAndWhatCanBeKeptIs) {
  Scratch scratch;
  struct Kind {
    const char* format;
    const char* coded;
    const char* said;
  };
  for (const Kind& k : {Kind{"gray16le", "yuv420p12le", "with 12 bits a sample at most, the input has 16"},
                        {"gray12le", "yuv420p12le", ""},
                        {"gray10le", "yuv420p10le", ""},
                        {"gbrp12le", "yuv444p12le", ""},
                        {"gbrp10le", "yuv444p10le", ""},
                        {"gbrp16le", "yuv444p12le", "12 bits a sample at most, the input has 16"},
                        {"gbrap12le", "yuva444p10le", "10 bits a sample at most, the input has 12"},
                        {"gbrp", "bgr0", ""}}) {
    const auto in = scratch / (std::string(k.format) + ".mkv"), out = scratch / "out.mkv";
    ffmpeg(std::string("-f lavfi -i testsrc2=s=64x48:r=25:d=0.08 -c:v ffv1 -pix_fmt ") + k.format + " {}",
           {in});
    JobOptions options = job(in, out, Effect::blur);
    options.encoder = "ffv1";
    options.overwrite = true;
    const JobReport report = pipeline::run(options, {}, everything());
    EXPECT_EQ(stream_value(out, "v:0", "pix_fmt"), k.coded) << k.format;
    if (k.said[0] != '\0') {
      EXPECT_THAT(report.notices, Contains(HasSubstr(k.said))) << k.format;
    } else {
      EXPECT_THAT(report.notices, Not(Contains(HasSubstr("precision is lost")))) << k.format;
    }
  }
}

TEST(CopiedVideo, GetsTheFormThatTheContainerWants) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.avi";
  ffmpeg(
      "-f lavfi -i testsrc2=s=160x96:r=25:d=1 -f lavfi -i testsrc=s=64x48:r=25:d=1 -map 0 -map 1 -c:v "
      "libx264 "
      "-bf 0 {}",
      {in});
  EXPECT_EQ(pipeline::run(job(in, out, Effect::blur), {}, everything()).frames, 25);
  EXPECT_EQ(frame_times(out, "v:0").size(), 25u);
  EXPECT_EQ(frame_times(out, "v:1").size(), 25u);
}

}  // namespace
}  // namespace saccade
