// Single pictures: in and out as files, upright, with the transparency that the format can carry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

pipeline::NetworkFactory top_half() {
  return fake([](int, int y, const float*) { return y < 16 ? 1.0f : 0.0f; });
}

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

TEST(StillJob, PngKeepsTheForegroundExactlyAndLosesTheRest) {
  Scratch scratch;
  const auto in = scratch / "in.png", out = scratch / "out.png";
  ffmpeg("-f lavfi -i testsrc2=s=61x40,format=rgb24 -frames:v 1 {}", {in});
  const JobReport report = pipeline::run(job(in, out, Effect::remove), {}, top_half());
  EXPECT_EQ(report.frames, 1);
  const std::string before = raw_frames(in, "rgba"), after = raw_frames(out, "rgba");
  ASSERT_EQ(before.size(), after.size());
  EXPECT_EQ(before.substr(0, 61 * 4 * 18), after.substr(0, 61 * 4 * 18));  // a soft edge lies between
  for (std::size_t i = 61 * 4 * 22 + 3; i < after.size(); i += 4) ASSERT_EQ(at(after, i), 0u);
}

TEST(StillJob, JpegGetsChromaGreen) {
  Scratch scratch;
  const auto in = scratch / "in.png", out = scratch / "out.jpg";
  ffmpeg("-f lavfi -i color=0x808080:s=64x40 -frames:v 1 {}", {in});
  const JobReport report = pipeline::run(job(in, out, Effect::remove), {}, top_half());
  const std::string after = raw_frames(out, "rgb24");
  EXPECT_NEAR(at(after, 3 * (64 * 5 + 10)), 128, 4);
  const std::size_t removed = 3 * (64 * 35 + 10);
  EXPECT_NEAR(at(after, removed), 0, 6);
  EXPECT_NEAR(at(after, removed + 1), 255, 6);
  EXPECT_THAT(report.notices, Contains(HasSubstr("chroma green")));
}

TEST(StillJob, ExifOrientationIsAppliedOnce) {
  Scratch scratch;
  const auto plain = scratch / "plain.jpg", in = scratch / "in.jpg";
  ffmpeg(
      "-f lavfi -i color=black:s=64x32,drawbox=0:0:32:16:white:fill -frames:v 1 -q:v 1 -pix_fmt yuvj420p {}",
      {plain});
  const std::string jpeg = read_file(plain);
  // Orientation 6: to be turned clockwise for display, so the box at the top left comes to the top right of a
  // 32x64 picture.
  std::string app(
      "\xFF\xE1\x00\x22"
      "Exif\0\0"
      "II*\0\x08\0\0\0"
      "\x01\0"
      "\x12\x01\x03\0\x01\0\0\0",
      28);
  app += std::string{6, 0, 0, 0} + std::string(4, '\0');
  write_text(in, jpeg.substr(0, 2) + app + jpeg.substr(2));
  for (const char* name : {"out.png", "out.jpg"}) {
    pipeline::run(job(in, scratch / name, Effect::blur), {}, everything());
    EXPECT_EQ(stream_value(scratch / name, "v:0", "width"), "32") << name;
    EXPECT_EQ(stream_value(scratch / name, "v:0", "height"), "64") << name;
    const std::string gray = raw_frames(scratch / name, "gray");
    ASSERT_EQ(gray.size(), 32u * 64) << name;
    EXPECT_GT(at(gray, 8 * 32 + 24), 200u) << name;
    EXPECT_LT(at(gray, 8 * 32 + 8), 50u) << name;
    EXPECT_LT(at(gray, 56 * 32 + 24), 50u) << name;
  }
}

TEST(StillJob, MaskAndReplaceWork) {
  Scratch scratch;
  const auto in = scratch / "in.jpg", out = scratch / "out.png";
  ffmpeg("-f lavfi -i color=0x808080:s=64x40 -frames:v 1 {}", {in});
  pipeline::run(job(in, out, Effect::mask), {}, top_half());
  std::string after = raw_frames(out, "rgb24");
  EXPECT_EQ(at(after, 3 * (64 * 5 + 10)), 255u);
  EXPECT_EQ(at(after, 3 * (64 * 35 + 10)), 0u);
  JobOptions options = job(in, scratch / "replaced.png", Effect::replace);
  options.background = "10,20,30";
  pipeline::run(options, {}, top_half());
  after = raw_frames(options.output, "rgb24");
  EXPECT_NEAR(at(after, 3 * (64 * 35 + 10)), 10, 1);
  EXPECT_NEAR(at(after, 3 * (64 * 35 + 10) + 1), 20, 1);
}

TEST(StillJob, ManyKindsOfPicturesAreRead) {
  Scratch scratch;
  const std::pair<const char*, const char*> kinds[] = {
      {"a.png", "gray"},  {"b.png", "rgba"},     {"c.png", "rgb48be"},
      {"d.png", "pal8"},  {"e.jpg", "yuvj422p"}, {"f.jpg", "yuvj444p"},
      {"g.bmp", "bgr24"}, {"h.webp", "yuv420p"}, {"i.png", "ya8"}};
  for (const auto& [name, format] : kinds) {
    ffmpeg(std::string("-f lavfi -i testsrc=s=33x21,format=") + format + " -frames:v 1 {}", {scratch / name});
    const auto out = scratch / (std::string(name) + ".png");
    pipeline::run(job(scratch / name, out, Effect::blur), {}, everything());
    EXPECT_EQ(stream_value(out, "v:0", "width"), "33") << name;
    const auto jpeg = scratch / (std::string(name) + ".jpg");
    pipeline::run(job(scratch / name, jpeg, Effect::blur), {}, everything());
    EXPECT_EQ(stream_value(jpeg, "v:0", "height"), "21") << name;
  }
}

