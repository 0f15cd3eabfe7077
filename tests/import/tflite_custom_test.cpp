// MediaPipe's own operators, on values worked out by hand.
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "import/onnx_model.h"
#include "import/tflite_model.h"
#include "interpret/interpreter.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<std::vector<float>> run(const std::string& model, const std::vector<Tensor>& inputs) {
  const Imported imported = read_bytes(model);
  EXPECT_TRUE(imported.missing.empty()) << missing_message(imported.missing);
  std::vector<std::vector<float>> results;
  for (const Tensor& tensor : interpret::run(imported.graph, inputs)) {
    const auto values = tensor.values<float>();
    results.emplace_back(values.begin(), values.end());
  }
  return results;
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

auto near(const std::vector<float>& values) { return Pointwise(FloatNear(1e-5f), values); }

std::vector<std::uint8_t> bytes_of(const std::vector<std::int32_t>& fields) {
  std::vector<std::uint8_t> bytes(fields.size() * 4);
  std::memcpy(bytes.data(), fields.data(), bytes.size());
  return bytes;
}

std::vector<std::uint8_t> crop_options(int width, int height) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("output_width", width);
    builder.Int("output_height", height);
  });
  builder.Finish();
  return builder.GetBuffer();
}

/// A turn by a quarter, then a shift: (x, y) → (3 - y, x + 5).
const std::vector<float> kTurn = {0, -1, 0, 3, 1, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 1};

TEST(TfliteCustom, TransformsLandmarks) {
  for (const int dims : {2, 3}) {
    TfliteModel m;
    const int x = m.tensor("x", {1, 2, dims}), t = m.tensor("t", {1, 4, 4}), y = m.tensor("y", {1, 2, dims});
    m.custom("TransformLandmarks", {x, t}, {y}, {}, 2);
    const std::vector<float> points =
        dims == 2 ? std::vector<float>{1, 2, 10, 20} : std::vector<float>{1, 2, 7, 10, 20, 8};
    const auto moved = run(m.bytes({x, t}, {y}), {floats({1, 2, dims}, points), floats({1, 4, 4}, kTurn)});
    EXPECT_THAT(moved[0], ElementsAreArray(dims == 2 ? std::vector<float>{1, 6, -17, 15}
                                                     : std::vector<float>{1, 6, 7, -17, 15, 8}));
  }
}

TEST(TfliteCustom, CutsAPictureOut) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3, 4, 1}), t = m.tensor("t", {1, 4, 4}), y = m.tensor("y", {1, 2, 2, 1});
  m.custom("TransformTensorBilinear", {x, t}, {y}, crop_options(2, 2), 2);
  // Target (x, y) reads the source at 1.5 x + 0.25 + 0.5 * (1.5 - 1), y + 1: columns 0.5 and 2, rows 1 and 2.
  const std::vector<float> matrix = {1.5, 0, 0, 0.25, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1};
  const std::vector<float> picture = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  const auto model = m.bytes({x, t}, {y});
  EXPECT_THAT(run(model, {floats({1, 3, 4, 1}, picture), floats({1, 4, 4}, matrix)})[0],
              near({10.5f, 12.0f, 20.5f, 22.0f}));
  // Beyond the middle of the last row: 0.
  std::vector<float> lower = matrix;
  lower[7] = 1.5f;
  EXPECT_THAT(run(model, {floats({1, 3, 4, 1}, picture), floats({1, 4, 4}, lower)})[0],
              near({15.5f, 17.0f, 0, 0}));
}

std::vector<std::uint8_t> matrix_options(double angle, const std::vector<int>& subset, int left = 0,
                                         int right = 1) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("left_rotation_idx", left);
    builder.Int("right_rotation_idx", right);
    builder.Int("output_width", 4);
    builder.Int("output_height", 8);
    builder.Double("scale_x", 1.5);
    builder.Double("scale_y", 2.0);
    builder.Double("target_rotation_radians", angle);
    builder.TypedVector("subset_idxs", [&] {
      for (const int i : subset) builder.Int(i);
    });
  });
  builder.Finish();
  return builder.GetBuffer();
}

std::string matrix_model(const std::vector<std::uint8_t>& options, int version = 2) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 4, 3}), y = m.tensor("y", {1, 4, 4});
  m.custom("Landmarks2TransformMatrix", {x}, {y}, options, version);
  return m.bytes({x}, {y});
}

