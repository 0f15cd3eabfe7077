// Measures of agreement beside values worked out by hand.
#include "accuracy/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "accuracy/summary.h"

namespace saccade::accuracy {
namespace {

/// '#' is foreground.
struct Mask {
  std::vector<std::uint8_t> bytes;
  int width = 0, height = 0;
  explicit Mask(const std::vector<std::string>& rows)
      : width(static_cast<int>(rows[0].size())), height(static_cast<int>(rows.size())) {
    for (const std::string& row : rows)
      for (const char c : row) bytes.push_back(c == '#' ? 255 : 0);
  }
  Mask(int w, int h) : bytes(static_cast<std::size_t>(w * h)), width(w), height(h) {}
  MaskView view() const { return {bytes.data(), width, height}; }
};

TEST(Metrics, ConfusionCountsPixels) {
  const Mask a({"##..", "##..", "...."}), b({".##.", ".##.", "...."});
  Confusion c;
  c.add(a.view(), b.view());
  EXPECT_EQ(c.both, 2);
  EXPECT_EQ(c.only_first, 2);
  EXPECT_EQ(c.only_second, 2);
  EXPECT_EQ(c.neither, 6);
  EXPECT_DOUBLE_EQ(c.iou(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(c.dice(), 4.0 / 8);
  EXPECT_DOUBLE_EQ(c.mean_iou(), (2.0 / 6 + 6.0 / 10) / 2);
  EXPECT_DOUBLE_EQ(c.changed(), 4.0 / 12);
  // Pixels that nobody labelled do not count.
  Confusion valid;
  const std::vector<std::uint8_t> left = {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0};
  valid.add(a.view(), b.view(), left);
  EXPECT_EQ(valid.all(), 6);
  EXPECT_EQ(valid.both, 2);
  EXPECT_EQ(valid.only_first, 2);
  EXPECT_EQ(valid.only_second, 0);
}

TEST(Metrics, NothingAgreesWithNothing) {
  const Mask empty({"...", "..."}), full({"###", "###"});
  Confusion c;
  c.add(empty.view(), empty.view());
  EXPECT_EQ(c.iou(), 1);
  EXPECT_EQ(c.dice(), 1);
  EXPECT_EQ(c.changed(), 0);
  Confusion d;
  d.add(empty.view(), full.view());
  EXPECT_EQ(d.iou(), 0);
  EXPECT_EQ(d.mean_iou(), 0);
  EXPECT_EQ(d.changed(), 1);
  Boundary b;
  b.add(empty.view(), empty.view(), 1);
  EXPECT_EQ(b.f(), 1);
  EXPECT_EQ(Confusion{}.changed(), 0);
  EXPECT_EQ(MatteError{}.mean(), 0);
}

TEST(Metrics, OutlinesAreForegroundBesideBackground) {
  // A filled square of 4x4: its outline is the 12 pixels around the four inner ones.
  const Mask square({"......", ".####.", ".####.", ".####.", ".####.", "......"});
  Boundary b;
  b.add(square.view(), square.view(), 1);
  EXPECT_EQ(b.first, 12);
  EXPECT_EQ(b.first_near, 12);
  EXPECT_EQ(b.f(), 1);
  // What touches the picture's edge has no outline there.
  const Mask half({"##..", "##..", "##.."});
  Boundary h;
  h.add(half.view(), half.view(), 1);
  EXPECT_EQ(h.first, 3);
}

TEST(Metrics, OutlinesMatchWithinTheTolerance) {
  // One pixel each, three columns and one row apart: sqrt(10) = 3.16.
  Mask a(9, 5), b(9, 5);
  a.bytes[1 * 9 + 2] = 255;
  b.bytes[2 * 9 + 5] = 255;
  for (const auto& [tolerance, near] : {std::pair(1, 0), {3, 0}, {4, 1}, {8, 1}}) {
    Boundary c;
    c.add(a.view(), b.view(), tolerance);
    EXPECT_EQ(c.first, 1);
    EXPECT_EQ(c.second, 1);
    EXPECT_EQ(c.first_near, near) << tolerance;
    EXPECT_EQ(c.f(), near);
  }
  // Precision 1 (the one pixel is near), recall a half: F = 2/3.
  Mask two = b;
  two.bytes[4 * 9 + 8] = 255;
  Boundary c;
  c.add(b.view(), two.view(), 1);
  EXPECT_EQ(c.first_near, 1);
  EXPECT_EQ(c.second_near, 1);
  EXPECT_EQ(c.second, 2);
  EXPECT_DOUBLE_EQ(c.f(), 2.0 / 3);
  EXPECT_EQ(boundary_tolerance(1920, 1080), 18);  // 0.008 * 2202.9 = 17.6
  EXPECT_EQ(boundary_tolerance(10, 10), 1);
}

// Beside a search of all pairs.
TEST(Metrics, OutlinesAgreeWithThePlainDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const int width = 1 + static_cast<int>(random() % 23), height = 1 + static_cast<int>(random() % 19);
    Mask a(width, height), b(width, height);
    for (Mask* mask : {&a, &b})
      for (std::uint8_t& v : mask->bytes) v = random() % 5 == 0 ? 0 : 255;
    const auto outline = [&](const Mask& m) {
      std::vector<std::pair<int, int>> points;
      const auto on = [&](int x, int y) {
        return x < 0 || y < 0 || x >= width || y >= height ||
               m.bytes[static_cast<std::size_t>(y * width + x)] > 127;
      };
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
          if (on(x, y) && !(on(x - 1, y) && on(x + 1, y) && on(x, y - 1) && on(x, y + 1)))
            points.emplace_back(x, y);
      return points;
    };
    const int tolerance = 1 + static_cast<int>(random() % 4);
    const auto first = outline(a), second = outline(b);
    const auto near = [&](const auto& of, const auto& to) {
      std::int64_t n = 0;
      for (const auto& [x, y] : of) {
        bool found = false;
        for (const auto& [u, v] : to)
          found = found || (x - u) * (x - u) + (y - v) * (y - v) <= tolerance * tolerance;
        n += found ? 1 : 0;
      }
      return n;
    };
    Boundary c;
    c.add(a.view(), b.view(), tolerance);
    EXPECT_EQ(c.first, static_cast<std::int64_t>(first.size()));
    EXPECT_EQ(c.second, static_cast<std::int64_t>(second.size()));
    EXPECT_EQ(c.first_near, near(first, second));
    EXPECT_EQ(c.second_near, near(second, first));
  }
}

TEST(Metrics, MattesDifferByTheirAlpha) {
  Mask a(2, 2), b(2, 2);
  a.bytes = {0, 255, 51, 102};
  b.bytes = {51, 0, 51, 0};
  MatteError e;
  e.add(a.view(), b.view());
  EXPECT_NEAR(e.sum, 0.2 + 1 + 0 + 0.4, 1e-12);
  EXPECT_NEAR(e.mean(), 0.4, 1e-12);
  EXPECT_NEAR(e.mean_square(), (0.04 + 1 + 0.16) / 4, 1e-12);
  EXPECT_NEAR(e.sad(), 0.0016, 1e-12);
}

TEST(Metrics, SummariesAddUp) {
  const Mask a({"##..", "##.."}), b({"#...", "##.."}), c({"....", "...."});
  Summary all, first, second;
  first.add(a.view(), b.view());
  second.add(a.view(), c.view());
  all.add(first);
  all.add(second);
  const MaskAgreement result = all.agreement();
  EXPECT_DOUBLE_EQ(first.agreement().iou, 0.75);
  EXPECT_DOUBLE_EQ(result.iou, 3.0 / 8);
  EXPECT_DOUBLE_EQ(result.changed, 5.0 / 16);
  EXPECT_DOUBLE_EQ(result.mae, 5.0 / 16);
  EXPECT_DOUBLE_EQ(result.sad, 0.0025);
  EXPECT_DOUBLE_EQ(second.agreement().boundary_f, 0);
}

}  // namespace
}  // namespace saccade::accuracy
