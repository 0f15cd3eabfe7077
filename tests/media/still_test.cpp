#include "media/still.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "media/clips.h"
#include "media/convert.h"
#include "media/decoder.h"
#include "media/source.h"

namespace saccade {
namespace {

using namespace media;
using test::Scratch;

FramePtr decode_one(const std::filesystem::path& path, VideoFormat& format) {
  Source source(path);
  EXPECT_TRUE(source.still());
  Decoder decoder(source.video());
  const auto packet = source.read();
  decoder.send(packet.get());
  decoder.send(nullptr);
  FramePtr frame = decoder.receive();
  format = describe_video(source.context(), source.video(), *frame);
  return frame;
}

TEST(Still, PngKeepsStraightAlpha) {
  Scratch scratch;
  FramePool pool(AV_PIX_FMT_RGBA, 5, 3);
  const FramePtr frame = pool.get();
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      const std::uint8_t pixel[4] = {200, 100, 50, static_cast<std::uint8_t>(x * 64 > 255 ? 255 : x * 64)};
      std::memcpy(frame->data[0] + y * frame->linesize[0] + x * 4, pixel, 4);
    }
  }
  OutputFile file(scratch / "out.png", {});
  write_still(file, StillKind::png, *frame, 90);
  file.commit();
  const std::string raw = test::raw_frames(scratch / "out.png", "rgba");
  ASSERT_EQ(raw.size(), 60u);
  EXPECT_EQ(std::string(raw.data() + 8, 4), std::string("\xC8\x64\x32\x80", 4));
  EXPECT_EQ(std::string(raw.data(), 4), std::string("\xC8\x64\x32\x00", 4));
}

TEST(Still, JpegRoundTripIsClose) {
  Scratch scratch;
  test::ffmpeg("-f lavfi -i testsrc=s=65x33 -frames:v 1 -q:v 1 -pix_fmt yuvj420p {}", {scratch / "in.jpg"});
  VideoFormat format;
  FramePtr frame = decode_one(scratch / "in.jpg", format);
  EXPECT_EQ(format.pixel_format, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(format.range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(still_format(StillKind::jpeg, format.pixel_format, false), AV_PIX_FMT_YUV420P);
  tag_frame(*frame, format);
  OutputFile file(scratch / "out.jpg", {});
  write_still(file, StillKind::jpeg, *frame, 100);
  file.commit();
  const std::string a = test::raw_frames(scratch / "in.jpg", "yuvj420p"),
                    b = test::raw_frames(scratch / "out.jpg", "yuvj420p");
  ASSERT_EQ(a.size(), b.size());
  int worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<std::uint8_t>(a[i]) - static_cast<std::uint8_t>(b[i])));
  EXPECT_LE(worst, 6);
}

TEST(Still, ExifOrientationIsSeen) {
  Scratch scratch;
  test::ffmpeg("-f lavfi -i testsrc=s=64x32 -frames:v 1 {}", {scratch / "plain.jpg"});
  const std::string jpeg = test::read_file(scratch / "plain.jpg");
  const Orientation expected[9] = {
      Orientation::upright,      Orientation::upright,       Orientation::flip_horizontal,
      Orientation::half_turn,    Orientation::flip_vertical, Orientation::transpose,
      Orientation::clockwise_90, Orientation::transverse,    Orientation::clockwise_270};
  for (char value = 1; value <= 8; ++value) {
    // APP1: "Exif", little-endian TIFF header, one entry: tag 0x0112 (orientation), type short, count 1.
    std::string app(
        "\xFF\xE1\x00\x22"
        "Exif\0\0"
        "II*\0\x08\0\0\0"
        "\x01\0"
        "\x12\x01\x03\0\x01\0\0\0",
        28);
    app += std::string{value, 0, 0, 0} + std::string(4, '\0');
    test::write_text(scratch / "turned.jpg", jpeg.substr(0, 2) + app + jpeg.substr(2));
    VideoFormat format;
    decode_one(scratch / "turned.jpg", format);
    const Orientation got =
        format.display_matrix ? orientation_of(*format.display_matrix) : Orientation::upright;
    EXPECT_EQ(static_cast<int>(got), static_cast<int>(expected[static_cast<int>(value)]))
        << static_cast<int>(value);
  }
}

TEST(Still, ExtensionsAreKnown) {
  StillKind kind{};
  EXPECT_TRUE(parse_still("a.PNG", kind));
  EXPECT_EQ(kind, StillKind::png);
  EXPECT_TRUE(parse_still("a.jpeg", kind));
  EXPECT_EQ(kind, StillKind::jpeg);
  EXPECT_FALSE(parse_still("a.mp4", kind));
  EXPECT_FALSE(parse_still("png", kind));
}

}  // namespace
}  // namespace saccade
