// What pictures mean and how they lie: formats, ranges, fields, high dynamic range, orientation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "fake_network.h"
#include "media/clips.h"
#include "media/orientation_tag.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

struct Lossless {
  const char* name;
  const char* filters;  ///< after the source
  const char* format;
  const char* encoder;  ///< with its options
};
void PrintTo(const Lossless& c, std::ostream* out) { *out << c.name; }
class LosslessRoundTrip : public testing::TestWithParam<Lossless> {};

/// With a mask of ones nothing may change: no sample, and nothing of what is said about them.
TEST_P(LosslessRoundTrip, KeepsEveryPixelAndItsMeaning) {
  const Lossless& c = GetParam();
  Scratch scratch;
  const std::string extension = std::string(c.encoder).starts_with("libx264") ? ".mp4" : ".mkv";
  const auto in = scratch / ("in" + extension), out = scratch / ("out" + extension);
  ffmpeg(std::string("-f lavfi -i testsrc2=s=72x50:r=25:d=0.2") + c.filters + " -pix_fmt " + c.format +
             " -c:v " + c.encoder + " {}",
         {in});
  JobOptions options = job(in, out, Effect::blur);
  options.encoder = std::string(c.encoder).substr(0, std::string(c.encoder).find(' '));
  if (options.encoder == "libx264") options.encoder_options = {{"qp", "0"}};
  pipeline::run(options, {}, everything());
  EXPECT_EQ(stream_value(out, "v:0", "pix_fmt"), stream_value(in, "v:0", "pix_fmt"));
  const std::string before = raw_frames(in, c.format);
  EXPECT_FALSE(before.empty());
  EXPECT_TRUE(before == raw_frames(out, c.format));
  for (const char* entry : {"width", "height", "sample_aspect_ratio", "color_range", "color_space",
                            "color_primaries", "color_transfer", "chroma_location", "field_order"}) {
    EXPECT_EQ(stream_value(in, "v:0", entry), stream_value(out, "v:0", entry)) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, LosslessRoundTrip,
    testing::Values(
        Lossless{"yuv420p", "", "yuv420p", "ffv1"}, Lossless{"yuv422p", "", "yuv422p", "ffv1"},
        Lossless{"yuv444p", "", "yuv444p", "ffv1"}, Lossless{"ten_bits", "", "yuv420p10le", "ffv1"},
        Lossless{"twelve_bits", "", "yuv422p12le", "ffv1"}, Lossless{"rgb", "", "gbrp", "ffv1"},
        Lossless{"alpha_420", ",format=yuva420p,colorchannelmixer=aa=0.5", "yuva420p", "ffv1"},
        Lossless{"alpha_444_10", ",format=yuva444p10le", "yuva444p10le", "ffv1"},
        Lossless{"odd", ",crop=71:49:0:0", "yuv420p", "ffv1"},
        Lossless{"odd_444", ",crop=71:49:0:0", "yuv444p", "libx264 -qp 0"},
        Lossless{"bt601", "", "yuv420p",
                 "libx264 -qp 0 -colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m "
                 "-color_range tv"},
        Lossless{"bt709_full", "", "yuv420p",
                 "libx264 -qp 0 -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range pc"},
        Lossless{"bt2020_pq", "", "yuv420p10le",
                 "libx264 -qp 0 -colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 "
                 "-color_range tv"},
        Lossless{"top_left_chroma", "", "yuv420p10le", "libx264 -qp 0 -chroma_sample_location topleft"},
        Lossless{"center_chroma", "", "yuv420p", "libx264 -qp 0 -chroma_sample_location center"},
        Lossless{"aspect", ",setsar=16/11", "yuv420p", "libx264 -qp 0"},
        Lossless{"top_field_first", ",scale=72:48,setfield=tff", "yuv420p",
                 "libx264 -qp 0 -flags +ildct+ilme"},
        Lossless{"fields_in_ffv1", ",setfield=tff", "yuv420p", "ffv1 -field_order tt"}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

class Interlaced : public testing::Test {
 protected:
  Interlaced() {
    ffmpeg("-f lavfi -i testsrc2=s=64x64:r=50:d=0.8,interlace -c:v libx264 -flags +ildct+ilme {}", {in_});
  }
  Scratch scratch_;
  std::filesystem::path in_ = scratch_ / "in.mp4";
};

TEST_F(Interlaced, StaysSoWhereTheOutputCanSayIt) {
  ASSERT_EQ(stream_value(in_, "v:0", "field_order"), "tt");
  const JobReport report = pipeline::run(job(in_, scratch_ / "out.mp4", Effect::blur), {}, bright());
  EXPECT_EQ(stream_value(scratch_ / "out.mp4", "v:0", "field_order"), "tt");
  EXPECT_THAT(report.notices, Contains(HasSubstr("interlaced and stays so")));
}

TEST_F(Interlaced, BecomesWholePicturesOnDemandAndWhereNeeded) {
  JobOptions options = job(in_, scratch_ / "on.mp4", Effect::blur);
  options.deinterlace = Deinterlace::on;
  JobReport report = pipeline::run(options, {}, bright());
  EXPECT_EQ(stream_value(options.output, "v:0", "field_order"), "progressive");
  EXPECT_EQ(frame_times(options.output), frame_times(in_));
  EXPECT_EQ(stream_value(options.output, "v:0", "duration"), stream_value(in_, "v:0", "duration"));
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(frame_times(in_).size()));
  options = job(in_, scratch_ / "auto.webm", Effect::blur);
  report = pipeline::run(options, {}, bright());
  EXPECT_THAT(report.notices, Contains(HasSubstr("one whole picture")));
  EXPECT_EQ(frame_times(options.output).size(), frame_times(in_).size());
  options = job(in_, scratch_ / "off.webm", Effect::blur);
  options.deinterlace = Deinterlace::off;
  report = pipeline::run(options, {}, bright());
  EXPECT_THAT(report.notices, Contains(HasSubstr("cannot say so")));
}

/// Interlaced and whole pictures in one stream, 10 and 10.
class ChangingFields : public testing::Test {
 protected:
  /// Those that are interlaced come first or last.
  void make(bool interlaced_first) {
    const auto a = scratch_ / "a.ts", b = scratch_ / "b.ts";
    const std::string whole = "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 -qp 4 -bf 0 ",
                      fields =
                          "-f lavfi -i testsrc2=s=64x64:r=50:d=0.4,interlace -c:v libx264 -qp 4 -bf 0 "
                          "-flags +ildct+ilme ";
    ffmpeg((interlaced_first ? fields : whole) + "{}", {a});
    ffmpeg((interlaced_first ? whole : fields) + "-output_ts_offset 0.4 {}", {b});
    write_text(in_, read_file(a) + read_file(b));
  }
  JobReport run(const std::string& name, Deinterlace deinterlace,
                const std::vector<std::pair<std::string, std::string>>& options = {}) {
    JobOptions job = test::job(in_, scratch_ / name, Effect::blur);
    job.overwrite = job.strict = true;
    job.deinterlace = deinterlace;
    job.encoder = options.empty() ? "" : "ffv1";
    job.encoder_options = options;
    const JobReport report = pipeline::run(job, {}, everything());
    EXPECT_EQ(report.frames, 20);
    return report;
  }
  std::string flags(const std::string& name) const {
    std::string all;
    for (const std::string& line : ffprobe("-show_entries frame=interlaced_frame", scratch_ / name))
      if (!line.empty()) all += line.front();
    return all;
  }
  Scratch scratch_;
  std::filesystem::path in_ = scratch_ / "in.ts";
};

TEST_F(ChangingFields, WhatBeginsLaterBecomesWholePictures) {
  make(false);
  EXPECT_THAT(
      run("auto.mkv", Deinterlace::automatic).notices,
      Contains(HasSubstr("interlaced, unlike the first: the fields of each became one whole picture")));
  EXPECT_THAT(
      run("off.mkv", Deinterlace::off).notices,
      Contains(HasSubstr("10 frames of the input are interlaced, unlike the first: the result holds")));
  EXPECT_EQ(flags("auto.mkv"), std::string(20, '0'));
  EXPECT_EQ(frame_times(scratch_ / "auto.mkv"), frame_times(scratch_ / "off.mkv"));
  EXPECT_THAT(run("on.mkv", Deinterlace::on).notices, testing::Not(Contains(HasSubstr("unlike the first"))));
  // Whole pictures stay as they are, of fields come the pictures that deinterlacing all would give.
  const auto pictures = [&](Deinterlace deinterlace, std::size_t from, std::size_t count) {
    run("exact.mkv", deinterlace, {{"level", "1"}});
    const std::size_t size = 64 * 64;
    return raw_frames(scratch_ / "exact.mkv", "gray").substr(from * size, count * size);
  };
  const auto automatic = Deinterlace::automatic;
  EXPECT_TRUE(pictures(automatic, 0, 10) == pictures(Deinterlace::off, 0, 10));
  EXPECT_TRUE(pictures(automatic, 12, 8) == pictures(Deinterlace::on, 12, 8));
  EXPECT_FALSE(pictures(automatic, 12, 8) == pictures(Deinterlace::off, 12, 8));
}

TEST_F(ChangingFields, WhatEndsIsTold) {
  make(true);
  EXPECT_THAT(run("out.mkv", Deinterlace::automatic).notices,
              Contains(HasSubstr("10 frames of the input are no interlaced ones, unlike the first: all")));
  // Where the output cannot say it of any, those that are interlaced become whole.
  EXPECT_THAT(run("out.webm", Deinterlace::automatic).notices,
              testing::Not(Contains(HasSubstr("unlike the first"))));
}

TEST_F(ChangingFields, StayWhereEachPictureSaysIt) {
  for (const bool first : {false, true}) {
    make(first);
    EXPECT_THAT(run("out.mkv", Deinterlace::automatic, {{"level", "3"}}).notices,
                testing::Not(Contains(HasSubstr("unlike the first"))));
    EXPECT_EQ(flags("out.mkv"), first ? "11111111110000000000" : "00000000001111111111");
  }
}

TEST_F(Interlaced, ProgressiveVideoIsLeftAlone) {
  const auto in = scratch_ / "plain.mkv", out = scratch_ / "out.webm";
  ffmpeg("-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 {}", {in});
  const JobReport report = pipeline::run(job(in, out, Effect::blur), {}, bright());
  EXPECT_THAT(report.notices, testing::Not(Contains(HasSubstr("interlaced"))));
}

class HighDynamicRange : public testing::Test {
 protected:
  static void make(const std::filesystem::path& path, const std::string& transfer) {
    ffmpeg(
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -pix_fmt yuv420p10le -c:v libx265 -preset ultrafast "
        "-color_range tv "
        "-colorspace bt2020nc -color_primaries bt2020 -color_trc " +
            transfer +
            " -x265-params "
            "log-level=none:hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)"
            "L(10000000,50):max-cll=1000,400 {}",
        {path});
  }
  static std::string side_data(const std::filesystem::path& file) {
    std::string all;
    for (const std::string& line : ffprobe("-select_streams v:0 -show_entries stream_side_data", file))
      all += line + " ";
    for (const std::string& line :
         ffprobe("-select_streams v:0 -read_intervals %+#1 -show_entries frame_side_data", file))
      all += line + " ";
    return all;
  }
  Scratch scratch_;
};

TEST_F(HighDynamicRange, KeepsDepthTagsAndSideData) {
  for (const char* transfer : {"smpte2084", "arib-std-b67"}) {
    const auto in = scratch_ / (std::string(transfer) + ".mp4");
    make(in, transfer);
    for (const auto& [encoder, extension] :
         {std::pair{"libx265", ".mp4"}, {"libx264", ".mkv"}, {"libx265", ".mkv"}}) {
      JobOptions options =
          job(in, scratch_ / (std::string(transfer) + encoder + "_out" + extension), Effect::blur);
      options.encoder = encoder;
      pipeline::run(options, {}, bright());
      EXPECT_EQ(stream_value(options.output, "v:0", "pix_fmt"), "yuv420p10le");
      EXPECT_EQ(stream_value(options.output, "v:0", "color_transfer"), transfer);
      EXPECT_EQ(stream_value(options.output, "v:0", "color_primaries"), "bt2020");
      EXPECT_EQ(stream_value(options.output, "v:0", "color_space"), "bt2020nc");
      const std::string side = side_data(options.output);
      EXPECT_THAT(side, HasSubstr("Mastering display metadata")) << encoder << extension;
      EXPECT_THAT(side, HasSubstr("Content light level metadata")) << encoder << extension;
      EXPECT_THAT(side, HasSubstr("1000")) << encoder << extension;
    }
  }
}

/// Whatever a file cannot say is told before the first frame, and nothing else is.
TEST_F(HighDynamicRange, TagsThatTheOutputCannotHoldAreTold) {
  const auto hdr = scratch_ / "hdr.mp4", sdr = scratch_ / "sdr.mp4", partly = scratch_ / "partly.mkv",
             rgb = scratch_ / "rgb.mkv";
  make(hdr, "smpte2084");
  const std::string source = "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 ";
  ffmpeg(
      source + "-c:v libx264 -preset ultrafast -colorspace bt709 -color_primaries bt709 -color_trc bt709 {}",
      {sdr});
  ffmpeg(source + "-c:v ffv1 -pix_fmt yuv420p -color_primaries bt709 {}", {partly});
  ffmpeg(source + "-c:v ffv1 -pix_fmt bgr0 {}", {rgb});
  struct Output {
    const char *encoder, *file;
  };
  for (const Output& o : {Output{"libx264", "a.mp4"},
                          {"libx264", "a.ts"},
                          {"libx264", "a.avi"},
                          {"libx264", "a.flv"},
                          {"libx264", "a.nut"},
                          {"libx265", "a.mp4"},
                          {"libx265", "a.ts"},
                          {"libx265", "a.mov"},
                          {"ffv1", "a.mkv"},
                          {"ffv1", "a.nut"},
                          {"ffv1", "a.avi"},
                          {"ffv1", "a.mp4"},
                          {"", "a.y4m"},
                          {"libvpx-vp9", "a.webm"},
                          {"libvpx-vp9", "a.mp4"},
                          {"libvpx-vp9", "a.nut"},
                          {"libsvtav1", "a.mp4"},
                          {"prores_ks", "a.mov"},
                          {"prores_ks", "a.mkv"},
                          {"mpeg4", "a.avi"},
                          {"mpeg4", "a.mp4"},
                          {"mpeg2video", "a.mpg"},
                          {"mpeg2video", "a.mxf"},
                          {"ffvhuff", "a.avi"},
                          {"", "a.ogv"},
                          {"", "a.gif"},
                          {"", "a.apng"}}) {
    for (const auto& in : {hdr, sdr, partly, rgb}) {
      SCOPED_TRACE(in.filename().string() + " by " + o.encoder + " into " + o.file);
      JobOptions options = job(in, scratch_ / o.file, Effect::blur);
      options.encoder = o.encoder;
      options.overwrite = true;
      JobCallbacks callbacks;
      std::string told;
      callbacks.planned = [&](const JobReport& report) {
        for (const std::string& notice : report.notices) told += notice + "\n";
      };
      try {
        pipeline::run(options, callbacks, everything());
      } catch (const Error& e) {
        ASSERT_THAT(std::string(e.what()), HasSubstr("cannot hold what encoder"));
        continue;
      }
      const bool mapped = told.find("mapped to BT.709") != std::string::npos;
      const bool pictures = std::string(o.file) == "a.gif" || std::string(o.file) == "a.apng";
      for (const auto& [entry, word] : {std::pair{"color_primaries", "primaries "},
                                        {"color_transfer", "transfer "},
                                        {"color_space", "matrix "}}) {
        std::string meant = stream_value(in, "v:0", entry);
        if (mapped) meant = "bt709";
        const bool known = meant != "unknown" && meant != "gbr" && !meant.empty();
        const bool carried = stream_value(options.output, "v:0", entry) == meant;
        const bool said = told.find(std::string("which colours are meant")) != std::string::npos &&
                          told.find(word + meant) != std::string::npos;
        if (known && !pictures) {
          EXPECT_NE(carried, said) << entry << ' ' << meant << '\n' << told;
        }
        if (pictures) {
          EXPECT_FALSE(said) << told;  // RGB, as it is usual
        }
      }
      // FFmpeg does not read the words for it that H.264 has.
      if (in != hdr || mapped || std::string(o.encoder) == "libx264") {
        EXPECT_EQ(told.find("left out"), std::string::npos) << told;
        continue;
      }
      const std::string side = side_data(options.output);
      EXPECT_NE(side.find("Mastering") != std::string::npos,
                told.find("the mastering display") != std::string::npos)
          << side << told;
      EXPECT_NE(side.find("Content light") != std::string::npos,
                told.find("the content light level") != std::string::npos)
          << side << told;
    }
  }
}

TEST_F(HighDynamicRange, IsMappedOnDemandAndWhereTheOutputHasEightBits) {
  const auto in = scratch_ / "in.mp4";
  make(in, "smpte2084");
  JobOptions options = job(in, scratch_ / "mapped.mp4", Effect::blur);
  options.tonemap = true;
  const JobReport report = pipeline::run(options, {}, bright());
  EXPECT_THAT(report.notices, Contains(HasSubstr("mapped to BT.709")));
  JobOptions eight = job(in, scratch_ / "eight.mp4", Effect::blur);
  eight.encoder = "mpeg4";
  pipeline::run(eight, {}, bright());
  for (const auto& output : {options.output, eight.output}) {
    EXPECT_EQ(stream_value(output, "v:0", "pix_fmt"), "yuv420p");
    EXPECT_EQ(frame_times(output), frame_times(in));
    EXPECT_THAT(side_data(output), testing::Not(HasSubstr("Mastering")));
  }
  for (const char* entry : {"color_transfer", "color_primaries", "color_space"})
    EXPECT_EQ(stream_value(options.output, "v:0", entry), "bt709") << entry;
  // A grey of 203 candela a square metre is white of the standard range, or close below.
  const auto gray = scratch_ / "gray.mkv", result = scratch_ / "gray_out.mkv";
  ffmpeg(
      "-f lavfi -i color=black:s=64x64:r=10:d=0.2,format=yuv420p10le,geq=lum=572:cb=512:cr=512 -c:v ffv1 "
      "-color_range tv "
      "-colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 {}",
      {gray});
  JobOptions flat = job(gray, result, Effect::blur);
  flat.tonemap = true;
  flat.encoder = "ffv1";
  pipeline::run(flat, {}, everything());
  const std::string rgb = raw_frames(result, "rgb24");
  EXPECT_GT(at(rgb, 0), 120u);
  EXPECT_NEAR(at(rgb, 0), at(rgb, 1), 3);
  EXPECT_NEAR(at(rgb, 0), at(rgb, 2), 3);
}

std::string exif(int orientation, bool big) {
  std::string text = big ? std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19)
                         : std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18);
  text += static_cast<char>(orientation);
  text += std::string(big ? 2 : 3, '\0');
  return text + std::string(4, '\0');
}

