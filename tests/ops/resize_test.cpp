// Geometry of Resize. Expected values are the ONNX specification's, and where it leaves a choice, those of
// docs/numerics.md.
#include <limits>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

Tensor scales(std::vector<float> values) {
  return floats({static_cast<std::int64_t>(values.size())}, values);
}

Tensor by_scales(const Tensor& x, std::vector<float> factors, const ir::Attributes& attributes) {
  return run("Resize", {x, absent(), scales(std::move(factors))}, attributes);
}
Tensor by_sizes(const Tensor& x, std::vector<std::int64_t> sizes, const ir::Attributes& attributes) {
  return run("Resize", {x, absent(), absent(), ints(std::move(sizes))}, attributes);
}

ir::Attributes nearest(const char* coordinates, const char* rounding) {
  return {{"mode", text("nearest")},
          {"coordinate_transformation", text(coordinates)},
          {"nearest_mode", text(rounding)}};
}
ir::Attributes linear(const char* coordinates) {
  return {{"mode", text("linear")}, {"coordinate_transformation", text(coordinates)}};
}

TEST(Resize, NearestPicksThePixelOfItsCoordinateMode) {
  struct Case {
    const char* coordinates;
    const char* rounding;
    std::vector<double> expected;
  };
  const Case cases[] = {{"asymmetric", "floor", {1, 1, 2, 3, 3, 4}},
                        {"asymmetric", "ceil", {1, 2, 3, 3, 4, 4}},
                        {"half_pixel", "floor", {1, 1, 2, 2, 3, 4}},
                        {"align_corners", "floor", {1, 1, 2, 2, 3, 4}},
                        {"half_pixel", "round_prefer_floor", {1, 1, 2, 3, 3, 4}},
                        {"half_pixel", "round_prefer_ceil", {1, 2, 2, 3, 4, 4}},
                        {"half_pixel_symmetric", "floor", {1, 1, 2, 2, 3, 4}},
                        {"pytorch_half_pixel", "ceil", {1, 2, 3, 3, 4, 4}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.coordinates) + "/" + c.rounding);
    const Tensor x = floats({1, 1, 1, 4}, {1, 2, 3, 4});
    expect_floats(by_sizes(x, {1, 1, 1, 6}, nearest(c.coordinates, c.rounding)), {1, 1, 1, 6}, c.expected);
    expect_floats(by_scales(x, {1, 1, 1, 1.5f}, nearest(c.coordinates, c.rounding)), {1, 1, 1, 6},
                  c.expected);
  }
}

TEST(Resize, GivenScalesAreUsedAsGivenAndSizesMeanTheirRatio) {
  const Tensor x = floats({1, 1, 1, 3}, {0, 10, 20});
  expect_floats(by_scales(x, {1, 1, 1, 1.5f}, linear("half_pixel")), {1, 1, 1, 4},
                {0, 5, 11.6666667, 18.3333333}, 1e-5);
  expect_floats(by_sizes(x, {1, 1, 1, 4}, linear("half_pixel")), {1, 1, 1, 4}, {0, 6.25, 13.75, 20});
  const Tensor plane = counting({1, 1, 2, 4}, 1);
  expect_floats(by_scales(plane, {1, 1, 0.6f, 0.6f}, linear("half_pixel")), {1, 1, 1, 2},
                {2.6666667, 4.3333333}, 1e-5);
  const Tensor five = floats({1, 1, 1, 5}, {0, 10, 20, 30, 40});
  expect_floats(by_scales(five, {1, 1, 1, 0.7f}, linear("half_pixel")), {1, 1, 1, 3},
                {2.142857, 16.428570, 30.714283}, 1e-4);
  // The output's length is floor(in * scale) in f32: 10 * 0.7f counts as 7.
  EXPECT_EQ(by_scales(counting({10}), {0.7f}, linear("half_pixel")).shape(), Shape{7});
}

TEST(Resize, AlignCornersWithAGivenScaleUsesTheUnroundedLength) {
  const Tensor plane = counting({1, 1, 2, 4}, 1);
  expect_floats(by_scales(plane, {1, 1, 0.6f, 0.6f}, linear("align_corners")), {1, 1, 1, 2}, {1, 3.142857},
                1e-5);
}

