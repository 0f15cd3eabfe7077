// Masks as run lengths and as outlines: both must give every pixel back.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "vision/mask_outline.h"
#include "vision/mask_rle.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using Rule = std::function<bool(int x, int y)>;

Plane mask_of(int width, int height, int depth, const Rule& rule) {
  Plane plane(width, height, depth);
  // Values on both sides of a half, not only the ends.
  const int full = (1 << depth) - 1, above = full / 2 + 1, below = full / 2;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      testing::set(plane.view(), x, y,
                   rule(x, y) ? ((x + y) % 3 == 0 ? above : full) : ((x + y) % 3 == 0 ? below : 0));
  }
  return plane;
}

/// The compressed text read as its definition says: groups of five bits from the lowest, bit 32 "more
/// follows", the sign in the last group's bit 16, counts from the fourth on as differences to the one two
/// before.
std::vector<bool> decode(const std::string& text, int width, int height) {
  std::vector<long> counts;
  std::size_t at = 0;
  while (at < text.size()) {
    long value = 0;
    int shift = 0;
    bool more = true;
    while (more) {
      const long group = text.at(at++) - 48;
      value += (group & 31) << shift;
      shift += 5;
      more = (group & 32) != 0;
      if (!more && (group & 16) != 0) value -= 1L << shift;
    }
    if (counts.size() > 2) value += counts[counts.size() - 2];
    counts.push_back(value);
  }
  std::vector<bool> mask(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  std::size_t pixel = 0;
  bool side = false;
  for (const long count : counts) {
    for (long i = 0; i < count; ++i, ++pixel) {
      const std::size_t x = pixel / static_cast<std::size_t>(height),
                        y = pixel % static_cast<std::size_t>(height);
      mask.at(y * static_cast<std::size_t>(width) + x) = side;
    }
    side = !side;
  }
  EXPECT_EQ(pixel, mask.size());
  return mask;
}

/// Even-odd filling at pixel centres, ring by ring.
std::vector<bool> rasterise(const std::vector<Outline>& outlines, int width, int height) {
  std::vector<bool> mask(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const auto fill = [&](const Ring& ring) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Corner a = ring[i], b = ring[(i + 1) % ring.size()];
      EXPECT_TRUE(a.x == b.x || a.y == b.y);
      EXPECT_FALSE(a == b);
      if (a.x != b.x) continue;
      // A vertical edge changes the side of everything to its right.
      for (int y = std::min(a.y, b.y); y < std::max(a.y, b.y); ++y) {
        for (int x = a.x; x < width; ++x) {
          const auto at =
              static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
          mask[at] = !mask[at];
        }
      }
    }
  };
  for (const Outline& outline : outlines) {
    fill(outline.outer);
    for (const Ring& hole : outline.holes) fill(hole);
  }
  return mask;
}

/// Twice the area, positive for rings that run clockwise on the screen.
long area_twice(const Ring& ring) {
  long sum = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Corner a = ring[i], b = ring[(i + 1) % ring.size()];
    sum += long{a.x} * b.y - long{b.x} * a.y;
  }
  return sum;
}

const std::vector<std::pair<std::string, Rule>>& rules() {
  static std::mt19937 random(7);
  static std::vector<bool> noise = [] {
    std::vector<bool> bits(97 * 97);
    for (auto&& bit : bits) bit = random() % 2 == 0;
    return bits;
  }();
  static const std::vector<std::pair<std::string, Rule>> list = {
      {"empty", [](int, int) { return false; }},
      {"full", [](int, int) { return true; }},
      {"check", [](int x, int y) { return (x + y) % 2 == 0; }},
      {"disc", [](int x, int y) { return (x - 20) * (x - 20) + (y - 17) * (y - 17) < 150; }},
      {"rings", [](int x, int y) { return ((x - 18) * (x - 18) + (y - 16) * (y - 16)) / 40 % 2 == 0; }},
      {"columns", [](int x, int) { return x % 2 == 1; }},
      {"rows", [](int, int y) { return y % 2 == 1; }},
      {"noise", [](int x, int y) { return noise[static_cast<std::size_t>(y % 97 * 97 + x % 97)]; }},
  };
  return list;
}

