#include "vision/refine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "saccade/error.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;

/// The definition in double precision, as docs/numerics.md has it.
std::vector<double> reference(const ConstPictureView& picture, const PlaneView& alpha, int radius) {
  const int width = picture.width, height = picture.height, nx = (width + 3) / 4, ny = (height + 3) / 4;
  const int depth = format_info(picture.format).depth,
            guide = format_info(picture.format).model == ColorModel::rgb ? 1 : 0;
  const auto cells = [&](const auto& value) {
    std::vector<double> means(static_cast<std::size_t>(nx * ny));
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        double sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += value(std::min(4 * x + k % 4, width - 1), std::min(4 * y + k / 4, height - 1));
        means[static_cast<std::size_t>(y * nx + x)] = sum / 16;
      }
    }
    return means;
  };
  const auto luma =
      cells([&](int x, int y) { return (testing::get(picture, guide, x, y) >> (depth - 8)) / 255.0; });
  const auto mask =
      cells([&](int x, int y) { return (testing::get(alpha, x, y) >> (alpha.depth - 8)) / 255.0; });
  const auto mean = [&](const std::vector<double>& map) {
    std::vector<double> out(map.size());
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        double sum = 0;
        for (int j = -radius; j <= radius; ++j) {
          for (int i = -radius; i <= radius; ++i)
            sum += map[static_cast<std::size_t>(std::clamp(y + j, 0, ny - 1) * nx +
                                                std::clamp(x + i, 0, nx - 1))];
        }
        out[static_cast<std::size_t>(y * nx + x)] = sum / ((2 * radius + 1) * (2 * radius + 1));
      }
    }
    return out;
  };
  std::vector<double> squared(luma.size()), product(luma.size()), slope(luma.size()), offset(luma.size());
  for (std::size_t i = 0; i < luma.size(); ++i)
    squared[i] = luma[i] * luma[i], product[i] = luma[i] * mask[i];
  const auto ml = mean(luma), mm = mean(mask), ms = mean(squared), mp = mean(product);
  for (std::size_t i = 0; i < luma.size(); ++i) {
    slope[i] = (mp[i] - ml[i] * mm[i]) / (std::max(0.0, ms[i] - ml[i] * ml[i]) + 4e-4);
    offset[i] = mm[i] - slope[i] * ml[i];
  }
  const auto a = mean(slope), b = mean(offset);
  const auto at = [&](const std::vector<double>& map, int x, int y) {
    const double u = std::clamp((x + 0.5) / 4 - 0.5, 0.0, nx - 1.0),
                 v = std::clamp((y + 0.5) / 4 - 0.5, 0.0, ny - 1.0);
    const int i = static_cast<int>(u), j = static_cast<int>(v), i1 = std::min(i + 1, nx - 1),
              j1 = std::min(j + 1, ny - 1);
    const auto m = [&](int q, int p) { return map[static_cast<std::size_t>(q * nx + p)]; };
    return (m(j, i) * (1 - u + i) + m(j, i1) * (u - i)) * (1 - v + j) +
           (m(j1, i) * (1 - u + i) + m(j1, i1) * (u - i)) * (v - j);
  };
  std::vector<double> result;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double value =
          at(a, x, y) * (testing::get(picture, guide, x, y) >> (depth - 8)) / 255.0 + at(b, x, y);
      result.push_back(std::clamp(value, 0.0, 1.0));
    }
  }
  return result;
}

void draw(const PlaneView& alpha, Generator& random) {
  const int full = (1 << alpha.depth) - 1;
  const double cx = alpha.width * 0.45, cy = alpha.height * 0.5,
               r = std::min(alpha.width, alpha.height) * 0.3;
  for (int y = 0; y < alpha.height; ++y) {
    for (int x = 0; x < alpha.width; ++x) {
      const double edge = std::clamp((r - std::hypot(x - cx, y - cy)) / 3 + 0.5, 0.0, 1.0);
      testing::set(alpha, x, y, static_cast<int>(std::lround(edge * full)));
    }
  }
  (void)random;
}

TEST(MaskRefiner, FollowsItsDefinitionOnEveryInstructionSet) {
  Generator random(3);
  for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::yuv420p10, PixelFormat::rgb24,
                                   PixelFormat::nv12, PixelFormat::gbrp}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 5}, {4, 4}, {37, 29}, {96, 64}, {133, 101}}) {
      for (const float radius : {1.0f, 8.0f}) {
        const int depth = format_info(format).depth;
        testing::GuardedPicture picture(format, width, height);
        testing::fill_smooth(picture.view(), random);
        PictureSpec spec;
        spec.format = format;
        spec.width = width;
        spec.height = height;
        Plane plain(width, height, depth);
        draw(plain.view(), random);
        const std::vector<double> want =
            reference(picture.view(), plain.view(), std::max(1, static_cast<int>(std::lround(radius / 4))));
        std::vector<int> first;
        for (const Isa isa : testing::runnable_isas()) {
          Plane alpha(width, height, depth);
          draw(alpha.view(), random);
          Workspace workspace;
          MaskRefiner(spec, radius, isa).run(picture.view(), alpha.view(), workspace);
          std::vector<int> got;
          const double full = (1 << depth) - 1;
          for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
              got.push_back(testing::get(alpha.view(), x, y));
              ASSERT_NEAR(got.back() / full, want[static_cast<std::size_t>(y * width + x)], 1.6 / 255)
                  << format_info(format).name << " " << width << "x" << height << " at " << x << "," << y;
            }
          }
          if (first.empty()) first = got;
          EXPECT_TRUE(got == first) << isa_name(isa);
          EXPECT_TRUE(picture.intact());
        }
      }
    }
  }
}