TEST(TfliteCustom, FindsTheBoxAroundLandmarks) {
  // Upright: x from 2 to 10, y from 1 to 5; the crop of 4x8 covers 1.5 and 2 times that.
  const Tensor upright = floats({1, 4, 3}, {2, 3, 9, 10, 3, 9, 4, 1, 9, 6, 5, 9});
  EXPECT_THAT(run(matrix_model(matrix_options(0, {0, 1, 2, 3})), {upright})[0],
              near({3, 0, 0, 6 - 2 * 3, 0, 1, 0, 3 - 4 * 1, 0, 0, 1, 0, 0, 0, 0, 1}));
  // The same points turned by a quarter, (x, y) → (-y, x): the matrix is turned likewise.
  const Tensor turned = floats({1, 4, 3}, {-3, 2, 9, -3, 10, 9, -1, 4, 9, -5, 6, 9});
  const std::vector<float> quarter = {0, -1, 0, -3 + 4 * 1, 3, 0, 0, 6 - 2 * 3, 0, 0, 1, 0, 0, 0, 0, 1};
  EXPECT_THAT(run(matrix_model(matrix_options(0, {0, 1, 2, 3})), {turned})[0], near(quarter));
  // A line that should stand at a right angle and does: nothing is turned, the box is 4 wide and 8 high.
  EXPECT_THAT(run(matrix_model(matrix_options(std::numbers::pi / 2, {0, 1, 2, 3})), {turned})[0],
              near({1.5, 0, 0, -3 - 2 * 1.5f, 0, 2, 0, 6 - 4 * 2, 0, 0, 1, 0, 0, 0, 0, 1}));
  // Two equal points give no line: as if it lay along x.
  EXPECT_THAT(run(matrix_model(matrix_options(0, {0, 1, 2, 3}, 1, 1)), {upright})[0],
              near({3, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST(TfliteCustom, RefusesBadOptions) {
  EXPECT_THAT(refusal(matrix_model(matrix_options(0, {0, 4}))).message,
              HasSubstr("option 'subset_idxs' holds 4, expected 0 to 3"));
  EXPECT_THAT(refusal(matrix_model({})).message, HasSubstr("options are damaged"));
  EXPECT_THAT(refusal(matrix_model({1, 2, 3, 4, 5, 250, 38, 1})).message, HasSubstr("options are"));
  EXPECT_THAT(refusal(matrix_model(crop_options(4, 4))).message,
              HasSubstr("option 'target_rotation_radians'"));
  const Imported old = read_bytes(matrix_model(matrix_options(0, {0}), 1));
  ASSERT_EQ(old.missing.size(), 1u);
  EXPECT_EQ(old.missing[0].reason, "version 1 is not supported");
}

TEST(TfliteCustom, PoolsWithIndicesAndBack) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 4, 4, 2}), y = m.tensor("y", {1, 2, 2, 2}), i = m.tensor("i", {1, 2, 2, 2}),
            z = m.tensor("z", {1, 4, 4, 2});
  const auto options = bytes_of({1, 2, 2, 2, 2, 0});
  m.custom("MaxPoolingWithArgmax2D", {x}, {y, i}, options);
  m.custom("MaxUnpooling2D", {y, i}, {z}, options);
  // The second channel is the first with the sign turned.
  const std::vector<float> one = {1, 2, 3, 4, 8, 7, 6, 5, 9, 10, 12, 11, 13, 14, 15, 16};
  std::vector<float> picture, back(32, 0.0f);
  for (const float v : one) picture.insert(picture.end(), {v, -v});
  for (const int at : {4, 6, 13, 15})
    back[static_cast<std::size_t>(at) * 2] = picture[static_cast<std::size_t>(at) * 2];
  for (const int at : {0, 2, 8, 11})
    back[static_cast<std::size_t>(at) * 2 + 1] = picture[static_cast<std::size_t>(at) * 2 + 1];
  const auto results = run(m.bytes({x}, {y, i, z}), {floats({1, 4, 4, 2}, picture)});
  EXPECT_THAT(results[0], ElementsAre(8, -1, 6, -3, 14, -9, 16, -11));
  EXPECT_THAT(results[1], near({2.1f, 0.1f, 2.1f, 0.1f, 3.1f, 0.1f, 3.1f, 1.1f}));
  EXPECT_THAT(results[2], ElementsAreArray(back));
}

TEST(TfliteCustom, CountsIndicesFromTheWindowsFirstElementInThePadding) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3, 3, 1}), y = m.tensor("y", {1, 3, 3, 1}), i = m.tensor("i", {1, 3, 3, 1});
  m.custom("MaxPoolingWithArgmax2D", {x}, {y, i}, bytes_of({1, 1, 1, 3, 3, 0}));
  const auto results = run(m.bytes({x}, {y, i}), {floats({1, 3, 3, 1}, {1, 2, 3, 4, 9, 5, 6, 7, 8})});
  EXPECT_THAT(results[1], near({8.1f, 7.1f, 6.1f, 5.1f, 4.1f, 3.1f, 2.1f, 1.1f, 0.1f}));
}

}  // namespace

}  // namespace saccade::import
