#include "vision/decontaminate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vision/reference.h"

namespace saccade::vision {
namespace {

/// A half plane of one colour in front of another, with an edge of some pixels.
TEST(Decontaminator, GivesEdgesTheForegroundsColour) {
  constexpr int kWidth = 96, kHeight = 64;
  for (const PixelFormat format :
       {PixelFormat::yuv420p, PixelFormat::yuv444p10, PixelFormat::rgb24, PixelFormat::nv12}) {
    const int scale = format_info(format).depth > 8 ? 4 : 1;
    const std::array<int, 3> front = {60 * scale, 90 * scale, 170 * scale},
                             back = {150 * scale, 50 * scale, 40 * scale};
    Picture picture(format, kWidth, kHeight);
    Plane alpha(kWidth, kHeight, format_info(format).depth);
    const int full = format_info(format).max_value();
    const auto share = [](double x) { return std::clamp((48 - x) / 12 + 0.5, 0.0, 1.0); };
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x)
        testing::set(alpha.view(), x, y, static_cast<int>(std::lround(share(x) * full)));
    }
    const FormatInfo& info = format_info(format);
    for (int c = 0; c < 3; ++c) {
      const int step = info.is_chroma(c) ? 1 << info.shift_x : 1;
      for (int y = 0; y < info.height_of(c, kHeight); ++y) {
        for (int x = 0; x < info.width_of(c, kWidth); ++x) {
          double a = 0;
          for (int k = 0; k < step; ++k) a += share(x * step + k) / step;
          testing::set(picture.view(), c, x, y,
                       static_cast<int>(std::lround(a * front[static_cast<std::size_t>(c)] +
                                                    (1 - a) * back[static_cast<std::size_t>(c)])));
        }
      }
    }
    PictureSpec spec;
    spec.format = format;
    spec.width = kWidth;
    spec.height = kHeight;
    Workspace workspace;
    Decontaminator(spec).run(picture.view(), alpha.view(), workspace);
    for (int c = 0; c < 3; ++c) {
      const int step = info.is_chroma(c) ? 1 << info.shift_x : 1;
      const int f = front[static_cast<std::size_t>(c)], b = back[static_cast<std::size_t>(c)];
      for (int x = 0; x < info.width_of(c, kWidth); ++x) {
        const int got = testing::get(picture.view(), c, x, 8);
        const double a = share(x * step);
        if (a >= 1) {
          EXPECT_EQ(got, f) << info.name << " " << x;
        }
        // Of the background's colour at most an eighth is left, where half of it was.
        if (a > 0.1 && a < 0.9) {
          EXPECT_LT(std::abs(got - f), std::abs(b - f) * 0.15 + 2)
              << info.name << " component " << c << " column " << x;
        }
        if (x * step >= 56) {
          EXPECT_EQ(got, b) << info.name << " " << x;
        }
      }
    }
  }
}

TEST(Decontaminator, LeavesWhatIsSureBitForBit) {
  testing::Generator random(9);
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 3}, {33, 17}}) {
    testing::GuardedPicture picture(PixelFormat::yuv420p, width, height),
        before(PixelFormat::yuv420p, width, height);
    testing::Generator again = random;
    testing::fill_random(picture.view(), random);
    testing::fill_random(before.view(), again);
    Plane alpha(width, height, 8);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        testing::set(alpha.view(), x, y, x / 2 % 2 == 0 && y / 2 % 2 == 0 ? 255 : 0);
    PictureSpec spec;
    spec.width = width;
    spec.height = height;
    Workspace workspace;
    Decontaminator(spec).run(picture.view(), alpha.view(), workspace);
    // A sample at the border that two kinds of pixels share is soft.
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        EXPECT_EQ(testing::get(picture.view(), 0, x, y), testing::get(before.view(), 0, x, y));
    EXPECT_TRUE(picture.intact());
  }
}

}  // namespace
}  // namespace saccade::vision
