// Operators that move elements and do arithmetic on shapes.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(Shape, WholeAndPart) {
  const Tensor x = counting({2, 3, 4});
  expect_ints(run("Shape", {x}), {3}, {2, 3, 4});
  expect_ints(run("Shape", {x}, {{"start", integer(1)}}), {2}, {3, 4});
  expect_ints(run("Shape", {x}, {{"start", integer(-2)}, {"end", integer(-1)}}), {1}, {3});
  expect_ints(run("Shape", {x}, {{"start", integer(2)}, {"end", integer(1)}}), {0}, {});
  expect_ints(run("Size", {x}), {}, {24});
}

TEST(Gather, AxesAndNegativeIndices) {
  const Tensor x = counting({2, 3});
  expect_floats(run("Gather", {x, ints({1, -2})}), {2, 3}, {3, 4, 5, 0, 1, 2});
  expect_floats(run("Gather", {x, ints({2, 1}, {2, 0})}, {{"axis", integer(-1)}}), {2, 2, 1}, {2, 0, 5, 3});
  expect_floats(run("Gather", {x, ints({}, {1})}), {3}, {3, 4, 5});
  expect_refused(ErrorCode::invalid_model, "index 2 is out of range", "Gather", {x, ints({2})});
  expect_refused(ErrorCode::invalid_model, "axis 2", "Gather", {x, ints({0})}, {{"axis", integer(2)}});
  expect_refused(ErrorCode::invalid_model, "axis 0", "Gather", {floats({}, {1}), ints({0})});
}

TEST(Concat, AnyAxisWithEmptyParts) {
  const Tensor a = counting({2, 1}), b = counting({2, 2}, 10), none(DType::f32, {2, 0});
  expect_floats(run("Concat", {a, none, b}, {{"axis", integer(1)}}), {2, 3}, {0, 10, 11, 1, 12, 13});
  expect_floats(run("Concat", {a, a}, {{"axis", integer(-2)}}), {4, 1}, {0, 1, 0, 1});
  expect_refused(ErrorCode::shape_mismatch, "cannot join", "Concat", {a, b}, {{"axis", integer(0)}});
  expect_refused(ErrorCode::invalid_model, "attribute 'axis' is missing", "Concat", {a, b});
}

TEST(Split, EvenUnevenAndGiven) {
  const auto lengths = [](const std::vector<Tensor>& parts) {
    std::vector<std::int64_t> n;
    for (const Tensor& part : parts) n.push_back(part.dim(0));
    return n;
  };
  const Tensor ten = counting({10});
  EXPECT_EQ(lengths(run_all("Split", {ten}, {{"num_outputs", integer(3)}}, 3)),
            (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_EQ(lengths(run_all("Split", {ten}, {{"num_outputs", integer(4)}}, 4)),
            (std::vector<std::int64_t>{3, 3, 3, 1}));
  expect_refused(ErrorCode::invalid_model, "cannot cut 5", "Split", {counting({5})},
                 {{"num_outputs", integer(4)}}, 4);
  const auto parts = run_all("Split", {counting({2, 3}), ints({1, 2})}, {{"axis", integer(1)}}, 2);
  expect_floats(parts[0], {2, 1}, {0, 3});
  expect_floats(parts[1], {2, 2}, {1, 2, 4, 5});
  expect_refused(ErrorCode::shape_mismatch, "sum to 9", "Split", {ten, ints({4, 5})}, {}, 2);
  expect_refused(ErrorCode::invalid_model, "length -1", "Split", {ten, ints({-1, 11})}, {}, 2);
  expect_refused(ErrorCode::invalid_model, "2 outputs but 3 lengths", "Split", {ten, ints({4, 5, 1})}, {}, 2);
}

TEST(Slice, BoundsFromBothEnds) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return run("Slice", {x, ints({start}), ints({end}), ints({0}), ints({step})});
  };
  expect_floats(slice(1, 3, 1), {2}, {2, 3});
  expect_floats(slice(-3, -1, 1), {2}, {2, 3});
  expect_floats(slice(0, INT64_MAX, 2), {2}, {1, 3});
  expect_floats(slice(-1, INT64_MIN, -1), {4}, {4, 3, 2, 1});
  expect_floats(slice(-1, INT32_MAX, -1), {0}, {});
  expect_floats(slice(100, 0, -1), {3}, {4, 3, 2});
  expect_floats(slice(1, 100, -1), {0}, {});
  expect_floats(slice(3, -100, -2), {2}, {4, 2});
  expect_floats(slice(1, 100, INT64_MAX), {1}, {2});
  expect_floats(slice(3, INT64_MIN, INT64_MIN), {1}, {4});
  expect_floats(slice(INT64_MIN, INT64_MAX, 3), {2}, {1, 4});
  expect_refused(ErrorCode::invalid_model, "step 0", "Slice",
                 {x, ints({0}), ints({1}), ints({0}), ints({0})});
}

