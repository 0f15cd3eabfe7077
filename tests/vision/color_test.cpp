#include "vision/color.h"

#include <gtest/gtest.h>

#include <cmath>

#include "vision/reference.h"

namespace saccade::vision {
namespace {

TEST(Color, red_in_bt709_limited_is_63_102_240) {
  const std::array<int, 3> yuv =
      color_samples({255, 0, 0}, PixelFormat::yuv420p, {Matrix::bt709, Range::limited});
  EXPECT_EQ(yuv, (std::array<int, 3>{63, 102, 240}));
}

TEST(Color, bt709_red_read_as_bt601_is_232_0_1) {
  const YuvToRgb t = yuv_to_rgb({Matrix::bt601, Range::limited}, 8);
  const double yuv[3] = {63, 102, 240};
  const int expected[3] = {232, 0, 1};
  for (std::size_t c = 0; c < 3; ++c) {
    const double v = t.m[c][0] * yuv[0] + t.m[c][1] * yuv[1] + t.m[c][2] * yuv[2] + t.offset[c];
    // FFmpeg's scaler, which gave these numbers, works in fixed point.
    EXPECT_NEAR(std::clamp(v, 0.0, 255.0), expected[c], 2);
  }
}

TEST(Color, published_colours_of_each_matrix_and_range) {
  // Green and white, worked out from the definitions of the matrices.
  EXPECT_EQ(color_samples({0, 255, 0}, PixelFormat::yuv420p, {Matrix::bt601, Range::limited}),
            (std::array<int, 3>{145, 54, 34}));
  EXPECT_EQ(color_samples({0, 255, 0}, PixelFormat::yuv420p, {Matrix::bt709, Range::limited}),
            (std::array<int, 3>{173, 42, 26}));
  EXPECT_EQ(color_samples({0, 255, 0}, PixelFormat::yuv420p, {Matrix::bt601, Range::full}),
            (std::array<int, 3>{150, 44, 21}));
  EXPECT_EQ(color_samples({0, 0, 255}, PixelFormat::yuv444p10, {Matrix::bt2020nc, Range::limited}),
            (std::array<int, 3>{116, 960, 476}));
  for (const Matrix m : {Matrix::bt601, Matrix::bt709, Matrix::bt2020nc, Matrix::smpte240m, Matrix::fcc}) {
    EXPECT_EQ(color_samples({255, 255, 255}, PixelFormat::yuv420p, {m, Range::limited}),
              (std::array<int, 3>{235, 128, 128}));
    EXPECT_EQ(color_samples({255, 255, 255}, PixelFormat::yuv420p10, {m, Range::limited}),
              (std::array<int, 3>{940, 512, 512}));
    EXPECT_EQ(color_samples({255, 255, 255}, PixelFormat::yuv420p, {m, Range::full}),
              (std::array<int, 3>{255, 128, 128}));
    EXPECT_EQ(color_samples({0, 0, 0}, PixelFormat::yuv420p12, {m, Range::limited}),
              (std::array<int, 3>{256, 2048, 2048}));
  }
}

TEST(Color, to_yuv_and_back_is_the_identity) {
  for (const Matrix m : {Matrix::bt601, Matrix::bt709, Matrix::bt2020nc, Matrix::smpte240m, Matrix::fcc}) {
    for (const Range range : {Range::limited, Range::full}) {
      for (const int depth : {8, 10, 12}) {
        const YuvToRgb forward = rgb_to_yuv({m, range}, depth), back = yuv_to_rgb({m, range}, depth);
        const std::array<double, 3> rgb = {200, 31, 77};
        std::array<double, 3> yuv{};
        for (std::size_t c = 0; c < 3; ++c)
          yuv[c] = forward.m[c][0] * rgb[0] + forward.m[c][1] * rgb[1] + forward.m[c][2] * rgb[2] +
                   forward.offset[c];
        for (std::size_t c = 0; c < 3; ++c)
          EXPECT_NEAR(back.m[c][0] * yuv[0] + back.m[c][1] * yuv[1] + back.m[c][2] * yuv[2] + back.offset[c],
                      rgb[c], 1e-9);
      }
    }
  }
}

TEST(Color, reads_colours_as_people_write_them) {
  EXPECT_EQ(parse_rgb("#00ff80"), (Rgb{0, 255, 128}));
  EXPECT_EQ(parse_rgb("00FF80"), (Rgb{0, 255, 128}));
  EXPECT_EQ(parse_rgb("1,20,255"), (Rgb{1, 20, 255}));
  EXPECT_EQ(parse_rgb("white"), (Rgb{255, 255, 255}));
  for (const char* bad : {"", "#", "#12345", "#gg0000", "1,2", "1,2,3,4", "256,0,0", "1,,2", "nocolour", ",,",
                          "1,2,", "0001,2,3"})
    EXPECT_FALSE(parse_rgb(bad)) << bad;
}

}  // namespace
}  // namespace saccade::vision