TEST(Resize, AlignWholeCornersPutsTheLastSampleOnTheLast) {
  const Tensor plane = counting({1, 1, 2, 4}, 1);
  expect_floats(by_scales(plane, {1, 1, 0.6f, 0.6f}, linear("align_whole_corners")), {1, 1, 1, 2}, {1, 4});
  const Tensor row = floats({1, 1, 1, 3}, {0, 1, 2});
  expect_floats(by_scales(row, {1, 1, 1, 1.7f}, linear("align_whole_corners")), {1, 1, 1, 5},
                {0, 0.5f, 1, 1.5f, 2});
  expect_floats(by_scales(row, {1, 1, 1, 0.4f}, linear("align_whole_corners")), {1, 1, 1, 1}, {0});
}

TEST(Resize, LinearCoordinateModes) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto first_row = [&](const char* mode) {
    const Tensor y = by_scales(x, {1, 1, 2, 2}, linear(mode));
    return floats({4}, {y.data<float>()[0], y.data<float>()[1], y.data<float>()[2], y.data<float>()[3]});
  };
  expect_floats(first_row("half_pixel"), {4}, {1, 1.25, 1.75, 2});
  expect_floats(first_row("asymmetric"), {4}, {1, 1.5, 2, 2});
  expect_floats(first_row("align_corners"), {4}, {1, 1.3333333, 1.6666667, 2});
  expect_floats(first_row("pytorch_half_pixel"), {4}, {1, 1.25, 1.75, 2});
}

TEST(Resize, ToOnePixel) {
  const Tensor x = counting({1, 1, 1, 10});
  expect_floats(by_sizes(x, {1, 1, 1, 1}, linear("half_pixel")), {1, 1, 1, 1}, {4.5});
  expect_floats(by_sizes(x, {1, 1, 1, 1}, linear("pytorch_half_pixel")), {1, 1, 1, 1}, {0});
  expect_floats(by_sizes(x, {1, 1, 1, 1}, linear("align_corners")), {1, 1, 1, 1}, {0});
}

TEST(Resize, AntialiasStretchesTheFilterWhenShrinking) {
  const Tensor x = floats({1, 1, 1, 6}, {0, 0, 0, 0, 0, 6});
  ir::Attributes attributes = linear("half_pixel");
  expect_floats(by_sizes(x, {1, 1, 1, 2}, attributes), {1, 1, 1, 2}, {0, 0});
  attributes["antialias"] = integer(1);
  expect_floats(by_sizes(x, {1, 1, 1, 2}, attributes), {1, 1, 1, 2}, {0, 2});
  attributes["exclude_outside"] = integer(1);
  expect_floats(by_sizes(x, {1, 1, 1, 2}, attributes), {1, 1, 1, 2}, {0, 1.5});
  // Enlarging is not affected.
  const Tensor two = floats({1, 1, 1, 2}, {1, 2});
  expect_floats(by_sizes(two, {1, 1, 1, 4}, {{"mode", text("linear")}, {"antialias", integer(1)}}),
                {1, 1, 1, 4}, {1, 1.25, 1.75, 2});
}

TEST(Resize, CubicMatchesTheOfficialVectors) {
  const Tensor x = counting({1, 1, 4, 4}, 1);
  const Tensor y = by_scales(x, {1, 1, 2, 2}, {{"mode", text("cubic")}});
  ASSERT_EQ(y.shape(), (Shape{1, 1, 8, 8}));
  const double first_row[] = {0.47265625, 0.76953125, 1.24609375, 1.875,
                              2.28125,    2.91015625, 3.38671875, 3.68359375};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(static_cast<double>(y.data<float>()[i]), first_row[i], 1e-5) << i;
  const Tensor excluded =
      by_scales(x, {1, 1, 2, 2},
                {{"mode", text("cubic")}, {"cubic_coeff_a", real(-0.5f)}, {"exclude_outside", integer(1)}});
  const double excluded_row[] = {0.55882353, 0.81494204, 1.35698249, 1.89705882,
                                 2.39705882, 2.93713516, 3.47917561, 3.73529412};
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(static_cast<double>(excluded.data<float>()[i]), excluded_row[i], 1e-5) << i;
}

TEST(Resize, CropAndResizeExtrapolates) {
  const Tensor x = counting({1, 1, 4, 4}, 1);
  const Tensor roi = floats({8}, {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f});
  const ir::Attributes attributes{{"mode", text("linear")},
                                  {"coordinate_transformation", text("tf_crop_and_resize")},
                                  {"extrapolation_value", real(10)}};
  expect_floats(run("Resize", {x, roi, absent(), ints({1, 1, 3, 3})}, attributes), {1, 1, 3, 3},
                {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10}, 1e-5);
  const Tensor inner = floats({8}, {0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f});
  expect_floats(run("Resize", {x, inner, scales({1, 1, 0.75f, 0.75f})}, attributes), {1, 1, 3, 3},
                {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6}, 1e-5);
}