TEST(Exif, OrientationIsReadInBothByteOrders) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) {
      const std::string data = exif(orientation, big);
      EXPECT_EQ(media::exif_orientation(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()),
                orientation);
      for (std::size_t size = 0; size < data.size() - 4; ++size)
        EXPECT_EQ(media::exif_orientation(reinterpret_cast<const std::uint8_t*>(data.data()), size), 0)
            << size;
    }
  }
}

std::uint32_t crc(const std::string& data) {
  std::uint32_t value = 0xffffffffu;
  for (const char c : data) {
    value ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~value;
}

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 255);
  return text;
}

TEST(Pictures, PngAndWebpWithExifAreTurnedUpright) {
  Scratch scratch;
  const auto png = scratch / "plain.png", turned = scratch / "turned.png", webp = scratch / "plain.webp";
  ffmpeg("-f lavfi -i color=black:s=64x32,drawbox=0:0:32:16:white:fill -frames:v 1 -pix_fmt rgb24 {}", {png});
  ffmpeg("-i {} -lossless 1 {}", {png, webp});
  const std::string bytes = read_file(png), chunk = "eXIf" + exif(6, true);
  write_text(turned, bytes.substr(0, 33) + big_endian(static_cast<std::uint32_t>(chunk.size() - 4)) + chunk +
                         big_endian(crc(chunk)) + bytes.substr(33));
  // A WebP with Exif data has an extended header: flags, reserved, width - 1, height - 1.
  const auto little = [](std::uint32_t v, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += static_cast<char>(v >> 8 * i & 255);
    return text;
  };
  const std::string simple = read_file(webp).substr(12), data = exif(6, false);
  const std::string body = "WEBPVP8X" + little(10, 4) + little(8, 4) + little(63, 3) + little(31, 3) +
                           simple + "EXIF" + little(static_cast<std::uint32_t>(data.size()), 4) + data;
  const auto extended = scratch / "turned.webp";
  write_text(extended, "RIFF" + little(static_cast<std::uint32_t>(body.size()), 4) + body);
  for (const auto& in : {turned, extended}) {
    const auto out = scratch / (in.extension().string().substr(1) + "_out.png");
    pipeline::run(job(in, out, Effect::blur), {}, everything());
    EXPECT_EQ(stream_value(out, "v:0", "width"), "32") << in;
    EXPECT_EQ(stream_value(out, "v:0", "height"), "64") << in;
    const std::string gray = raw_frames(out, "gray");
    ASSERT_EQ(gray.size(), 32u * 64);
    EXPECT_GT(at(gray, 8 * 32 + 24), 200u) << in;
    EXPECT_LT(at(gray, 8 * 32 + 8), 50u) << in;
    EXPECT_LT(at(gray, 56 * 32 + 24), 50u) << in;
  }
}

