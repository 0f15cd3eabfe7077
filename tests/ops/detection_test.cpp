// Boxes, regions, deformed windows, unique entries.
#include <cmath>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(NonMaxSuppression, LeavesOutWhatOverlapsABetterBox) {
  // The second box overlaps the first by 80 / 120 of their union; corners may come in any order.
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 10, 10, 2, 10, 12, 0, 20, 20, 30, 30});
  const Tensor scores = floats({1, 1, 3}, {0.8f, 0.9f, 0.7f});
  const auto nms = [&](std::int64_t most, float overlap, float score) {
    return run("NonMaxSuppression",
               {boxes, scores, ints({}, {most}), floats({}, {overlap}), floats({}, {score})});
  };
  expect_ints(nms(9, 0.5f, 0), {2, 3}, {0, 0, 1, 0, 0, 2});
  expect_ints(nms(9, 0.7f, 0), {3, 3}, {0, 0, 1, 0, 0, 0, 0, 0, 2});
  expect_ints(nms(9, 0.7f, 0.7f), {2, 3}, {0, 0, 1, 0, 0, 0});
  expect_ints(nms(1, 0.7f, 0), {1, 3}, {0, 0, 1});
  expect_ints(run("NonMaxSuppression", {boxes, scores}), {0, 3}, {});
  expect_refused(ErrorCode::shape_mismatch, "do not fit", "NonMaxSuppression",
                 {boxes, floats({1, 1, 2}, {1, 1}), ints({}, {1})});
}

TEST(NonMaxSuppression, CentresEqualScoresAndClasses) {
  const Tensor boxes = floats({1, 2, 4}, {5, 5, 10, 10, 5, 5, 10, 10});
  const Tensor scores = floats({1, 2, 2}, {0.5f, 0.5f, 0.1f, 0.2f});
  expect_ints(run("NonMaxSuppression", {boxes, scores, ints({}, {9}), floats({}, {0.5f})},
                  {{"center_point_box", integer(1)}}),
              {2, 3}, {0, 0, 0, 0, 1, 1});
}

TEST(RoiAlign, MeansAndMaximaOfBilinearSamples) {
  const Tensor x = counting({1, 1, 4, 4}), batch = ints({0});
  const auto align = [&](Tensor rois, const char* mode, const char* transformation) {
    return run("RoiAlign", {x, rois, batch},
               {{"mode", text(mode)},
                {"coordinate_transformation", text(transformation)},
                {"sampling_ratio", integer(2)}});
  };
  // x is 4 row + column, so a mean is its value at the region's middle: (2, 2) without, (1.5, 1.5) with half
  // a pixel.
  expect_floats(align(floats({1, 4}, {1, 1, 3, 3}), "avg", "output_half_pixel"), {1, 1, 1, 1}, {10});
  expect_floats(align(floats({1, 4}, {1, 1, 3, 3}), "avg", "half_pixel"), {1, 1, 1, 1}, {7.5});
  expect_floats(align(floats({1, 4}, {1, 1, 3, 3}), "max", "half_pixel"), {1, 1, 1, 1}, {10});
  // A region without size has one by the older rule.
  expect_floats(align(floats({1, 4}, {1, 1, 1, 1}), "avg", "output_half_pixel"), {1, 1, 1, 1}, {7.5});
  expect_refused(ErrorCode::invalid_model, "index 1", "RoiAlign",
                 {x, floats({1, 4}, {0, 0, 1, 1}), ints({1})});
}

TEST(DeformConv, OffsetsMoveTapsAndMasksWeighThem) {
  const Tensor x = counting({1, 1, 3, 3}), w = floats({1, 1, 1, 1}, {2});
  Tensor offsets = Tensor::zeros(DType::f32, {1, 2, 3, 3});
  expect_floats(run("DeformConv", {x, w, offsets}), {1, 1, 3, 3}, {0, 2, 4, 6, 8, 10, 12, 14, 16});
  for (int i = 0; i < 9; ++i) offsets.data<float>()[9 + i] = 0.5f;  // half a pixel to the right
  const Tensor mask = floats({1, 1, 3, 3}, {1, 1, 1, 0.5f, 1, 1, 1, 1, 0});
  expect_floats(run("DeformConv", {x, w, offsets, floats({1}, {10}), mask}), {1, 1, 3, 3},
                {11, 13, 12, 13.5, 19, 15, 23, 25, 10});
  expect_refused(ErrorCode::shape_mismatch, "offsets", "DeformConv", {x, w, floats({1, 1, 1, 1}, {0})});
}

