#include "media/convert.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "media/clips.h"

namespace saccade {
namespace {

using namespace media;

VideoFormat make_format(AVPixelFormat pixel_format, int width, int height,
                        AVColorRange range = AVCOL_RANGE_MPEG) {
  VideoFormat format;
  format.pixel_format = pixel_format;
  format.width = width;
  format.height = height;
  format.matrix = AVCOL_SPC_BT709;
  format.range = range;
  return format;
}

void fill(AVFrame& frame, int plane, int width, int height, std::uint8_t value) {
  for (int y = 0; y < height; ++y)
    std::memset(frame.data[plane] + y * frame.linesize[plane], value, static_cast<std::size_t>(width));
}

TEST(FrameConverter, HonoursMatrixAndRange) {
  FramePool yuv(AV_PIX_FMT_YUV420P, 16, 16), rgb(AV_PIX_FMT_RGB24, 16, 16);
  FramePtr from = yuv.get(), to = rgb.get();
  // Red in BT.709, limited range (63, 102, 240).
  fill(*from, 0, 16, 16, 63);
  fill(*from, 1, 8, 8, 102);
  fill(*from, 2, 8, 8, 240);
  FrameConverter converter(make_format(AV_PIX_FMT_YUV420P, 16, 16),
                           make_format(AV_PIX_FMT_RGB24, 16, 16, AVCOL_RANGE_JPEG));
  converter.run(*from, *to);
  const std::uint8_t* pixel = to->data[0] + 8 * to->linesize[0] + 8 * 3;
  EXPECT_NEAR(pixel[0], 255, 2);
  EXPECT_NEAR(pixel[1], 0, 2);
  EXPECT_NEAR(pixel[2], 0, 2);
  FramePtr back = yuv.get();
  FrameConverter reverse(make_format(AV_PIX_FMT_RGB24, 16, 16, AVCOL_RANGE_JPEG),
                         make_format(AV_PIX_FMT_YUV420P, 16, 16));
  reverse.run(*to, *back);
  EXPECT_NEAR(back->data[0][0], 63, 2);
  EXPECT_NEAR(back->data[1][0], 102, 2);
  EXPECT_NEAR(back->data[2][0], 240, 2);
}

TEST(FrameConverter, DepthAndChromaChangesKeepLuma) {
  FramePool low(AV_PIX_FMT_YUV420P, 33, 17), high(AV_PIX_FMT_YUV444P10, 33, 17);
  FramePtr from = low.get(), to = high.get();
  for (int y = 0; y < 17; ++y) {
    for (int x = 0; x < 33; ++x)
      from->data[0][y * from->linesize[0] + x] = static_cast<std::uint8_t>(16 + (x * 7 + y * 13) % 220);
  }
  fill(*from, 1, 17, 9, 90);
  fill(*from, 2, 17, 9, 160);
  FrameConverter(make_format(AV_PIX_FMT_YUV420P, 33, 17), make_format(AV_PIX_FMT_YUV444P10, 33, 17))
      .run(*from, *to);
  for (int y = 0; y < 17; ++y) {
    for (int x = 0; x < 33; ++x) {
      std::uint16_t luma = 0, cb = 0;
      std::memcpy(&luma, to->data[0] + y * to->linesize[0] + 2 * x, 2);
      std::memcpy(&cb, to->data[1] + y * to->linesize[1] + 2 * x, 2);
      EXPECT_EQ(luma, from->data[0][y * from->linesize[0] + x] * 4);
      EXPECT_EQ(cb, 360);
    }
  }
}

TEST(TurnUpright, AgreesWithFfmpeg) {
  test::Scratch scratch;
  const auto png = scratch / "in.png";
  test::ffmpeg("-f lavfi -i testsrc2=s=70x38 -frames:v 1 {}", {png});
  const std::pair<Orientation, const char*> cases[] = {{Orientation::clockwise_90, "transpose=clock"},
                                                       {Orientation::half_turn, "hflip,vflip"},
                                                       {Orientation::clockwise_270, "transpose=cclock"},
                                                       {Orientation::flip_horizontal, "hflip"},
                                                       {Orientation::flip_vertical, "vflip"},
                                                       {Orientation::transpose, "transpose=cclock_flip"},
                                                       {Orientation::transverse, "transpose=clock_flip"}};
  struct Format {
    AVPixelFormat format;
    const char* name;
    int bytes;
  };
  for (const Format& f :
       {Format{AV_PIX_FMT_YUV420P, "yuv420p", 1}, Format{AV_PIX_FMT_RGB24, "rgb24", 3},
        Format{AV_PIX_FMT_YUV420P10, "yuv420p10le", 2}, Format{AV_PIX_FMT_RGBA, "rgba", 4}}) {
    const std::string original = test::raw_frames(png, f.name);
    for (const auto& [orientation, filter] : cases) {
      const auto turned_file = scratch / "turned.nut";
      test::ffmpeg(std::string("-i {} -vf format=") + f.name + "," + filter + " -c:v rawvideo {}",
                   {png, turned_file});
      const std::string expected = test::raw_frames(turned_file, f.name);
      const bool swapped = orientation == Orientation::clockwise_90 ||
                           orientation == Orientation::clockwise_270 ||
                           orientation == Orientation::transpose || orientation == Orientation::transverse;
      FramePool from_pool(f.format, 70, 38), to_pool(f.format, swapped ? 38 : 70, swapped ? 70 : 38);
      FramePtr from = from_pool.get(), to = to_pool.get();
      const auto each_row = [&](AVFrame& frame, auto&& row) {
        const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(f.format);
        for (int p = 0; p < av_pix_fmt_count_planes(f.format); ++p) {
          const bool chroma = p > 0;
          const int w = chroma ? AV_CEIL_RSHIFT(frame.width, d->log2_chroma_w) : frame.width;
          const int h = chroma ? AV_CEIL_RSHIFT(frame.height, d->log2_chroma_h) : frame.height;
          for (int y = 0; y < h; ++y)
            row(frame.data[p] + y * frame.linesize[p], static_cast<std::size_t>(w * f.bytes));
        }
      };
      std::size_t at = 0;
      each_row(*from, [&](std::uint8_t* row, std::size_t n) {
        std::memcpy(row, original.data() + at, n);
        at += n;
      });
      ASSERT_EQ(at, original.size());
      turn_upright(*from, orientation, *to);
      std::string got;
      each_row(*to, [&](std::uint8_t* row, std::size_t n) { got.append(reinterpret_cast<char*>(row), n); });
      EXPECT_TRUE(got == expected) << f.name << " " << filter;
    }
  }
}

TEST(TurnUpright, FormatTurnsWithIt) {
  VideoFormat format = make_format(AV_PIX_FMT_YUV420P, 64, 32);
  format.sample_aspect = {4, 3};
  format.chroma_location = AVCHROMA_LOC_LEFT;
  format.display_matrix = {{0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30}};
  const VideoFormat upright = upright_format(format);
  EXPECT_EQ(upright.width, 32);
  EXPECT_EQ(upright.height, 64);
  EXPECT_EQ(upright.sample_aspect.num, 3);
  EXPECT_EQ(upright.chroma_location, AVCHROMA_LOC_TOP);
  EXPECT_FALSE(upright.display_matrix);
}

TEST(FramePool, RecyclesAndAligns) {
  FramePool pool(AV_PIX_FMT_YUV420P10, 61, 31);
  const std::uint8_t* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    const FramePtr frame = pool.get();
    for (int p = 0; p < 3; ++p) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame->data[p]) % 64, 0u);
      EXPECT_EQ(frame->linesize[p] % 64, 0);
    }
    if (first == nullptr) first = frame->data[0];
    EXPECT_EQ(frame->data[0], first);
    EXPECT_EQ(av_frame_is_writable(frame.get()), 1);
  }
}

}  // namespace
}  // namespace saccade
