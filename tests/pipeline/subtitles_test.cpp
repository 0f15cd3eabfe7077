// Subtitles that are pictures: carried over as they are, or left out with a reason before the first frame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
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
using testing::SizeIs;

std::string big(std::uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

/// Subtitles of a Blu-ray: white boxes of 32x8, each shown for half a second of every one.
std::string presentation_graphics(int seconds) {
  std::string all;
  std::uint32_t number = 0;
  const auto segment = [&](std::uint32_t milliseconds, int type, const std::string& content) {
    all += "PG" + big(milliseconds * 90, 4) + big(0, 4) + big(static_cast<std::uint32_t>(type), 1) +
           big(static_cast<std::uint32_t>(content.size()), 2) + content;
  };
  const std::string window = big(0x0100, 2) + big(16, 2) + big(64, 2) + big(32, 2) + big(8, 2);
  for (int second = 0; second < seconds; ++second) {
    for (const bool shown : {true, false}) {
      const auto time = static_cast<std::uint32_t>(1000 * second + (shown ? 250 : 750));
      const std::string place = big(0, 2) + big(0, 2) + big(16, 2) + big(64, 2);
      segment(time, 0x16,
              big(160, 2) + big(96, 2) + "\x10" + big(number++, 2) + big(shown ? 0x80 : 0, 1) + big(0, 2) +
                  big(shown ? 1 : 0, 1) + (shown ? place : ""));
      segment(time, 0x17, window);
      if (shown) {
        segment(time, 0x14, big(0, 2) + big(0x00108080, 4) + big(0, 1) + big(0x01eb8080, 4) + big(255, 1));
        std::string rows;
        for (int y = 0; y < 8; ++y) rows += big(0x00a001, 3) + big(0, 2);
        segment(time, 0x15,
                big(0, 3) + "\xc0" + big(static_cast<std::uint32_t>(rows.size() + 4), 3) + big(32, 2) +
                    big(8, 2) + rows);
      }
      segment(time, 0x80, "");
    }
  }
  return all;
}

struct BitmapSubtitles : testing::Test {
  Scratch scratch;
  const std::filesystem::path graphics = scratch / "graphics.sup";
  BitmapSubtitles() { write_text(graphics, presentation_graphics(3)); }

  std::filesystem::path make(const std::string& name, const std::string& codec) const {
    const auto file = scratch / name;
    ffmpeg("-f lavfi -i testsrc2=s=160x96:r=25:d=3 -i {} -map 0 -map 1 -c:v libx264 -preset ultrafast -c:s " +
               codec + " -metadata:s:s:0 language=ger {}",
           {graphics, file});
    return file;
  }
  std::vector<std::string> packet_times(const std::filesystem::path& file) const {
    return ffprobe("-select_streams s:0 -show_entries packet=pts_time", file);
  }
};

TEST_F(BitmapSubtitles, AreCopiedWhereTheContainerHoldsThem) {
  const auto pgs = make("pgs.mkv", "copy"), dvd = make("dvd.mkv", "dvd_subtitle"),
             dvb = make("dvb.ts", "dvbsub");
  for (const auto& [in, name] : std::vector<std::pair<std::filesystem::path, std::string>>{
           {pgs, "pgs-out.mkv"}, {dvd, "dvd-out.mkv"}, {dvb, "dvb-out.mkv"}, {dvd, "dvd-out.mp4"}}) {
    SCOPED_TRACE(name);
    const auto out = scratch / name;
    const JobReport report = pipeline::run(job(in, out, Effect::blur), {}, bright());
    EXPECT_EQ(report.frames, 75);
    EXPECT_THAT(report.notices, Not(Contains(HasSubstr("left out"))));
    EXPECT_THAT(packet_hashes(in, "s:0"), SizeIs(testing::Ge(3u)));
    EXPECT_EQ(packet_hashes(out, "s:0"), packet_hashes(in, "s:0"));
    EXPECT_EQ(stream_value(out, "s:0", "codec_name"), stream_value(in, "s:0", "codec_name"));
    EXPECT_EQ(stream_value(out, "s:0", "tags=language"), "ger");
    if (in.extension() == ".mkv") {
      EXPECT_EQ(packet_times(out), packet_times(in));
    }
  }
  // The last one lasts as long as the video does.
  EXPECT_NEAR(std::stod(stream_value(scratch / "dvd-out.mp4", "s:0", "duration")), 3, 0.1);
  // And back again, with the palette that lies beside the packets.
  const auto back = scratch / "back.mkv";
  pipeline::run(job(scratch / "dvd-out.mp4", back, Effect::blur), {}, bright());
  EXPECT_EQ(packet_hashes(back, "s:0"), packet_hashes(dvd, "s:0"));
  EXPECT_EQ(packet_times(back), packet_times(dvd));
}

TEST_F(BitmapSubtitles, AreLeftOutWithAReasonBeforeTheFirstFrameWhereItDoesNot) {
  const auto pgs = make("pgs.mkv", "copy"), dvd = make("dvd.mkv", "dvd_subtitle"),
             dvb = make("dvb.ts", "dvbsub");
  for (const auto& [in, name] : std::vector<std::pair<std::filesystem::path, std::string>>{
           {pgs, "pgs.mp4"}, {pgs, "pgs.mov"}, {pgs, "pgs.webm"}, {dvd, "dvd.webm"}, {dvb, "dvb.mp4"}}) {
    SCOPED_TRACE(name);
    JobCallbacks callbacks;
    std::vector<std::string> told;
    callbacks.planned = [&](const JobReport& report) { told = report.notices; };
    const JobReport report = pipeline::run(job(in, scratch / name, Effect::blur), callbacks, bright());
    EXPECT_THAT(told, Contains(AllOf(HasSubstr("stream 1 (subtitle "), HasSubstr("is left out"))));
    EXPECT_EQ(report.frames, 75);
    EXPECT_THAT(packet_hashes(scratch / name, "s"), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace saccade
