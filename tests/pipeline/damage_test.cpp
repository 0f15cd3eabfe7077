// Inputs that are cut off, beyond limits, or change on their way: told with numbers, and an error under
// --strict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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

/// Two clips of 10 pictures, one behind the other in a stream.
void join_clips(Scratch& scratch, const std::filesystem::path& clip, const std::string& first,
                const std::string& second) {
  const auto a = scratch / "a.ts", b = scratch / "b.ts";
  const std::string source = "-f lavfi -i rgbtestsrc=s=160x96:r=25:d=0.4 ";
  ffmpeg(source + first + " -c:v libx264 -qp 0 -bf 0 -g 1 {}", {a});
  ffmpeg(source + second + " -c:v libx264 -qp 0 -bf 0 -g 1 -output_ts_offset 0.4 {}", {b});
  write_text(clip, read_file(a) + read_file(b));
}

TEST(ChangingProperties, AreCountedAndAnErrorUnderStrict) {
  struct Change {
    const char *first, *second, *text;
  };
  for (const Change& change :
       {Change{"-pix_fmt yuv420p", "-pix_fmt yuv422p10le",
               "10 frames of the input had another pixel format than the first, yuv420p"},
        Change{"-pix_fmt yuv420p -color_range tv", "-vf scale=out_range=pc -pix_fmt yuv420p -color_range pc",
               "10 frames of the input had another matrix or range than the first, BT.601"},
        Change{"-vf scale=out_color_matrix=bt709 -pix_fmt yuv420p -colorspace bt709",
               "-vf scale=out_color_matrix=bt601 -pix_fmt yuv420p -colorspace smpte170m",
               "10 frames of the input had another matrix or range than the first, BT.709"},
        Change{"-pix_fmt yuv420p -color_trc bt709", "-pix_fmt yuv420p -color_trc smpte2084",
               "10 frames of the input had another transfer curve or primaries than the first"},
        Change{"-vf setsar=1 -pix_fmt yuv420p", "-vf setsar=2 -pix_fmt yuv420p",
               "10 frames of the input had another shape of pixels than the first, 1:1"}}) {
    Scratch scratch;
    const auto clip = scratch / "clip.ts";
    join_clips(scratch, clip, change.first, change.second);
    JobOptions options = job(clip, scratch / "out.mkv", Effect::blur);
    options.overwrite = true;
    EXPECT_THAT(pipeline::run(options, {}, everything()).notices, Contains(HasSubstr(change.text)));
    options.strict = true;
    EXPECT_THAT(error_of(options), AllOf(HasSubstr("frame 10 is of another"), HasSubstr("--strict")))
        << change.text;
    // What stays, or says what was taken for granted, is no change.
    join_clips(scratch, clip, change.first, change.first);
    EXPECT_EQ(error_of(options), "no error") << change.first;
  }
  Scratch scratch;
  join_clips(scratch, scratch / "clip.ts", "-pix_fmt yuv420p",
             "-pix_fmt yuv420p -color_range tv -colorspace smpte170m");
  JobOptions options = job(scratch / "clip.ts", scratch / "out.mkv", Effect::blur);
  options.strict = true;
  EXPECT_EQ(error_of(options), "no error");
}

// The same picture in another matrix, range and depth: it comes out as the first one's samples are.
TEST(ChangingProperties, SamplesMeanWhatTheyMeant) {
  for (const char* second : {"-vf scale=out_range=pc -pix_fmt yuv444p -color_range pc",
                             "-vf scale=out_color_matrix=bt709 -pix_fmt yuv444p -colorspace bt709",
                             "-vf scale=out_color_matrix=bt709:out_range=pc -pix_fmt yuv444p10le -colorspace "
                             "bt709 -color_range pc"}) {
    Scratch scratch;
    const auto clip = scratch / "clip.ts", out = scratch / "out.mkv";
    join_clips(scratch, clip, "-vf scale=out_color_matrix=bt601 -pix_fmt yuv444p", second);
    JobOptions options = job(clip, out, Effect::blur);
    options.encoder = "ffv1";
    pipeline::run(options, {}, everything());
    const std::string frames = raw_frames(out, "yuv444p");
    const std::size_t size = std::size_t{160} * 96 * 3;
    ASSERT_EQ(frames.size(), 20 * size) << second;
    int most = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int before = static_cast<unsigned char>(frames[i]),
                behind = static_cast<unsigned char>(frames[15 * size + i]);
      most = std::max(most, std::abs(before - behind));
    }
    EXPECT_LE(most, 4) << second;
  }
}

// A background that runs along may change as well.
TEST(ChangingProperties, OfABackgroundAreMendedToo) {
  Scratch scratch;
  const auto clip = scratch / "background.ts", in = scratch / "in.mkv", out = scratch / "out.mkv";
  join_clips(
      scratch, clip, "-vf scale=out_color_matrix=bt601 -pix_fmt yuv444p",
      "-vf scale=out_color_matrix=bt709:out_range=pc -pix_fmt yuv444p -colorspace bt709 -color_range pc");
  ffmpeg("-f lavfi -i color=gray:s=160x96:r=25:d=0.8 -c:v ffv1 -pix_fmt yuv444p {}", {in});
  JobOptions options = job(in, out, Effect::replace);
  options.background = clip.string();
  options.encoder = "ffv1";
  pipeline::run(options, {}, nothing());
  const std::string frames = raw_frames(out, "yuv444p");
  const std::size_t size = std::size_t{160} * 96 * 3;
  ASSERT_EQ(frames.size(), 20 * size);
  int most = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const int before = static_cast<unsigned char>(frames[i]),
              behind = static_cast<unsigned char>(frames[15 * size + i]);
    most = std::max(most, std::abs(before - behind));
  }
  EXPECT_LE(most, 4);
}

}  // namespace
}  // namespace saccade