TEST(Pictures, GifsOfOneFrameAndTargaAreRead) {
  Scratch scratch;
  for (const char* name : {"a.gif", "b.tga"}) {
    ffmpeg("-f lavfi -i testsrc=s=33x21 -frames:v 1 {}", {scratch / name});
    const auto out = scratch / (std::string(name) + ".png");
    const JobReport report = pipeline::run(job(scratch / name, out, Effect::blur), {}, everything());
    EXPECT_EQ(report.frames, 1) << name;
    EXPECT_EQ(stream_value(out, "v:0", "width"), "33") << name;
    EXPECT_TRUE(raw_frames(out, "rgb24") == raw_frames(scratch / name, "rgb24")) << name;
  }
  write_text(scratch / "wrong.tga", "no picture at all, whatever the name says");
  EXPECT_THROW(pipeline::run(job(scratch / "wrong.tga", scratch / "w.png", Effect::blur), {}, everything()),
               Error);
}

TEST(Alpha, OfTheInputIsMultipliedWithTheMask) {
  Scratch scratch;
  const auto half = fake([](int, int, const float*) { return 0.5f; });
  struct Kind {
    const char* name;
    const char* arguments;
    const char* out;
    const char* decoder;
  };
  for (const Kind& k : {Kind{"in.webm", "-c:v libvpx-vp9 -pix_fmt yuva420p", "out.webm", "-c:v libvpx-vp9"},
                        Kind{"in.mov", "-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le", "out.mov", ""},
                        Kind{"in.png", "-frames:v 1 -pix_fmt rgba", "out.png", ""},
                        Kind{"in.webp", "-frames:v 1 -pix_fmt bgra -lossless 1", "out2.png", ""}}) {
    ffmpeg(std::string("-f lavfi -i color=red@0.5:s=64x48:r=10:d=0.2,format=yuva444p ") + k.arguments + " {}",
           {scratch / k.name});
    pipeline::run(job(scratch / k.name, scratch / k.out, Effect::remove), {}, half);
    const std::string after = raw_frames(scratch / k.out, "rgba", k.decoder);
    EXPECT_NEAR(at(after, 4 * (24 * 64 + 32) + 3), 64, 3) << k.name;  // 127 of the input, half of it
    EXPECT_GT(at(after, 4 * (24 * 64 + 32)), 220u) << k.name;
  }
}

}  // namespace
}  // namespace saccade
