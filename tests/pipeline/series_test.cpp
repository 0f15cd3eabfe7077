// Pictures in many files as one video.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"
#include "media/picture_list.h"
#include "pipeline/sample_pictures.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Series : testing::Test {
  Scratch scratch;
  std::filesystem::path folder = scratch / "frames";
  void SetUp() override { std::filesystem::create_directory(folder); }
  /// frame_000001.EXT and so on.
  void make(int frames, const std::string& extension, const std::string& more = "") {
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25 -frames:v " + std::to_string(frames) + " " + more + " {}",
           {folder / ("frame_%06d." + extension)});
  }
  std::string raw_of(const std::filesystem::path& file) const { return raw_frames(file, "rgb24"); }
  /// What FFmpeg reads the numbered pictures as.
  std::string raw_of_series(const std::string& extension) const {
    const auto whole = scratch / "whole.mkv";
    ffmpeg("-i {} -c:v ffv1 -pix_fmt rgb24 {}", {folder / ("frame_%06d." + extension), whole});
    return raw_of(whole);
  }
  JobOptions lossless(const std::filesystem::path& input, const std::filesystem::path& output) const {
    JobOptions options = job(input, output, Effect::blur);
    options.encoder = "ffv1";
    return options;
  }
  std::string error_of(const JobOptions& options) const {
    try {
      pipeline::run(options, {}, everything());
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(Series, RgbIsOfFullColourInH264UnlessItsProfileSaysOtherwise) {
  make(3, "png");
  const auto run = [&](const std::string& encoder, const std::string& profile) {
    JobOptions options = job(folder, scratch / "out.mp4", Effect::blur);
    options.overwrite = true;
    options.encoder = encoder;
    if (!profile.empty()) options.encoder_options = {{"profile", profile}};
    return pipeline::run(options, {}, everything()).notices;
  };
  const auto format = [&] { return stream_value(scratch / "out.mp4", "v:0", "pix_fmt"); };
  struct Kind {
    std::string encoder, full, usual;
  };
  for (const Kind& kind : {Kind{"libx264", "yuv444p", "high"}, {"libx265", "gbrp", "main"}}) {
    EXPECT_THAT(run(kind.encoder, ""), Contains(HasSubstr("profile=" + kind.usual))) << kind.encoder;
    EXPECT_EQ(format(), kind.full);
    EXPECT_THAT(run(kind.encoder, kind.usual), Not(Contains(HasSubstr("profile=")))) << kind.encoder;
    EXPECT_EQ(format(), "yuv420p") << kind.encoder;
  }
}

TEST_F(Series, NumbersFoldersAndPatternsGiveEveryPicture) {
  make(12, "png");
  write_text(folder / "notes.txt", "no picture");
  write_text(folder / ".hidden.png", "no picture");
  const std::string expected = raw_of_series("png");
  ASSERT_EQ(expected.size(), 12u * 64 * 48 * 3);
  int round = 0;
  for (const auto& input :
       {folder / "frame_%06d.png", folder, folder / "*.png", folder / "frame_0000[0-1]?.png"}) {
    const auto out = scratch / ("out" + std::to_string(round++) + ".mkv");
    const JobReport report = pipeline::run(lossless(input, out), {}, everything());
    EXPECT_EQ(report.frames, 12) << input;
    EXPECT_TRUE(raw_of(out) == expected) << input;
    EXPECT_EQ(stream_value(out, "v:0", "r_frame_rate"), "25/1") << input;
    EXPECT_EQ(frame_times(out).back(), "0.440000") << input;
  }
}

TEST_F(Series, PhotosAndOtherKindsOfPictures) {
  for (const char* extension : {"jpg", "webp", "tiff", "bmp", "ppm", "tga"}) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    make(5, extension, std::string(extension) == "webp" ? "-c:v libwebp" : "");
    const auto out = scratch / (std::string(extension) + ".mkv");
    const JobReport report = pipeline::run(lossless(folder, out), {}, everything());
    EXPECT_EQ(report.frames, 5) << extension;
    EXPECT_EQ(frame_times(out).size(), 5u) << extension;
    EXPECT_TRUE(raw_of(out) == raw_of_series(extension)) << extension;
  }
}

TEST_F(Series, TheRateIsAnOption) {
  make(6, "png");
  JobOptions options = lossless(folder / "frame_%06d.png", scratch / "out.mp4");
  options.encoder = "";
  options.input_options = {{"framerate", "30000/1001"}};
  EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 6);
  EXPECT_EQ(stream_value(options.output, "v:0", "r_frame_rate"), "30000/1001");
  EXPECT_EQ(frame_times(options.output).back(), "0.166833");
  options.input_options = {{"framerate", "fast"}};
  options.overwrite = true;
  EXPECT_THAT(error_of(options), HasSubstr("'fast' is no rate of pictures"));
}

