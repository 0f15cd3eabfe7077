// Full and limited range of samples: what cannot be told the reader of a result is converted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

/// Mean difference of two pictures, in levels of 255.
double difference(const std::string& a, const std::string& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    sum += std::abs(static_cast<int>(at(a, i)) - static_cast<int>(at(b, i)));
  return sum / static_cast<double>(std::max<std::size_t>(1, a.size()));
}

struct Target {
  const char* encoder;
  const char* name;
  bool tells;  ///< full range stays
};

/// Whoever reads the result sees the contrast of the input, whether its samples were converted or not.
TEST(FullRange, IsToldOrConvertedByEveryEncoderInEveryContainer) {
  Scratch scratch;
  const auto tagged = scratch / "tagged.mp4", bare = scratch / "bare.mkv";
  const std::string source =
      "-f lavfi -i testsrc=s=128x96:r=25:d=0.08 -vf scale=out_range=full,format=yuv420p ";
  ffmpeg(source +
             "-c:v libx264 -qp 0 -color_range pc -colorspace bt709 -color_primaries bt709 -color_trc "
             "bt709 {}",
         {tagged});
  ffmpeg(source + "-c:v ffv1 -color_range pc {}", {bare});
  for (const Target& t : {Target{"", "a.mp4", true},
                          {"", "a.mkv", true},
                          {"", "a.webm", true},
                          {"", "a.avi", true},
                          {"", "a.ts", true},
                          {"", "a.y4m", true},
                          {"libx265", "b.mp4", true},
                          {"libsvtav1", "b.mkv", true},
                          {"ffv1", "b.mkv", true},
                          {"prores_ks", "c.mov", false},
                          {"prores", "d.mov", false},
                          {"prores_aw", "e.mov", false},
                          {"prores_ks", "c.mkv", false},
                          {"mpeg2video", "f.mxf", false},
                          {"mpeg2video", "f.mpg", false},
                          {"mpeg2video", "f.mkv", false},
                          {"mpeg4", "g.avi", false},
                          {"mpeg4", "g.mov", false},
                          {"ffv1", "h.nut", false},
                          {"ffv1", "h.avi", false},
                          {"libtheora", "i.ogv", false},
                          {"libvpx", "j.webm", false},
                          {"libvpx", "j.nut", false},
                          {"mpeg4", "k.mp4", false}}) {
    for (const auto& in : {tagged, bare}) {
      JobOptions options = job(in, scratch / (in.stem().string() + t.encoder + t.name), Effect::blur);
      options.encoder = t.encoder;
      if (t.encoder[0] == '\0' && std::string(t.name) != "a.y4m") options.crf = 4;
      if (std::string(t.encoder) == "mpeg2video" || std::string(t.encoder) == "mpeg4" ||
          std::string(t.encoder) == "libvpx" || std::string(t.encoder) == "libtheora")
        options.encoder_options = {{"b", "8000000"}};
      const JobReport report = pipeline::run(options, {}, everything());
      const bool tells = t.tells || (in == tagged && std::string(t.name) == "k.mp4");
      const std::string what = in.stem().string() + " " + t.encoder + " " + t.name;
      if (tells) {
        EXPECT_THAT(report.notices, testing::Not(Contains(HasSubstr("full range")))) << what;
      } else {
        EXPECT_THAT(report.notices, Contains(HasSubstr("cannot say that samples are of full range"))) << what;
      }
      EXPECT_LT(difference(raw_frames(options.output, "gray", ""), raw_frames(in, "gray")), 4) << what;
    }
  }
}

TEST(FullRange, TransparentResultsAreConvertedToo) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg(
      "-f lavfi -i testsrc=s=128x96:r=25:d=0.08 -vf scale=out_range=full,format=yuv420p -c:v ffv1 "
      "-color_range pc {}",
      {in});
  const JobReport report = pipeline::run(job(in, scratch / "out.mov", Effect::remove), {}, everything());
  EXPECT_THAT(report.notices, Contains(HasSubstr("converted to limited range")));
  EXPECT_LT(difference(raw_frames(scratch / "out.mov", "gray"), raw_frames(in, "gray")), 2);
}

/// JPEG files hold full range only.
TEST(FullRange, JpegPicturesOfVideoOfLimitedRange) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg("-f lavfi -i testsrc=s=128x96:r=25:d=0.04 -pix_fmt yuv420p -c:v ffv1 -color_range tv {}", {in});
  JobOptions options = job(in, scratch / "jpg" / "", Effect::blur);
  options.output_format = "jpg";
  options.jpeg_quality = 100;
  pipeline::run(options, {}, everything());
  EXPECT_LT(difference(raw_frames(scratch / "jpg" / "in_000001.jpg", "rgb24"), raw_frames(in, "rgb24")), 4);
}

struct GrayPicture {
  const char* name;
  const char* format;
};

/// A ramp from black to white keeps its ends and its middle.
TEST(FullRange, GreyPicturesUseAllOfTheirLevels) {
  Scratch scratch;
  for (const GrayPicture& p : {
           GrayPicture{"a.tif", "gray16le"},
           {"b.tif", "gray"},
           {"c.tif", "ya8"},
           {"d.tif", "ya16le"},
           {"e.pgm", "gray16be"},
           {"f.pgm", "gray"},
           {"g.png", "gray16be"},
           {"h.png", "ya16be"},
           {"i.dpx", "gray10le"},
           {"j.dpx", "gray"},
           {"k.bmp", "gray"},
           {"l.jp2", "gray"},
       }) {
    const auto in = scratch / p.name, out = scratch / (std::string(p.name) + ".png");
    try {
      ffmpeg(std::string(
                 "-f lavfi -i "
                 "color=black:s=256x16,format=gray,geq=lum=X,scale=in_range=full:out_range=full,format=") +
                 p.format + " -frames:v 1 {}",
             {in});
    } catch (const std::exception&) {
      continue;  // this FFmpeg writes no such picture
    }
    pipeline::run(job(in, out, Effect::blur), {}, everything());
    const std::string rgb = raw_frames(out, "rgb24");
    ASSERT_EQ(rgb.size(), 256u * 16 * 3) << p.name;
    for (const std::size_t x : {0, 10, 128, 245, 255})
      EXPECT_NEAR(at(rgb, 3 * x), static_cast<double>(x), 2) << p.name << " " << x;
  }
}

}  // namespace
}  // namespace saccade