TEST(Unique, SortedOrByAppearance) {
  const Tensor x = floats({5}, {2, 1, 1, 3, 2});
  auto results = run_all("Unique", {x}, {}, 4);
  expect_floats(results[0], {3}, {1, 2, 3});
  expect_ints(results[1], {3}, {1, 0, 3});
  expect_ints(results[2], {5}, {1, 0, 0, 2, 1});
  expect_ints(results[3], {3}, {2, 2, 1});
  results = run_all("Unique", {x}, {{"sorted", integer(0)}}, 4);
  expect_floats(results[0], {3}, {2, 1, 3});
  expect_ints(results[2], {5}, {0, 1, 1, 2, 0});
  results = run_all("Unique", {floats({3, 2}, {1, 0, 1, 0, 0, 5})}, {{"axis", integer(0)}}, 4);
  expect_floats(results[0], {2, 2}, {0, 5, 1, 0});
  expect_ints(results[1], {2}, {2, 0});
}

TEST(Det, EliminatesWithPivots) {
  expect_floats(run("Det", {floats({2, 2, 2}, {0, 1, 2, 3, 1, 2, 3, 4})}), {2}, {-2, -2});
  expect_refused(ErrorCode::shape_mismatch, "square", "Det", {floats({1, 2}, {1, 2})});
}

TEST(Col2Im, AddsWhereBlocksOverlap) {
  const Tensor columns = floats({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  expect_floats(run("Col2Im", {columns, ints({4}), ints({2})}), {1, 1, 4}, {1, 12, 23, 30});
  expect_refused(ErrorCode::shape_mismatch, "do not fit", "Col2Im", {columns, ints({5}), ints({2})});
}

TEST(CenterCropPad, OddRestsGoToTheEnd) {
  const Tensor x = floats({5}, {1, 2, 3, 4, 5});
  expect_floats(run("CenterCropPad", {x, ints({2})}), {2}, {2, 3});
  expect_floats(run("CenterCropPad", {x, ints({8})}), {8}, {0, 1, 2, 3, 4, 5, 0, 0});
  expect_floats(run("CenterCropPad", {counting({2, 3}), ints({1})}, {{"axes", list({-1})}}), {2, 1}, {1, 4});
}

TEST(AffineGrid, CentresAndCorners) {
  const Tensor same = floats({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  expect_floats(run("AffineGrid", {same, ints({1, 1, 1, 2})}), {1, 1, 2, 2}, {-0.5, 0, 0.5, 0});
  expect_floats(run("AffineGrid", {floats({1, 2, 3}, {0, 1, 3, 2, 0, 0}), ints({1, 1, 2, 2})},
                    {{"align_corners", integer(1)}}),
                {1, 2, 2, 2}, {2, -2, 2, 2, 4, -2, 4, 2});
}

TEST(EyeLike, AnyDiagonalAndType) {
  expect_floats(run("EyeLike", {counting({2, 3})}, {{"k", integer(1)}}), {2, 3}, {0, 1, 0, 0, 0, 1});
  expect_ints(run("EyeLike", {counting({2, 2})}, {{"dtype", text("int64")}}), {2, 2}, {1, 0, 0, 1});
}

TEST(BitCast, KeepsBits) {
  const Tensor bits = run("BitCast", {floats({2}, {1, -0.0f})}, {{"to", text("int32")}});
  EXPECT_EQ(bits.data<std::int32_t>()[0], 0x3f800000);
  EXPECT_EQ(bits.data<std::int32_t>()[1], std::numeric_limits<std::int32_t>::min());
  expect_refused(ErrorCode::invalid_model, "differ in width", "BitCast", {floats({1}, {1})},
                 {{"to", text("int8")}});
}

TEST(WrapBits, KeepsTheLowestBits) {
  const Tensor x = Tensor::of<std::int8_t>({4}, {7, 8, -9, 16});
  const Tensor y = run("WrapBits", {x}, {{"bits", integer(4)}});
  EXPECT_EQ(std::vector<std::int8_t>(y.values<std::int8_t>().begin(), y.values<std::int8_t>().end()),
            (std::vector<std::int8_t>{7, -8, 7, 0}));
}

TEST(Hardmax, FirstOfTheLargest) {
  expect_floats(run("Hardmax", {floats({2, 3}, {1, 3, 3, -1, -2, -3})}, {{"axis", integer(-1)}}), {2, 3},
                {0, 1, 0, 1, 0, 0});
}

TEST(TensorScatter, WritesAtEachEntrysPosition) {
  const Tensor cache = floats({2, 3, 1}, {0, 0, 0, 0, 0, 0}), update = floats({2, 2, 1}, {1, 2, 3, 4});
  expect_floats(run("TensorScatter", {cache, update, ints({1, 0})}), {2, 3, 1}, {0, 1, 2, 3, 4, 0});
  expect_floats(run("TensorScatter", {cache, update, ints({2, 0})}, {{"mode", text("circular")}}), {2, 3, 1},
                {2, 0, 1, 3, 4, 0});
  expect_refused(ErrorCode::invalid_model, "position 2", "TensorScatter", {cache, update, ints({2, 0})});
}

}  // namespace
}  // namespace saccade::ops