TEST_F(Series, MissingNumbersKeepTheirPlace) {
  make(10, "png");
  for (const char* name : {"frame_000003.png", "frame_000004.png", "frame_000008.png"})
    std::filesystem::remove(folder / name);
  write_text(folder / "frame_11.png", "not of the series");
  const auto out = scratch / "out.mkv";
  const JobReport report = pipeline::run(lossless(folder / "frame_%06d.png", out), {}, everything());
  EXPECT_EQ(report.frames, 7);
  EXPECT_THAT(frame_times(out), ElementsAre("0.000000", "0.040000", "0.160000", "0.200000", "0.240000",
                                            "0.320000", "0.360000"));
  EXPECT_THAT(report.notices, Contains(HasSubstr("3 numbers of the series of pictures are missing")));
}

TEST_F(Series, EmptyFilesAndLinksToNothingAreSkippedAndCounted) {
  for (const char* bad : {"frame_000001.png", "frame_000004.png", "frame_000010.png"}) {
    for (const int kind : {0, 1, 2}) {
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
      make(10, "png");
      std::filesystem::remove(folder / bad);
      if (kind == 0) write_text(folder / bad, "");
      if (kind == 1) std::filesystem::create_symlink("nowhere.png", folder / bad);
      if (kind == 2) std::filesystem::create_symlink(bad, folder / bad);  // to itself
      for (const auto& in : {folder, folder / "frame_%06d.png", folder / "*.png"}) {
        if (kind != 0 && in == folder / "*.png") continue;
        JobOptions options = lossless(in, scratch / "out.mkv");
        options.overwrite = true;
        const JobReport report = pipeline::run(options, {}, everything());
        EXPECT_EQ(report.frames, 9) << bad << kind;
        EXPECT_EQ(report.damaged_packets, 1) << bad << kind;
        options.strict = true;
        EXPECT_THAT(error_of(options), HasSubstr("damaged")) << bad << kind;
      }
    }
  }
  // Nothing else.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  write_text(folder / "1.png", "");
  EXPECT_THAT(error_of(lossless(folder, scratch / "none.mkv")), HasSubstr("1.png"));
}

TEST_F(Series, RangesTakePictures) {
  make(50, "png");
  const auto out = scratch / "out.mkv";
  JobOptions options = lossless(folder / "frame_%06d.png", out);
  options.start = 1;
  options.duration = 0.4;
  EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 10);
  const std::string all = raw_of_series("png");
  constexpr std::size_t kPicture = 64 * 48 * 3;
  EXPECT_TRUE(raw_of(out) == all.substr(25 * kPicture, 10 * kPicture));
  options.duration.reset();
  options.frames = 3;
  options.overwrite = true;
  EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 3);
  EXPECT_TRUE(raw_of(out) == all.substr(25 * kPicture, 3 * kPicture));
  options.start = 10;
  EXPECT_THAT(error_of(options), HasSubstr("shown at 1.960 s"));
}

TEST_F(Series, NamesAreSortedByTheirNumbers) {
  make(12, "png");
  for (int i = 1; i <= 12; ++i) {
    char padded[32];
    std::snprintf(padded, sizeof(padded), "frame_%06d.png", i);
    std::filesystem::rename(folder / padded, folder / ("f" + std::to_string(i) + ".png"));
  }
  std::vector<std::string> names;
  for (const auto& picture : media::list_pictures(folder)) names.push_back(picture.file.filename().string());
  EXPECT_THAT(names, ElementsAre("f1.png", "f2.png", "f3.png", "f4.png", "f5.png", "f6.png", "f7.png",
                                 "f8.png", "f9.png", "f10.png", "f11.png", "f12.png"));
  std::vector<std::int64_t> numbers;
  for (const auto& picture : media::list_pictures(folder / "f%d.png")) numbers.push_back(picture.number);
  EXPECT_EQ(numbers.size(), 12u);
  EXPECT_EQ(numbers.back(), 11);
}

