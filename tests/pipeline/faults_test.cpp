// Faults that users reported of programs of this kind: the rows that no other test holds, and a check that
// every row of faults.txt names tests that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;

/// Kilobytes of freed memory that a sanitizer keeps for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kKeptBySanitizers = 32768;
#elif defined(__has_feature)
constexpr long kKeptBySanitizers =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 32768 : 0;
#else
constexpr long kKeptBySanitizers = 0;
#endif

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

TEST(Faults, EveryRowNamesTestsThatExist) {
  std::set<std::string> tests;
  const std::regex declared(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SACCADE_TESTS)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator i(text.begin(), text.end(), declared), end; i != end; ++i)
      tests.insert((*i)[1].str() + "." + (*i)[2].str());
  }
  std::istringstream table(read_file(std::filesystem::path(SACCADE_TESTS) / "pipeline" / "faults.txt"));
  std::set<std::string> rows;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    rows.insert(line.substr(0, 3));
    std::istringstream names(line.substr(line.rfind('|') + 1));
    int count = 0;
    for (std::string name; std::getline(names, name, ',');) {
      name.erase(0, name.find_first_not_of(' '));
      EXPECT_EQ(tests.count(name), 1u) << line.substr(0, 3) << ": there is no test " << name;
      ++count;
    }
    EXPECT_GT(count, 0) << line;
  }
  EXPECT_EQ(rows.size(), 27u);
}

TEST(Faults, B04FrameRatesStayExactFractions) {
  Scratch scratch;
  for (const char* name : {"out.mp4", "out.mkv", "out.mov"}) {
    const auto in = scratch / (std::string("in") + std::filesystem::path(name).extension().string()),
               out = scratch / name;
    ffmpeg("-f lavfi -i testsrc=s=64x48:r=30000/1001:d=2 -c:v libx264 -preset ultrafast {}", {in});
    pipeline::run(job(in, out, Effect::blur), {}, bright());
    EXPECT_EQ(stream_value(out, "v:0", "r_frame_rate"), "30000/1001") << name;
    EXPECT_EQ(frame_times(out), frame_times(in)) << name;
  }
}

TEST(Faults, B09RedOfBt709StaysWhatItIs) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  // Pure red in BT.709, limited range: Y 63, U 102, V 240.
  ffmpeg(
      "-f lavfi -i color=black:s=64x48:r=10:d=0.2,format=yuv444p,geq=lum=63:cb=102:cr=240 -c:v ffv1 "
      "-colorspace bt709 "
      "-color_primaries bt709 -color_trc bt709 -color_range tv {}",
      {in});
  JobOptions options = job(in, scratch / "out.mkv", Effect::blur);
  options.encoder = "ffv1";
  // A model that takes for foreground what is pure red keeps it all.
  pipeline::run(options, {}, fake([](int, int, const float* rgb) {
                  return rgb[0] > 0.99f && rgb[1] < 0.01f && rgb[2] < 0.01f ? 1.0f : 0.0f;
                }));
  EXPECT_EQ(stream_value(options.output, "v:0", "color_space"), "bt709");
  const std::string yuv = raw_frames(options.output, "yuv444p");
  EXPECT_EQ(at(yuv, 0), 63u);
  EXPECT_EQ(at(yuv, 64 * 48), 102u);
  EXPECT_EQ(at(yuv, 2 * 64 * 48), 240u);
  options = job(in, scratch / "mask.mkv", Effect::mask);
  options.encoder = "ffv1";
  pipeline::run(options, {}, fake([](int, int, const float* rgb) {
                  return rgb[0] > 0.99f && rgb[1] < 0.01f && rgb[2] < 0.01f ? 1.0f : 0.0f;
                }));
  EXPECT_GT(at(raw_frames(options.output, "gray"), 1000), 220u) << "the model did not see pure red";
}

TEST(Faults, B18NoFrameIsLeftInDecoderOrEncoder) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=2 -c:v libx264 -bf 2 {}", {in});
  JobOptions options = job(in, out, Effect::blur);
  options.preset = "medium";
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 50);
  EXPECT_EQ(frame_times(out).size(), 50u);
}

TEST(Faults, B29SizesBeyondAFormatAreErrors) {
  Scratch scratch;
  const auto in = scratch / "in.png";
  ffmpeg("-f lavfi -i color=gray:s=17000x64 -frames:v 1 {}", {in});
  EXPECT_EQ(pipeline::run(job(in, scratch / "out.png", Effect::blur), {}, everything()).frames, 1);
  EXPECT_THROW(pipeline::run(job(in, scratch / "out.webp", Effect::blur), {}, everything()), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch / "out.webp"));
  // A header that claims 100000 pixels a side, and nothing behind it.
  std::string png = read_file(in).substr(0, 33);
  for (const std::size_t place : {std::size_t{16}, std::size_t{20}})
    png.replace(place, 4, std::string("\0\x01\x86\xA0", 4));
  write_text(scratch / "huge.png", png + std::string(900, '\0'));
  EXPECT_THROW(
      pipeline::run(job(scratch / "huge.png", scratch / "huge_out.png", Effect::blur), {}, everything()),
      Error);
}

