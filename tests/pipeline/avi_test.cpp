// AVI knows no times: sound stays beside the pictures all the same, wherever both begin.
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
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int kRate = 48000;

/// Seconds from the first bright picture to the first loud sample of a file that begins at zero.
double distance(const std::filesystem::path& file, const Scratch& scratch) {
  const std::string luma = raw_frames(file, "gray");
  constexpr std::size_t kPixels = 64 * 48;
  std::size_t picture = 0;
  while ((picture + 1) * kPixels <= luma.size() &&
         static_cast<unsigned char>(luma[picture * kPixels + kPixels / 2]) < 128)
    ++picture;
  const auto raw = scratch / "sound.raw";
  ffmpeg("-i {} -map a:0 -ac 1 -ar 48000 -f s16le {}", {file, raw});
  const std::string sound = read_file(raw);
  std::size_t sample = 0;
  for (; 2 * sample + 1 < sound.size(); ++sample) {
    const int value = static_cast<signed char>(sound[2 * sample + 1]) * 256;
    if (std::abs(value) > 3000) break;
  }
  return static_cast<double>(sample) / kRate - std::stod(frame_times(file).at(picture));
}

struct Timing {
  const char* container;
  const char* codec;
  double video;  ///< when the pictures start
  double sound;
  double tolerance;  ///< of copied packets half of one; Opus smears what begins over its frames of 20 ms
};
void PrintTo(const Timing& t, std::ostream* out) {
  *out << t.codec << " in " << t.container << ", pictures from " << t.video << ", sound from " << t.sound;
}
class Avi : public testing::TestWithParam<Timing> {};

/// When it gets loud: filters change the volume between frames.
constexpr double kOnset = 48128.0 / kRate;

/// About a second after each has started it gets bright and loud.
void make(const std::filesystem::path& file, const Timing& t, const Scratch& scratch,
          const std::string& rate = "25") {
  const auto both = scratch / "both.mkv";
  ffmpeg("-f lavfi -i color=s=64x48:d=2:r=" + rate +
             ",geq=lum=if(gte(T\\,1)\\,235\\,16):cb=128:cr=128 -f lavfi -i "
             "sine=f=2000:d=2:r=48000,volume=if(lt(t\\,1)\\,0\\,8):eval=frame "
             "-c:v libx264 -preset ultrafast -c:a " +
             t.codec + " {}",
         {both});
  ffmpeg("-itsoffset " + std::to_string(t.video) + " -i {} -itsoffset " + std::to_string(t.sound) +
             " -i {} -map 0:v -map 1:a -c copy -copyts -muxdelay 0 -muxpreload 0 {}",
         {both, both, file});
}

TEST_P(Avi, SoundKeepsItsDistance) {
  const Timing& t = GetParam();
  Scratch scratch;
  const auto in = scratch / (std::string("in.") + t.container), out = scratch / "out.avi";
  make(in, t, scratch);
  JobCallbacks callbacks;
  std::vector<std::string> told;
  callbacks.planned = [&](const JobReport& report) { told = report.notices; };
  const JobReport report = pipeline::run(job(in, out, Effect::blur), callbacks, everything());
  EXPECT_EQ(report.frames, 50);
  EXPECT_EQ(frame_times(out).size(), 50u);
  EXPECT_NEAR(distance(out, scratch), kOnset - 1 + t.sound - t.video, t.tolerance);
  const bool moves = std::min(t.video, t.sound) > 0;
  if (moves) {
    EXPECT_THAT(told, Contains(HasSubstr("all streams start earlier by")));
  }
  EXPECT_THAT(report.notices, Not(Contains(HasSubstr("gap"))));
}