TEST_F(Series, OtherFilesBesideThePicturesAreNamed) {
  make(4, "png");
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -c:v ffv1 {}", {folder / "clip.mkv"});
  write_text(folder / ".hidden.txt", "not spoken of");
  int round = 0;
  for (const auto& input : {folder, folder / "*"}) {
    const JobReport report =
        pipeline::run(lossless(input, scratch / (std::to_string(round++) + ".mkv")), {}, everything());
    EXPECT_EQ(report.frames, 4) << input;
    EXPECT_THAT(report.notices,
                Contains(HasSubstr("1 other file beside the pictures has no part in the video: clip.mkv")))
        << input;
  }
  write_text(folder / "a.txt", "");
  EXPECT_THAT(pipeline::run(lossless(folder, scratch / "two.mkv"), {}, everything()).notices,
              Contains(HasSubstr("2 other files beside the pictures have no part in the video: a.txt, ...")));
  EXPECT_THAT(pipeline::run(lossless(folder / "*.png", scratch / "only.mkv"), {}, everything()).notices,
              Not(Contains(HasSubstr("beside the pictures"))));
}

TEST_F(Series, PicturesInAndOut) {
  make(4, "png");
  JobOptions options = job(folder / "frame_%06d.png", scratch / "masks" / "m_%03d.png", Effect::mask);
  std::filesystem::create_directory(scratch / "masks");
  options.sequence = true;
  EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 4);
  EXPECT_TRUE(std::filesystem::exists(scratch / "masks" / "m_004.png"));
  // Never over the pictures themselves.
  const std::string before = read_file(folder / "frame_000002.png");
  options.output = folder / "frame_%06d.png";
  options.overwrite = true;
  EXPECT_THAT(error_of(options), HasSubstr("is an input of this job"));
  EXPECT_EQ(read_file(folder / "frame_000002.png"), before);
}

TEST_F(Series, WhatIsNoSeriesIsRefused) {
  EXPECT_THAT(error_of(job(folder, scratch / "out.mkv", Effect::blur)), HasSubstr("folder without pictures"));
  EXPECT_THAT(error_of(job(folder / "x_%04d.png", scratch / "out.mkv", Effect::blur)),
              HasSubstr("no picture has a name of this form"));
  EXPECT_THAT(error_of(job(folder / "*.png", scratch / "out.mkv", Effect::blur)),
              HasSubstr("no picture has a name of this form"));
  EXPECT_THAT(error_of(job(folder / "%d_%d.png", scratch / "out.mkv", Effect::blur)),
              HasSubstr("a pattern has one number"));
  // A file of that very name is meant literally.
  make(1, "png");
  std::filesystem::rename(folder / "frame_000001.png", folder / "x_%04d.png");
  EXPECT_EQ(
      pipeline::run(job(folder / "x_%04d.png", scratch / "out.png", Effect::blur), {}, everything()).frames,
      1);
  std::filesystem::remove(folder / "x_%04d.png");
  // Kinds may not mix, nor may one be something else.
  make(3, "png");
  std::filesystem::rename(folder / "frame_000002.png", scratch / "second.png");
  ffmpeg("-i {} {}", {scratch / "second.png", scratch / "second.jpg"});
  std::filesystem::rename(scratch / "second.jpg", folder / "frame_000002.png");
  EXPECT_THAT(error_of(job(folder, scratch / "out.mkv", Effect::blur)),
              HasSubstr("all pictures must be of one kind"));
  // A container with a picture in it is no picture as it comes.
  for (const auto& each : std::filesystem::directory_iterator(folder)) std::filesystem::remove(each.path());
  ffmpeg("-f lavfi -i testsrc=s=32x32:d=0.04:r=25 {}", {folder / "a.ico"});
  std::filesystem::copy_file(folder / "a.ico", folder / "b.ico");
  EXPECT_THAT(error_of(job(folder, scratch / "out.mkv", Effect::blur)),
              HasSubstr("cannot be the pictures of a series"));
  std::filesystem::remove(folder / "a.ico");
  std::filesystem::remove(folder / "b.ico");
  make(3, "png");
  JobOptions resumable = job(folder, scratch / "out.mkv", Effect::blur);
  resumable.resumable = true;
  EXPECT_THAT(error_of(resumable), HasSubstr("cannot be resumable"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "out.mkv"));
}

TEST_F(Series, CalibrationSeesThem) {
  make(5, "png");
  EXPECT_EQ(pipeline::picture_files({.path = folder / "frame_%06d.png"}).size(), 5u);
  EXPECT_EQ(pipeline::picture_files({.path = folder / "*.png"}).size(), 5u);
}

}  // namespace
}  // namespace saccade
