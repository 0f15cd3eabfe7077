// Resize and Upsample: coordinate modes, rounding, given scales, antialiasing, the older operator sets.
#include <gtest/gtest.h>

#include "known_values/executors.h"

namespace saccade::known {
namespace {

struct Rule {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest;
  bool antialias = false;
  bool exclude_outside = false;
};

/// A Resize of the newest kind, to `sizes` or by `scales`.
OnnxModel resize(const Rule& rule, const Shape& in, const Integers& sizes, const std::vector<float>& scales) {
  OnnxModel m(18);
  m.input("x", DType::f32, in).output("y");
  if (!sizes.empty())
    m.integers("sizes", {static_cast<std::int64_t>(sizes.size())}, sizes);
  else
    m.floats("scales", {static_cast<std::int64_t>(scales.size())}, scales);
  OnnxModel::Node node = sizes.empty() ? m.node("Resize", {"x", "", "scales"}, {"y"})
                                       : m.node("Resize", {"x", "", "", "sizes"}, {"y"});
  node.set("mode", rule.mode).set("coordinate_transformation_mode", rule.coordinates);
  if (!rule.nearest.empty()) node.set("nearest_mode", rule.nearest);
  node.set("antialias", std::int64_t{rule.antialias})
      .set("exclude_outside", std::int64_t{rule.exclude_outside});
  return m;
}

Shape with_channels(Shape shape, std::int64_t channels) {
  shape.at(1) = channels;
  return shape;
}

void expect_by_sizes(const Rule& rule, const Tensor& x, const Tensor& y, double tolerance = 1e-6) {
  for (const std::int64_t c : kChannels) {
    SCOPED_TRACE(rule.mode + " " + rule.coordinates + " " + rule.nearest +
                 " to sizes, channels: " + std::to_string(c));
    expect(resize(rule, with_channels(x.shape(), c), with_channels(y.shape(), c), {}), {widened(x, c)},
           widened(y, c), tolerance);
  }
}

void expect_by_scales(const Rule& rule, const Tensor& x, const std::vector<float>& scales, const Tensor& y,
                      double tolerance = 1e-6) {
  for (const std::int64_t c : kChannels) {
    SCOPED_TRACE(rule.mode + " " + rule.coordinates + " " + rule.nearest +
                 " by scales, channels: " + std::to_string(c));
    expect(resize(rule, with_channels(x.shape(), c), {}, scales), {widened(x, c)}, widened(y, c), tolerance);
  }
}

TEST(KnownResize, NearestTakesThePixelOfItsCoordinateAndRoundingMode) {
  struct Case {
    const char* coordinates;
    const char* nearest;
    std::vector<float> expected;
  };
  const Case cases[] = {{"asymmetric", "floor", {1, 1, 2, 3, 3, 4}},
                        {"asymmetric", "ceil", {1, 2, 3, 3, 4, 4}},
                        {"half_pixel", "floor", {1, 1, 2, 2, 3, 4}},
                        {"align_corners", "floor", {1, 1, 2, 2, 3, 4}},
                        {"half_pixel", "round_prefer_floor", {1, 1, 2, 3, 3, 4}},
                        {"half_pixel", "round_prefer_ceil", {1, 2, 2, 3, 4, 4}}};
  const Tensor x = floats({1, 1, 1, 4}, {1, 2, 3, 4});
  for (const Case& c : cases) {
    const Rule rule{"nearest", c.coordinates, c.nearest};
    expect_by_sizes(rule, x, floats({1, 1, 1, 6}, c.expected));
    expect_by_scales(rule, x, {1, 1, 1, 1.5f}, floats({1, 1, 1, 6}, c.expected));
    // Down the columns it is the same.
    expect_by_sizes(rule, x.reshaped({1, 1, 4, 1}), floats({1, 1, 6, 1}, c.expected));
  }
}

TEST(KnownResize, ScalesAreTakenAsGivenAndSizesMeanTheirRatio) {
  const Rule linear{"linear", "half_pixel", ""};
  const Tensor three = floats({1, 1, 1, 3}, {0, 10, 20});
  expect_by_scales(linear, three, {1, 1, 1, 1.5f}, floats({1, 1, 1, 4}, {0, 5, 35 / 3.0f, 55 / 3.0f}));
  expect_by_sizes(linear, three, floats({1, 1, 1, 4}, {0, 6.25f, 13.75f, 20}));
  const Tensor plane = counting({1, 1, 2, 4}, 1);
  expect_by_scales(linear, plane, {1, 1, 0.6f, 0.6f}, floats({1, 1, 1, 2}, {8 / 3.0f, 13 / 3.0f}));
  expect_by_scales({"linear", "align_corners", ""}, plane, {1, 1, 0.6f, 0.6f},
                   floats({1, 1, 1, 2}, {1, 22 / 7.0f}));
}

TEST(KnownResize, LinearFollowsItsCoordinateMode) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto expected = [](const std::vector<float>& row) {
    // The rows interpolate from 0 to 2 as the columns from 1 to 2.
    std::vector<float> all;
    for (const float down : row)
      for (const float across : row) all.push_back(2 * (down - 1) + across);
    return floats({1, 1, 4, 4}, all);
  };
  const std::pair<const char*, std::vector<float>> rows[] = {{"half_pixel", {1, 1.25f, 1.75f, 2}},
                                                             {"pytorch_half_pixel", {1, 1.25f, 1.75f, 2}},
                                                             {"asymmetric", {1, 1.5f, 2, 2}},
                                                             {"align_corners", {1, 4 / 3.0f, 5 / 3.0f, 2}}};
  for (const auto& [coordinates, row] : rows) {
    expect_by_sizes({"linear", coordinates, ""}, x, expected(row));
    expect_by_scales({"linear", coordinates, ""}, x, {1, 1, 2, 2}, expected(row));
  }
}

TEST(KnownResize, ToOnePixelTakesTheMiddleOrTheFirst) {
  const Tensor x = counting({1, 1, 1, 10}, 0);
  expect_by_sizes({"linear", "half_pixel", ""}, x, floats({1, 1, 1, 1}, {4.5f}));
  expect_by_sizes({"linear", "pytorch_half_pixel", ""}, x, floats({1, 1, 1, 1}, {0}));
  expect_by_sizes({"linear", "align_corners", ""}, x, floats({1, 1, 1, 1}, {0}));
}

TEST(KnownResize, AntialiasStretchesTheFilterWhereThePictureShrinks) {
  const Tensor x = floats({1, 1, 1, 6}, {0, 0, 0, 0, 0, 6});
  expect_by_sizes({"linear", "half_pixel", ""}, x, floats({1, 1, 1, 2}, {0, 0}));
  expect_by_sizes({"linear", "half_pixel", "", true}, x, floats({1, 1, 1, 2}, {0, 2}));
  expect_by_sizes({"linear", "half_pixel", "", true, true}, x, floats({1, 1, 1, 2}, {0, 1.5f}));
}

TEST(KnownResize, OldOperatorSetsReadFromTheCorner) {
  for (const std::int64_t c : kChannels) {
    const Shape in{1, c, 2, 2};
    const Tensor x = widened(floats({1, 1, 2, 2}, {1, 2, 3, 4}), c),
                 y = widened(
                     floats({1, 1, 4, 4}, {1, 1.5f, 2, 2, 2, 2.5f, 3, 3, 3, 3.5f, 4, 4, 3, 3.5f, 4, 4}), c);
    OnnxModel upsample(9);
    upsample.input("x", DType::f32, in).output("y").floats("s", {4}, {1, 1, 2, 2});
    upsample.node("Upsample", {"x", "s"}, {"y"}).set("mode", "linear");
    expect(upsample, {x}, y);
    OnnxModel attribute(7);
    attribute.input("x", DType::f32, in).output("y");
    attribute.node("Upsample", {"x"}, {"y"})
        .set("mode", "linear")
        .set("scales", std::vector<float>{1, 1, 2, 2});
    expect(attribute, {x}, y);
    OnnxModel resized(10);
    resized.input("x", DType::f32, in).output("y").floats("s", {4}, {1, 1, 2, 2});
    resized.node("Resize", {"x", "s"}, {"y"}).set("mode", "linear");
    expect(resized, {x}, y);
  }
}

TEST(KnownResize, BatchAndChannelsAreNeverMoved) {
  for (const std::int64_t opset : {11, 13, 19}) {
    OnnxModel m(opset);
    m.input("x", DType::f32, {2, 2, 1, 1}).output("y").integers("sizes", {4}, {2, 2, 1, 2});
    if (opset == 11) m.floats("none", {0}, {});
    const std::string none = opset == 11 ? "none" : "";
    m.node("Resize", {"x", none, none, "sizes"}, {"y"})
        .set("coordinate_transformation_mode", opset == 11 ? "tf_half_pixel_for_nn" : "half_pixel")
        .set("nearest_mode", "ceil");
    expect(m, {floats({2, 2, 1, 1}, {10, 20, 30, 40})},
           floats({2, 2, 1, 2}, {10, 10, 20, 20, 30, 30, 40, 40}));
  }
}

}  // namespace
}  // namespace saccade::known