TEST(MaskRefiner, MovesAnEdgeOntoThePicturesOwn) {
  // The picture changes at column 40; the mask, blurred, five columns too early.
  constexpr int kWidth = 96, kHeight = 64;
  Picture picture(PixelFormat::yuv420p, kWidth, kHeight);
  testing::fill_flat(picture.view(), {40, 128, 128, 0});
  Plane alpha(kWidth, kHeight, 8);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      if (x >= 40) testing::set(picture.view(), 0, x, y, 200);
      testing::set(alpha.view(), x, y, std::clamp((x - 35) * 25 + 128, 0, 255));
    }
  }
  PictureSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  Workspace workspace;
  MaskRefiner(spec, 8).run(picture.view(), alpha.view(), workspace);
  EXPECT_LT(testing::get(alpha.view(), 38, 32), 128);  // it was 203
  EXPECT_GT(testing::get(alpha.view(), 41, 32), 185);
  EXPECT_GT(testing::get(alpha.view(), 41, 32) - testing::get(alpha.view(), 39, 32), 70);  // it was 50
  EXPECT_EQ(testing::get(alpha.view(), 2, 32), 0);
  EXPECT_EQ(testing::get(alpha.view(), 90, 32), 255);
}

TEST(MaskRefiner, OnlyEdgesAreWorkedOnAndWhatWasThereBeforeDoesNotMatter) {
  // Wide enough that most blocks and rows of cells hold no edge; one workspace for all.
  constexpr int kWidth = 701, kHeight = 210;
  Generator random(11);
  Picture picture(PixelFormat::yuv420p, kWidth, kHeight);
  testing::fill_smooth(picture.view(), random);
  PictureSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  for (const float radius : {4.0f, 12.0f, 40.0f}) {
    std::vector<std::vector<int>> first;
    for (const Isa isa : testing::runnable_isas()) {
      const MaskRefiner refiner(spec, radius, isa);
      Workspace workspace;
      std::fill_n(workspace.reserve(std::size_t{1} << 24, Scratch::refine), std::size_t{1} << 24,
                  std::uint8_t{0x7b});
      std::size_t number = 0;
      for (const auto& [cx, cy] : {std::pair{350, 100}, {10, 15}, {690, 200}, {0, 209}, {600, 40}}) {
        Plane alpha(kWidth, kHeight, 8), plain(kWidth, kHeight, 8);
        for (int y = 0; y < kHeight; ++y) {
          for (int x = 0; x < kWidth; ++x) {
            const double edge = std::clamp((20 - std::hypot(x - cx, y - cy)) / 4 + 0.5, 0.0, 1.0);
            testing::set(alpha.view(), x, y, static_cast<int>(std::lround(255 * edge)));
            testing::set(plain.view(), x, y, static_cast<int>(std::lround(255 * edge)));
          }
        }
        refiner.run(picture.view(), alpha.view(), workspace);
        std::vector<int> got;
        for (int i = 0; i < kWidth * kHeight; ++i)
          got.push_back(testing::get(alpha.view(), i % kWidth, i / kWidth));
        if (first.size() <= number) {
          const std::vector<double> want =
              reference(picture.view(), plain.view(), std::max(1, static_cast<int>(std::lround(radius / 4))));
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i] / 255.0, want[i], 1.6 / 255) << "radius " << radius << ", pixel " << i;
          first.push_back(got);
        }
        EXPECT_TRUE(got == first[number]) << isa_name(isa);
        ++number;
      }
    }
  }
}

TEST(MaskRefiner, UniformMasksStayBitForBit) {
  Generator random(5);
  testing::GuardedPicture picture(PixelFormat::yuv420p, 61, 47);
  testing::fill_random(picture.view(), random);
  PictureSpec spec;
  spec.width = 61;
  spec.height = 47;
  for (const int value : {0, 255}) {
    Plane alpha(61, 47, 8);
    for (int i = 0; i < 61 * 47; ++i) testing::set(alpha.view(), i % 61, i / 61, value);
    Workspace workspace;
    MaskRefiner(spec, 8).run(picture.view(), alpha.view(), workspace);
    for (int i = 0; i < 61 * 47; ++i) ASSERT_EQ(testing::get(alpha.view(), i % 61, i / 61), value);
  }
  EXPECT_THROW(MaskRefiner(spec, 0), Error);
  EXPECT_THROW(MaskRefiner(spec, 1000), Error);
}

}  // namespace
}  // namespace saccade::vision