TEST(StillJob, PicturesInContainersOfVideosAndIconsAreSinglePictures) {
  Scratch scratch;
  ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1 -c:v libaom-av1 -still-picture 1 -cpu-used 8 {}",
         {scratch / "a.avif"});
  ffmpeg("-f lavfi -i testsrc=s=32x32,format=rgba -frames:v 1 {}", {scratch / "b.ico"});
  for (const char* name : {"a.avif", "b.ico"}) {
    const auto out = scratch / (std::string(name) + ".png");
    EXPECT_EQ(pipeline::run(job(scratch / name, out, Effect::blur), {}, everything()).frames, 1) << name;
    EXPECT_EQ(stream_value(out, "v:0", "width"), "32") << name;
    EXPECT_THROW(pipeline::run(job(scratch / name, scratch / "out.mp4", Effect::blur), {}, everything()),
                 Error);
  }
  // A video of one frame is one.
  ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1 -c:v libx264 {}", {scratch / "c.mp4"});
  EXPECT_EQ(pipeline::run(job(scratch / "c.mp4", scratch / "out.mp4", Effect::blur), {}, everything()).frames,
            1);
}

TEST(StillJob, PictureAndVideoAreNotMixed) {
  Scratch scratch;
  const auto picture = scratch / "in.png", video = scratch / "in.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x40 -frames:v 1 {}", {picture});
  ffmpeg("-f lavfi -i testsrc=s=64x40:d=0.2 -c:v libx264 {}", {video});
  EXPECT_THROW(pipeline::run(job(picture, scratch / "out.mp4", Effect::blur), {}, everything()), Error);
  EXPECT_THROW(pipeline::run(job(video, scratch / "out.png", Effect::blur), {}, everything()), Error);
  EXPECT_THAT(scratch.names(), testing::ElementsAre("in.mp4", "in.png"));
}

TEST(StillJob, DamagedPicturesAreErrors) {
  Scratch scratch;
  const auto in = scratch / "in.png";
  ffmpeg("-f lavfi -i testsrc2=s=64x40 -frames:v 1 {}", {in});
  const std::string png = read_file(in);
  for (const std::size_t size : {std::size_t{9}, std::size_t{20}, png.size() / 4}) {
    write_text(scratch / "cut.png", png.substr(0, size));
    EXPECT_THROW(pipeline::run(job(scratch / "cut.png", scratch / "out.png", Effect::blur), {}, everything()),
                 Error)
        << size;
  }
  EXPECT_THAT(scratch.names(), testing::ElementsAre("cut.png", "in.png"));
}

// What programs write picture by picture: on a pipe, and in files of such a kind.
TEST(PicturesInOneStream, AreNeverTakenForOneWithoutAWord) {
  Scratch scratch;
  ::signal(SIGPIPE, SIG_IGN);  // not all is read
  for (const char* kind : {"png", "bmp", "webp"}) {
    const bool webp = std::string(kind) == "webp";
    const auto one = scratch / (std::string("one.") + kind), two = scratch / (std::string("two.") + kind),
               fifo = scratch / (std::string(kind) + ".fifo");
    const std::string codec = webp ? "libwebp -f image2pipe" : std::string(kind) + " -f image2pipe";
    ffmpeg("-f lavfi -i testsrc=s=64x48 -frames:v 1 -c:v " + codec + " {}", {one});
    write_text(two, read_file(one) + read_file(one));
    ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
    const auto work = [&](const std::filesystem::path& content, const char* output, bool strict) {
      std::jthread writer(
          [&, bytes = read_file(content)] { std::ofstream(fifo, std::ios::binary) << bytes; });
      JobOptions options = job(fifo, scratch / output, Effect::blur);
      options.overwrite = true;
      options.strict = strict;
      try {
        std::string all;
        const JobReport report = pipeline::run(options, {}, everything());
        EXPECT_EQ(report.frames, 1);
        for (const std::string& notice : report.notices) all += notice + "\n";
        return all;
      } catch (const Error& e) {
        return std::string(e.what());
      }
    };
    EXPECT_THAT(work(one, "out.png", true), testing::Not(testing::HasSubstr("further pictures"))) << kind;
    EXPECT_THAT(work(two, "out.png", false), testing::HasSubstr("further pictures follow")) << kind;
    EXPECT_THAT(work(two, "out.png", true), testing::HasSubstr("only the first is")) << kind;
    EXPECT_THAT(work(two, "out.mkv", false), testing::HasSubstr("holds several pictures")) << kind;
    EXPECT_THAT(work(one, "out.mkv", false), testing::HasSubstr("is a single picture")) << kind;
  }
}

}  // namespace
}  // namespace saccade