TEST(Resize, AxesOfScaleOneAreNeverTransformed) {
  // tf_half_pixel_for_nn with ceil would shift every axis by one; batch and channel must stay.
  const Tensor x = floats({2, 2, 1, 1}, {10, 20, 30, 40});
  expect_floats(by_sizes(x, {2, 2, 1, 2}, nearest("tf_half_pixel_for_nn", "ceil")), {2, 2, 1, 2},
                {10, 10, 20, 20, 30, 30, 40, 40});
}

TEST(Resize, AxesAndAspectRatioPolicy) {
  const Tensor x = counting({1, 1, 2, 4}, 1);
  ir::Attributes attributes = nearest("half_pixel", "round_prefer_floor");
  attributes["axes"] = list({2, 3});
  attributes["keep_aspect_ratio_policy"] = text("not_larger");
  EXPECT_EQ(by_sizes(x, {7, 8}, attributes).shape(), (Shape{1, 1, 4, 8}));
  attributes["keep_aspect_ratio_policy"] = text("not_smaller");
  EXPECT_EQ(by_sizes(x, {7, 8}, attributes).shape(), (Shape{1, 1, 7, 14}));
}

TEST(Resize, IntegersAreTruncated) {
  Tensor x(DType::u8, {1, 1, 2, 4});
  for (int i = 0; i < 8; ++i) x.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i + 1);
  expect_ints(by_scales(x, {1, 1, 0.6f, 0.6f}, linear("half_pixel")), {1, 1, 1, 2}, {2, 4});
}

TEST(Resize, RefusesWhatCannotBe) {
  const Tensor x = counting({1, 1, 2, 2});
  expect_refused(ErrorCode::invalid_model, "both scales and sizes", "Resize",
                 {x, absent(), scales({1, 1, 1, 1}), ints({1, 1, 2, 2})});
  expect_refused(ErrorCode::invalid_model, "neither", "Resize", {x});
  expect_refused(ErrorCode::invalid_model, "scale", "Resize", {x, absent(), scales({1, 1, 0, 1})});
  expect_refused(ErrorCode::invalid_model, "scale", "Resize",
                 {x, absent(), scales({1, 1, 1, std::numeric_limits<float>::quiet_NaN()})});
  expect_refused(ErrorCode::invalid_model, "scale", "Resize", {x, absent(), scales({1, 1, 1, 1e30f})});
  expect_refused(ErrorCode::invalid_model, "3 scales", "Resize", {x, absent(), scales({1, 1, 1})});
  expect_refused(ErrorCode::invalid_model, "size -1", "Resize", {x, absent(), absent(), ints({1, 1, -1, 2})});
  expect_refused(ErrorCode::invalid_model, "'bilinear'", "Resize", {x, absent(), scales({1, 1, 2, 2})},
                 {{"mode", text("bilinear")}});
}

Tensor sample(const Tensor& x, const Tensor& grid, const char* mode, const char* padding,
              bool align_corners) {
  return run(
      "GridSample", {x, grid},
      {{"mode", text(mode)}, {"padding_mode", text(padding)}, {"align_corners", integer(align_corners)}});
}

TEST(GridSample, CornersAndOutside) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = floats({1, 1, 4, 2}, {-1, -1, 1, 1, 0, 0, 2, 0});
  expect_floats(sample(x, grid, "linear", "zeros", true), {1, 1, 1, 4}, {1, 4, 2.5, 1.5});
  expect_floats(sample(x, grid, "linear", "zeros", false), {1, 1, 1, 4}, {0.25, 1, 2.5, 0});
  expect_floats(sample(x, grid, "linear", "border", false), {1, 1, 1, 4}, {1, 4, 2.5, 3});
  expect_floats(sample(x, grid, "nearest", "border", true), {1, 1, 1, 4}, {1, 4, 1, 2});
  expect_floats(sample(x, grid, "linear", "reflection", true), {1, 1, 1, 4}, {1, 4, 2.5, 2.5});
  expect_floats(
      sample(x, floats({1, 1, 1, 2}, {std::numeric_limits<float>::quiet_NaN(), 0}), "linear", "zeros", true),
      {1, 1, 1, 1}, {0});
  expect_refused(ErrorCode::shape_mismatch, "does not fit", "GridSample",
                 {x, floats({1, 1, 1, 3}, {0, 0, 0})});
  expect_refused(ErrorCode::invalid_model, "padding_mode", "GridSample", {x, grid},
                 {{"padding_mode", text("wrap")}});
}

}  // namespace
}  // namespace saccade::ops