TEST(MaskRuns, AreWhatTheCommonDecoderReads) {
  // Texts made by pycocotools 2.0.11 from the same masks.
  const auto text = [](const Rule& rule) {
    const Plane plane = mask_of(53, 37, 8, rule);
    return compressed_counts(mask_runs(plane.view()).counts);
  };
  EXPECT_EQ(text(rules()[3].second), "g95m06K4M2N2N2O0O2O000O2O00000001N10001N101N2N2N3L5Jhf0");
  EXPECT_EQ(text(rules()[0].second), "Ym1");
  EXPECT_EQ(text(rules()[1].second), "0Ym1");
}

TEST(MaskRuns, GiveEveryPixelBack) {
  for (const int depth : {8, 16}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {9, 1}, {8, 8}, {53, 37}, {97, 31}}) {
      for (const auto& [name, rule] : rules()) {
        const Plane plane = mask_of(width, height, depth, rule);
        const MaskRuns runs = mask_runs(plane.view());
        const std::vector<bool> mask = decode(compressed_counts(runs.counts), width, height);
        std::uint64_t area = 0;
        int left = width, top = height, right = 0, bottom = 0;
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            ASSERT_EQ(mask[static_cast<std::size_t>(y * width + x)], rule(x, y))
                << name << " " << x << "," << y;
            if (!rule(x, y)) continue;
            ++area;
            left = std::min(left, x), right = std::max(right, x + 1);
            top = std::min(top, y), bottom = std::max(bottom, y + 1);
          }
        }
        EXPECT_EQ(runs.area, area);
        if (area == 0) left = top = 0;
        EXPECT_EQ(std::vector({runs.left, runs.top, runs.right, runs.bottom}),
                  std::vector({left, top, right, bottom}));
      }
    }
  }
}

TEST(MaskOutlines, GiveEveryPixelBack) {
  for (const int depth : {8, 16}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {9, 1}, {8, 8}, {53, 37}, {97, 31}}) {
      for (const auto& [name, rule] : rules()) {
        const Plane plane = mask_of(width, height, depth, rule);
        const std::vector<Outline> outlines = mask_outlines(plane.view());
        const std::vector<bool> mask = rasterise(outlines, width, height);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x)
            ASSERT_EQ(mask[static_cast<std::size_t>(y * width + x)], rule(x, y))
                << name << " " << x << "," << y;
        }
        for (const Outline& outline : outlines) {
          EXPECT_GT(area_twice(outline.outer), 0) << name;
          for (const Ring& hole : outline.holes) EXPECT_LT(area_twice(hole), 0) << name;
        }
      }
    }
  }
}

TEST(MaskOutlines, HolesBelongToWhatIsAroundThem) {
  // A frame with a block inside it, and a second frame on the right that touches the first at a corner only.
  const std::vector<std::string> picture = {"#######...", "#.....#...", "#.###.#...", "#.#.#.#...",
                                            "#.###.#...", "#.....#...", "#######...", ".......###",
                                            ".......#.#", ".......###"};
  const Plane plane = mask_of(10, 10, 8, [&](int x, int y) {
    return picture[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] == '#';
  });
  const std::vector<Outline> outlines = mask_outlines(plane.view());
  ASSERT_EQ(outlines.size(), 3u);
  for (const Outline& outline : outlines) ASSERT_EQ(outline.holes.size(), 1u);
  EXPECT_EQ(outlines[0].outer, (Ring{{7, 0}, {7, 7}, {0, 7}, {0, 0}}));
  EXPECT_EQ(area_twice(outlines[0].holes[0]), -2 * 25);
  EXPECT_EQ(area_twice(outlines[1].outer), 2 * 9);
  EXPECT_EQ(area_twice(outlines[1].holes[0]), -2);
  EXPECT_EQ(outlines[2].outer.size(), 4u);
}

}  // namespace
}  // namespace saccade::vision