/// Peak memory of a process that runs the job, in kilobytes.
long peak_of(const JobOptions& options) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      pipeline::run(options, {}, bright());
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return usage.ru_maxrss;
}

TEST(Faults, B35TenTimesTheLengthTakesNoMoreMemory) {
  Scratch scratch;
  long peaks[2] = {};
  for (const int i : {0, 1}) {
    const auto in = scratch / (std::to_string(i) + ".mkv");
    ffmpeg("-f lavfi -i testsrc=s=320x240:r=25:d=" + std::string(i == 0 ? "4" : "40") +
               " -c:v libx264 -preset ultrafast {}",
           {in});
    JobOptions options = job(in, scratch / ("out" + std::to_string(i) + ".mkv"), Effect::blur);
    options.mask_output = scratch / ("mask" + std::to_string(i) + ".json");
    options.threads = 2;
    peaks[i] = peak_of(options);
  }
  // 900 frames more are 100 MB.
  EXPECT_LT(static_cast<double>(peaks[1]), 1.1 * static_cast<double>(peaks[0]) + 2048 + kKeptBySanitizers);
}

// Sound goes on where the pictures end, or pause: it must not gather until the next picture.
TEST(Faults, B35SoundWithoutPicturesTakesNoMoreMemory) {
  Scratch scratch;
  const auto pictures = scratch / "pictures.mkv";
  ffmpeg("-f lavfi -i testsrc=s=160x120:r=25:d=1 -c:v libx264 -preset ultrafast {}", {pictures});
  long peaks[2] = {};
  for (const int i : {0, 1}) {
    const auto in = scratch / ("in" + std::to_string(i) + ".mkv");
    ffmpeg("-i {} -f lavfi -i anoisesrc=r=48000:d=" + std::string(i == 0 ? "20" : "1200") +
               " -map 0:v -map 1:a -c:v copy -c:a pcm_s16le {}",
           {pictures, in});
    JobOptions options = job(in, scratch / ("out" + std::to_string(i) + ".mkv"), Effect::blur);
    options.threads = 2;
    peaks[i] = peak_of(options);
    EXPECT_EQ(packet_hashes(options.output, "a:0"), packet_hashes(in, "a:0")) << i;
    EXPECT_EQ(frame_times(options.output), frame_times(in)) << i;
  }
  // 115 MB of sound; what is held back for the video's sake has a bound that the short one does not reach.
  EXPECT_LT(peaks[1], peaks[0] + 40 * 1024 + kKeptBySanitizers);
}

TEST(Faults, B35PausesBetweenPicturesKeepSoundAndTimes) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=10:d=42,select='lt(t,1)+gt(t,41)' -f lavfi -i anoisesrc=r=48000:d=42 "
      "-vsync vfr -c:v libx264 -preset ultrafast -c:a pcm_s16le {}",
      {in});
  for (const bool resumable : {false, true}) {
    JobOptions options = job(in, scratch / (resumable ? "parts.mkv" : "whole.mkv"), Effect::blur);
    options.resumable = resumable;
    EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 19);
    EXPECT_EQ(packet_hashes(options.output, "a:0"), packet_hashes(in, "a:0"));
    EXPECT_EQ(frame_times(options.output), frame_times(in));
  }
}

TEST(Faults, B38BlackFramesGiveFiniteMasks) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg("-f lavfi -i color=black:s=64x48:r=10:d=0.3 -c:v ffv1 {}", {in});
  for (const float value : {0.0f, 1.0f, std::nanf("")}) {
    JobOptions options =
        job(in, scratch / ("out" + std::to_string(std::isnan(value) ? 2 : static_cast<int>(value)) + ".npy"),
            Effect::mask);
    options.refine = -1;
    pipeline::run(options, {}, fake([value](int, int, const float*) { return value; }));
    const std::string file = read_file(options.output);
    for (std::size_t i = 128; i < file.size(); ++i) ASSERT_EQ(at(file, i), value == 1.0f ? 255u : 0u);
  }
}

TEST(Faults, B39AnEdgeOfColoursStaysInItsColumn) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg(
      "-f lavfi -i color=red:s=64x48:r=10:d=0.2,format=yuv420p,drawbox=32:0:32:48:blue:fill -c:v ffv1 "
      "-chroma_sample_location left {}",
      {in});
  JobOptions options = job(in, scratch / "out.webm", Effect::remove);
  pipeline::run(options, {}, everything());
  const std::string before = raw_frames(in, "yuv420p"), after = raw_frames(options.output, "yuv420p");
  const std::size_t u = 64 * 48 + 12 * 32;
  for (std::size_t x = 4; x < 28; ++x) EXPECT_NEAR(at(after, u + x), at(before, u + x), 24) << x;
  // The step itself lies between the same two samples.
  EXPECT_GT(std::abs(static_cast<int>(at(after, u + 16)) - static_cast<int>(at(after, u + 15))), 100);
}

}  // namespace
}  // namespace saccade