// Every kind of start, and every way to bring sound to its place: samples, packets, anew.
INSTANTIATE_TEST_SUITE_P(
    Starts, Avi,
    testing::Values(Timing{"mkv", "pcm_s16le", 0, 0, 0.0015}, Timing{"mkv", "pcm_s16le", 3, 3, 0.0015},
                    Timing{"mkv", "pcm_s16le", 0, 0.5, 0.0015}, Timing{"mkv", "pcm_s16le", 0.5, 0, 0.0015},
                    Timing{"mkv", "pcm_s16le", 0.013, 0, 0.0015}, Timing{"mov", "pcm_s24le", 1, 1.3, 0.0015},
                    Timing{"mov", "pcm_mulaw", 0, 0.7, 0.0015}, Timing{"mp4", "aac", 0, 0, 0.012},
                    Timing{"ts", "aac", 1.4, 1.4, 0.012}, Timing{"ts", "aac", 1.4, 1.9, 0.012},
                    Timing{"mp4", "aac", 0, 0.5, 0.012}, Timing{"mp4", "aac", 0.5, 0, 0.012},
                    Timing{"mkv", "ac3", 0, 0.3, 0.017}, Timing{"mkv", "ac3", 0.3, 0, 0.017},
                    Timing{"ts", "mp2", 2, 2.2, 0.013}, Timing{"flv", "aac", 0.2, 0.1, 0.012},
                    Timing{"mkv", "libmp3lame", 0, 0.25, 0.013}, Timing{"mkv", "libmp3lame", 0.25, 0, 0.013},
                    Timing{"mkv", "libvorbis", 1, 1.5, 0.012}, Timing{"mkv", "flac", 0, 0.5, 0.012},
                    Timing{"mkv", "libopus", 0.1, 0.4, 0.02}));

TEST(AviOfUnevenRates, SoundKeepsItsDistance) {
  Scratch scratch;
  const auto in = scratch / "in.ts", out = scratch / "out.avi";
  make(in, {"ts", "aac", 1.433, 1.433, 0}, scratch, "30000/1001");
  pipeline::run(job(in, out, Effect::blur), {}, everything());
  // It gets bright with the first picture behind the second: 30 * 1001 / 30000.
  EXPECT_NEAR(distance(out, scratch), kOnset - 1.001, 0.012);
}

TEST(AviWithGaps, RawSoundIsFilledAndOthersAreTold) {
  Scratch scratch;
  for (const char* codec : {"pcm_s16le", "ac3"}) {
    SCOPED_TRACE(codec);
    const auto in = scratch / (std::string(codec) + ".mkv"), out = scratch / "out.avi";
    // Half a second of sound is missing before it gets loud.
    ffmpeg(std::string("-f lavfi -i color=s=64x48:d=2:r=25,geq=lum=if(gte(T\\,1)\\,235\\,16):cb=128:cr=128 "
                       "-f lavfi -i "
                       "sine=f=2000:d=2:r=48000,volume=if(lt(t\\,1)\\,0\\,8):eval=frame,asetnsamples=480,"
                       "aselect=not(between(t\\,0.3\\,0.799)) "
                       "-c:v libx264 -preset ultrafast -c:a ") +
               codec + " {}",
           {in});
    JobOptions options = job(in, out, Effect::blur);
    options.overwrite = true;
    const JobReport report = pipeline::run(options, {}, everything());
    if (std::string(codec) == "pcm_s16le") {
      EXPECT_NEAR(distance(out, scratch), kOnset - 1, 0.002);
      EXPECT_THAT(report.notices, Not(Contains(HasSubstr("gap"))));
    } else {
      EXPECT_THAT(report.notices,
                  Contains(AllOf(HasSubstr("1 gap in the sound of stream 1"), HasSubstr("early"))));
    }
  }
}

TEST(AviOfARange, SoundKeepsItsDistance) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.avi";
  make(in, {"mkv", "pcm_s16le", 3, 3.5, 0}, scratch);
  JobOptions options = job(in, out, Effect::blur);
  options.start = 0.4;
  pipeline::run(options, {}, everything());
  EXPECT_NEAR(distance(out, scratch), kOnset - 1 + 0.5, 0.002);
}

// MXF counts as well, and cannot leave pictures empty: sound before them is cut.
TEST(Mxf, SoundKeepsItsDistance) {
  for (const Timing& t : {Timing{"mkv", "pcm_s16le", 0, 0.5, 0}, Timing{"mkv", "aac", 1, 1.25, 0},
                          Timing{"mkv", "pcm_s24le", 0.5, 0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(t));
    Scratch scratch;
    const auto in = scratch / "in.mkv", out = scratch / "out.mxf";
    make(in, t, scratch);
    EXPECT_EQ(pipeline::run(job(in, out, Effect::blur), {}, everything()).frames, 50);
    EXPECT_NEAR(distance(out, scratch), kOnset - 1 + t.sound - t.video, 0.0015);
  }
}

}  // namespace
}  // namespace saccade