TEST(Slice, SeveralAxes) {
  const Tensor x = counting({3, 4});
  expect_floats(run("Slice", {x, ints({1, 0}), ints({3, 4}), ints({-2, 1}), ints({1, 3})}), {2, 2},
                {4, 7, 8, 11});
  expect_floats(run("Slice", {x, ints({2}), ints({3})}), {1, 4}, {8, 9, 10, 11});
  expect_refused(ErrorCode::invalid_model, "given twice", "Slice",
                 {x, ints({0, 0}), ints({1, 1}), ints({0, -2})});
  expect_refused(ErrorCode::invalid_model, "2 ends", "Slice", {x, ints({0}), ints({1, 1})});
}

TEST(Squeeze, GivenAxesOnly) {
  const Tensor x = counting({1, 1, 2, 2});
  EXPECT_EQ(run("Squeeze", {x, ints({1})}).shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(run("Squeeze", {x}).shape(), (Shape{2, 2}));
  EXPECT_EQ(run("Squeeze", {x, ints({-4})}).shape(), (Shape{1, 2, 2}));
  expect_refused(ErrorCode::shape_mismatch, "axis 2 has size 2", "Squeeze", {x, ints({2})});
}

TEST(Unsqueeze, AxesOfTheOutput) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(run("Unsqueeze", {x, ints({0, -1})}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(run("Unsqueeze", {x, ints({2, 1})}).shape(), (Shape{2, 1, 1, 3}));
  expect_refused(ErrorCode::invalid_model, "given twice", "Unsqueeze", {x, ints({1, 1})});
}

TEST(Reshape, CopiesComputesAndRefuses) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(run("Reshape", {x, ints({0, -1})}).shape(), (Shape{2, 12}));
  EXPECT_EQ(run("Reshape", {x, ints({4, 0, 2})}).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(run("Reshape", {Tensor(DType::f32, {0, 3}), ints({3, 0})}, {{"allowzero", integer(1)}}).shape(),
            (Shape{3, 0}));
  EXPECT_EQ(run("Reshape", {counting({1}), ints({0}, {})}).shape(), Shape{});
  expect_refused(ErrorCode::shape_mismatch, "cannot reshape 2x3x4 to 5x?", "Reshape", {x, ints({5, -1})});
  expect_refused(ErrorCode::shape_mismatch, "cannot reshape", "Reshape", {x, ints({5, 5})});
  expect_refused(ErrorCode::invalid_model, "more than one -1", "Reshape", {x, ints({-1, -1})});
  expect_refused(ErrorCode::invalid_model, "dimension -2", "Reshape", {x, ints({-2})});
  expect_refused(ErrorCode::invalid_model, "rank 3", "Reshape", {x, ints({2, 3, 4, 0})});
  expect_refused(ErrorCode::limit, "too many elements", "Reshape", {x, ints({INT64_MAX, INT64_MAX, -1})});
}

TEST(Flatten, AnyAxis) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(run("Flatten", {x}).shape(), (Shape{2, 12}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", integer(0)}}).shape(), (Shape{1, 24}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", integer(3)}}).shape(), (Shape{24, 1}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", integer(-1)}}).shape(), (Shape{6, 4}));
  expect_refused(ErrorCode::invalid_model, "axis 4", "Flatten", {x}, {{"axis", integer(4)}});
}

TEST(Transpose, PermutesAndReverses) {
  const Tensor x = counting({1, 2, 3});
  expect_floats(run("Transpose", {x}), {3, 2, 1}, {0, 3, 1, 4, 2, 5});
  expect_floats(run("Transpose", {x}, {{"perm", list({1, 0, 2})}}), {2, 1, 3}, {0, 1, 2, 3, 4, 5});
  expect_refused(ErrorCode::invalid_model, "perm has 2", "Transpose", {x}, {{"perm", list({1, 0})}});
  expect_refused(ErrorCode::invalid_model, "given twice", "Transpose", {x}, {{"perm", list({1, 1, 0})}});
}

TEST(Expand, BothWays) {
  expect_floats(run("Expand", {floats({3, 1}, {1, 2, 3}), ints({2, 1, 2})}), {2, 3, 2},
                {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
  EXPECT_EQ(run("Expand", {counting({3, 4}), ints({1})}).shape(), (Shape{3, 4}));
  expect_refused(ErrorCode::invalid_model, "dimension -1", "Expand", {counting({1}), ints({-1})});
}

TEST(Tile, RepeatsEachAxis) {
  expect_floats(run("Tile", {counting({1, 2}), ints({2, 2})}), {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  expect_floats(run("Tile", {counting({2, 1}), ints({1, 3})}), {2, 3}, {0, 0, 0, 1, 1, 1});
  expect_refused(ErrorCode::invalid_model, "1 repeats", "Tile", {counting({1, 2}), ints({2})});
}

TEST(ConstantOfShape, FillsWithItsValue) {
  expect_floats(run("ConstantOfShape", {ints({2, 1})}), {2, 1}, {0, 0});
  expect_ints(run("ConstantOfShape", {ints({2})}, {{"value", ints({1}, {7})}}), {2}, {7, 7});
  EXPECT_EQ(run("ConstantOfShape", {ints({0}, {})}).shape(), Shape{});
  expect_refused(ErrorCode::invalid_model, "dimension -1", "ConstantOfShape", {ints({-1})});
  expect_refused(ErrorCode::limit, "too many", "ConstantOfShape", {ints({INT64_MAX, 4})});
}

TEST(Range, UpDownAndEmpty) {
  const auto one = [](std::int64_t v) { return ints({}, {v}); };
  expect_ints(run("Range", {one(1), one(6), one(2)}), {3}, {1, 3, 5});
  expect_ints(run("Range", {one(5), one(1), one(-2)}), {2}, {5, 3});
  expect_ints(run("Range", {one(5), one(1), one(2)}), {0}, {});
  expect_floats(run("Range", {floats({}, {0}), floats({}, {1}), floats({}, {0.25f})}), {4},
                {0, 0.25, 0.5, 0.75});
  expect_refused(ErrorCode::invalid_model, "delta is 0", "Range", {one(1), one(2), one(0)});
  expect_refused(ErrorCode::invalid_model, "finite", "Range",
                 {floats({}, {0}), floats({}, {1}), floats({}, {0})});
}

TEST(Pad, CropsFirstThenAddsTheBorder) {
  expect_floats(run("Pad", {counting({3, 4}), ints({-1, 1, 0, -2})}), {2, 3}, {0, 4, 5, 0, 8, 9});
  expect_floats(run("Pad", {floats({3}, {1, 2, 3}), ints({2, 1})}, {{"mode", text("edge")}}), {6},
                {1, 1, 1, 2, 3, 3});
  expect_floats(run("Pad", {floats({3}, {1, 2, 3}), ints({2, 1})}, {{"mode", text("reflect")}}), {6},
                {3, 2, 1, 2, 3, 2});
  expect_floats(run("Pad", {floats({3}, {1, 2, 3}), ints({4, 4})}, {{"mode", text("wrap")}}), {11},
                {3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1});
  expect_floats(run("Pad", {floats({2}, {1, 2}), ints({1, 1}), floats({}, {9})}), {4}, {9, 1, 2, 9});
  expect_floats(run("Pad", {counting({1, 2}), ints({1, 0}), absent(), ints({-1})}), {1, 3}, {0, 0, 1});
  expect_floats(run("Pad", {floats({4}, {1, 2, 3, 4}), ints({-1, 1})}, {{"mode", text("reflect")}}), {4},
                {2, 3, 4, 3});
}

TEST(Pad, RefusesWhatCannotBe) {
  expect_refused(ErrorCode::shape_mismatch, "reflects 2", "Pad", {floats({2}, {1, 2}), ints({2, 0})},
                 {{"mode", text("reflect")}});
  expect_refused(ErrorCode::shape_mismatch, "crops more", "Pad", {floats({2}, {1, 2}), ints({-2, -1})});
  expect_refused(ErrorCode::shape_mismatch, "no element", "Pad", {Tensor(DType::f32, {0}), ints({1, 0})},
                 {{"mode", text("edge")}});
  expect_refused(ErrorCode::invalid_model, "too large", "Pad", {floats({2}, {1, 2}), ints({INT64_MIN, 0})});
  expect_refused(ErrorCode::invalid_model, "3 pads", "Pad", {floats({2}, {1, 2}), ints({1, 1, 1})});
}

TEST(DepthToSpace, BothModesAndItsInverse) {
  const Tensor x = counting({1, 8, 1, 1});
  expect_floats(run("DepthToSpace", {x}, {{"blocksize", integer(2)}}), {1, 2, 2, 2},
                {0, 2, 4, 6, 1, 3, 5, 7});
  expect_floats(run("DepthToSpace", {x}, {{"blocksize", integer(2)}, {"mode", text("crd")}}), {1, 2, 2, 2},
                {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor y = noise({2, 12, 3, 5}, 1);
  const Tensor back = run("SpaceToDepth", {run("DepthToSpace", {y}, {{"blocksize", integer(2)}})},
                          {{"blocksize", integer(2)}});
  expect_floats(back, {2, 12, 3, 5}, {y.data<float>(), y.data<float>() + y.count()}, 0);
  expect_refused(ErrorCode::shape_mismatch, "8 channels", "DepthToSpace", {x}, {{"blocksize", integer(3)}});
  expect_refused(ErrorCode::shape_mismatch, "blocks of 0", "SpaceToDepth", {x}, {{"blocksize", integer(0)}});
}

}  // namespace
}  // namespace saccade::ops
