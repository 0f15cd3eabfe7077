// Inputs that are cut off, beyond limits, or change on their way: told with numbers, and an error under
// --strict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const JobOptions& options) {
  try {
    pipeline::run(options, {}, everything());
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

void cut(const std::filesystem::path& from, const std::filesystem::path& to, double part) {
  const std::string whole = read_file(from);
  write_text(to, whole.substr(0, static_cast<std::size_t>(static_cast<double>(whole.size()) * part)));
}

TEST(CutOff, MatroskaIsToldAndAnErrorUnderStrict) {
  Scratch scratch;
  struct Kind {
    const char* name;
    const char* arguments;
  };
  for (const Kind& k : {Kind{"a.mkv", "-c:v libx264 -preset ultrafast -cluster_time_limit 400"},
                        Kind{"b.webm", "-c:v libvpx-vp9 -cpu-used 8 -cluster_time_limit 400"},
                        Kind{"c.mkv", "-c:v libx264 -preset ultrafast -f matroska -live 1"}}) {
    const auto whole = scratch / k.name, part = scratch / (std::string("cut_") + k.name);
    ffmpeg(std::string("-f lavfi -i testsrc2=s=160x90:r=25:d=2 ") + k.arguments + " {}", {whole});
    for (const double share : {0.3, 0.77}) {
      cut(whole, part, share);
      JobOptions options = job(part, scratch / (std::string(k.name) + ".mp4"), Effect::blur);
      options.overwrite = true;
      const JobReport report = pipeline::run(options, {}, everything());
      EXPECT_LT(report.frames, 50) << k.name;
      EXPECT_EQ(report.damaged_packets, 1) << k.name;
      EXPECT_THAT(report.notices, Contains(HasSubstr("cut off"))) << k.name;
      options.strict = true;
      EXPECT_THAT(error_of(options), AnyOf(HasSubstr("cut off"), HasSubstr("damaged"))) << k.name;
    }
    // What is whole, or taken from what is there, is no damage.
    JobOptions options = job(whole, scratch / (std::string(k.name) + "_whole.mp4"), Effect::blur);
    options.strict = true;
    EXPECT_EQ(pipeline::run(options, {}, everything()).damaged_packets, 0) << k.name;
    options = job(part, scratch / (std::string(k.name) + "_ten.mp4"), Effect::blur);
    options.frames = 10;
    options.strict = true;
    EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 10) << k.name;
  }
}

TEST(CutOff, JpegIsToldAndAnErrorUnderStrict) {
  Scratch scratch;
  const auto whole = scratch / "whole.jpg", part = scratch / "part.jpg";
  ffmpeg("-f lavfi -i testsrc2=s=320x240 -frames:v 1 -q:v 2 {}", {whole});
  JobOptions options = job(whole, scratch / "out.png", Effect::blur);
  options.strict = true;
  EXPECT_EQ(pipeline::run(options, {}, everything()).damaged_packets, 0);
  for (const double share : {0.4, 0.9}) {
    cut(whole, part, share);
    options = job(part, scratch / "out.png", Effect::blur);
    options.overwrite = true;
    const JobReport report = pipeline::run(options, {}, everything());
    EXPECT_THAT(report.notices, Contains(HasSubstr("cut off"))) << share;
    EXPECT_EQ(report.damaged_packets, 1) << share;
    options.strict = true;
    EXPECT_THAT(error_of(options), HasSubstr("cut off")) << share;
  }
  // Among the pictures of a series.
  std::filesystem::create_directory(scratch / "frames");
  for (const char* name : {"1.jpg", "2.jpg", "3.jpg"})
    std::filesystem::copy_file(name[0] == '2' ? part : whole, scratch / "frames" / name);
  options = job(scratch / "frames", scratch / "series.mkv", Effect::blur);
  EXPECT_THAT(pipeline::run(options, {}, everything()).notices,
              Contains(HasSubstr("1 frame of the input is damaged")));
  options.overwrite = options.strict = true;
  EXPECT_THAT(error_of(options), HasSubstr("damaged"));
}

TEST(PixelLimit, IsNamedForEveryKindOfPicture) {
  Scratch scratch;
  for (const char* name :
       {"a.png", "b.jpg", "c.tif", "d.bmp", "e.jp2", "f.webp", "g.gif", "h.ppm", "i.dpx"}) {
    ffmpeg("-f lavfi -i testsrc=s=64x48 -frames:v 1 {}", {scratch / name});
    JobOptions options = job(scratch / name, scratch / (std::string(name) + ".png"), Effect::blur);
    options.media_limits.max_pixels = 1000;
    EXPECT_THAT(error_of(options), AllOf(HasSubstr("64x48"), HasSubstr("limit of 1000 pixels"),
                                         HasSubstr("--limit pixels=3072")))
        << name;
    options.media_limits.max_pixels = 3072;
    EXPECT_EQ(error_of(options), "no error") << name;
    for (const int bits : {31, 33, 40}) {
      options.overwrite = true;
      options.media_limits.max_pixels = std::int64_t{1} << bits;
      EXPECT_EQ(error_of(options), "no error") << name << " " << bits;
    }
  }
  // A header that claims 100000 pixels a side.
  std::string png = read_file(scratch / "a.png");
  png.replace(16, 8, std::string("\0\x01\x86\xa0\0\x01\x86\xa0", 8));
  // Its check sum, as FFmpeg looks at it.
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  crc = ~crc;
  for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(crc >> (24 - 8 * i) & 255);
  write_text(scratch / "huge.png", png);
  JobOptions options = job(scratch / "huge.png", scratch / "huge_out.png", Effect::blur);
  EXPECT_THAT(error_of(options), AllOf(HasSubstr("100000x100000"), HasSubstr("limit of 268435456 pixels")));
  options.media_limits.max_pixels = std::int64_t{1} << 40;
  EXPECT_THAT(error_of(options), AllOf(HasSubstr("100000x100000"), HasSubstr("larger than FFmpeg can hold")));
}

TEST(ChangingSize, IsCountedAndAnErrorUnderStrict) {
  Scratch scratch;
  const auto folder = scratch / "frames";
  std::filesystem::create_directory(folder);
  ffmpeg("-f lavfi -i testsrc=s=64x48 -frames:v 5 {}", {folder / "%d.png"});
  ffmpeg("-f lavfi -i testsrc=s=48x64 -frames:v 1 {}", {folder / "3.png"});
  const auto first = scratch / "a.ts", second = scratch / "b.ts", clip = scratch / "clip.ts";
  ffmpeg("-f lavfi -i testsrc=s=160x90:r=25:d=0.4 -c:v libx264 {}", {first});
  ffmpeg("-f lavfi -i testsrc=s=96x96:r=25:d=0.4 -c:v libx264 -output_ts_offset 0.4 {}", {second});
  write_text(clip, read_file(first) + read_file(second));
  for (const auto& [input, text] :
       {std::pair{folder, "1 frame of the input had another size than the first, 64x48, and was scaled"},
        std::pair{clip, "10 frames of the input had another size than the first, 160x90, and were scaled"}}) {
    for (const char* name : {"out.mkv", "out.npy"}) {
      JobOptions options =
          job(input, scratch / name, std::string(name) == "out.npy" ? Effect::mask : Effect::blur);
      options.overwrite = true;
      EXPECT_THAT(pipeline::run(options, {}, everything()).notices, Contains(HasSubstr(text))) << name;
      options.strict = true;
      EXPECT_THAT(error_of(options), HasSubstr("without --strict it is scaled")) << name;
    }
  }
}

}  // namespace
}  // namespace saccade
