// Operators that pick, scatter, order or enumerate elements.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(GatherElements, PicksAlongOneAxis) {
  const Tensor x = floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_floats(run("GatherElements", {x, ints({2, 3}, {1, 2, 0, 2, 0, 0})}), {2, 3}, {4, 8, 3, 7, 2, 3});
  expect_floats(run("GatherElements", {x, ints({3, 1}, {-1, 0, 1})}, {{"axis", integer(1)}}), {3, 1},
                {3, 4, 8});
  expect_refused(ErrorCode::invalid_model, "index 3", "GatherElements", {x, ints({1, 1}, {3})});
  expect_refused(ErrorCode::shape_mismatch, "do not fit", "GatherElements", {x, ints({1, 4}, {0, 0, 0, 0})});
}

TEST(GatherND, TuplesAndBatches) {
  const Tensor x = floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_floats(run("GatherND", {x, ints({2, 2}, {0, 1, 1, 0})}), {2, 2}, {2, 3, 4, 5});
  expect_floats(run("GatherND", {x, ints({2, 3}, {0, 1, 1, -1, 0, 0})}), {2}, {3, 4});
  expect_floats(run("GatherND", {x, ints({2, 1}, {1, 0})}, {{"batch_dims", integer(1)}}), {2, 2},
                {2, 3, 4, 5});
  expect_refused(ErrorCode::invalid_model, "index 2", "GatherND", {x, ints({1, 1}, {2})});
  expect_refused(ErrorCode::shape_mismatch, "tuples of 4", "GatherND", {x, ints({1, 4}, {0, 0, 0, 0})});
  expect_refused(ErrorCode::invalid_model, "batch_dims 3", "GatherND", {x, ints({1, 1}, {0})},
                 {{"batch_dims", integer(3)}});
}

TEST(ScatterElements, ReplacesOrJoins) {
  const Tensor x = floats({1, 5}, {1, 2, 3, 4, 5}), updates = floats({1, 2}, {1.5f, 2.5f});
  const Tensor indices = ints({1, 2}, {1, -2});
  const auto scatter = [&](const char* reduction) {
    return run("ScatterElements", {x, indices, updates},
               {{"axis", integer(1)}, {"reduction", text(reduction)}});
  };
  expect_floats(scatter("none"), {1, 5}, {1, 1.5, 3, 2.5, 5});
  expect_floats(scatter("add"), {1, 5}, {1, 3.5, 3, 6.5, 5});
  expect_floats(scatter("mul"), {1, 5}, {1, 3, 3, 10, 5});
  expect_floats(scatter("min"), {1, 5}, {1, 1.5, 3, 2.5, 5});
  expect_floats(scatter("max"), {1, 5}, {1, 2, 3, 4, 5});
  expect_refused(ErrorCode::invalid_model, "reduction", "ScatterElements", {x, indices, updates},
                 {{"reduction", text("sum")}});
  expect_refused(ErrorCode::invalid_model, "index 5", "ScatterElements",
                 {x, ints({1, 1}, {5}), floats({1, 1}, {1})}, {{"axis", integer(1)}});
}

TEST(ScatterND, ReplacesSlices) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  expect_floats(run("ScatterND", {x, ints({2, 1}, {3, 0}), floats({2}, {9, 8})}), {4}, {8, 2, 3, 9});
  expect_floats(run("ScatterND", {floats({2, 2}, {1, 2, 3, 4}), ints({1, 1}, {1}), floats({1, 2}, {5, 6})},
                    {{"reduction", text("add")}}),
                {2, 2}, {1, 2, 8, 10});
  expect_refused(ErrorCode::shape_mismatch, "updates", "ScatterND",
                 {x, ints({1, 1}, {0}), floats({2}, {1, 2})});
  expect_refused(ErrorCode::invalid_model, "index 4", "ScatterND", {x, ints({1, 1}, {4}), floats({1}, {1})});
}

TEST(OneHot, AnyAxisAndNegativeIndices) {
  const Tensor values = floats({2}, {2, 5}), indices = ints({1, -1, 7});
  expect_floats(run("OneHot", {indices, ints({}, {3}), values}), {3, 3}, {2, 5, 2, 2, 2, 5, 2, 2, 2});
  expect_floats(run("OneHot", {indices, ints({1}, {2}), values}, {{"axis", integer(0)}}), {2, 3},
                {2, 2, 2, 5, 5, 2});
  expect_refused(ErrorCode::invalid_model, "depth is -1", "OneHot", {indices, ints({}, {-1}), values});
}

TEST(TopK, LargestAndSmallestWithTies) {
  const Tensor x = floats({2, 4}, {1, 3, 3, 2, 4, 0, 4, 5});
  const auto top = run_all("TopK", {x, ints({3})}, {}, 2);
  expect_floats(top[0], {2, 3}, {3, 3, 2, 5, 4, 4});
  expect_ints(top[1], {2, 3}, {1, 2, 3, 3, 0, 2});
  const auto bottom = run_all("TopK", {x, ints({1})}, {{"axis", integer(0)}, {"largest", integer(0)}}, 2);
  expect_floats(bottom[0], {1, 4}, {1, 0, 3, 2});
  expect_ints(bottom[1], {1, 4}, {0, 1, 0, 0});
  expect_refused(ErrorCode::invalid_model, "k is 5", "TopK", {x, ints({5})}, {}, 2);
  EXPECT_EQ(run_all("TopK", {x, ints({0})}, {}, 2)[1].shape(), (Shape{2, 0}));
}

TEST(CumSum, ExclusiveAndReverse) {
  const Tensor x = floats({3}, {1, 2, 3}), axis = ints({}, {0});
  expect_floats(run("CumSum", {x, axis}), {3}, {1, 3, 6});
  expect_floats(run("CumSum", {x, axis}, {{"exclusive", integer(1)}}), {3}, {0, 1, 3});
  expect_floats(run("CumSum", {x, axis}, {{"reverse", integer(1)}}), {3}, {6, 5, 3});
  expect_floats(run("CumSum", {x, axis}, {{"reverse", integer(1)}, {"exclusive", integer(1)}}), {3},
                {5, 3, 0});
  expect_floats(run("CumProd", {floats({2, 2}, {1, 2, 3, 4}), ints({}, {-1})}), {2, 2}, {1, 2, 3, 12});
  expect_refused(ErrorCode::invalid_model, "axis 1", "CumSum", {x, ints({}, {1})});
}

TEST(NonZero, OneColumnAnElement) {
  expect_ints(run("NonZero", {floats({2, 2}, {1, 0, 3, 4})}), {2, 3}, {0, 1, 1, 0, 0, 1});
  expect_ints(run("NonZero", {bools({3}, {false, false, false})}), {1, 0}, {});
  Tensor half(DType::f16, {3});
  half.data<Half>()[0] = Half{0x8000};  // -0
  half.data<Half>()[1] = Half{0x3c00};
  half.data<Half>()[2] = Half{0};
  expect_ints(run("NonZero", {half}), {1, 1}, {1});
}

TEST(Compress, SlicesOrElements) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("Compress", {x, bools({3}, {false, true, true})}, {{"axis", integer(0)}}), {2, 2},
                {3, 4, 5, 6});
  expect_floats(run("Compress", {x, bools({2}, {false, true})}, {{"axis", integer(1)}}), {3, 1}, {2, 4, 6});
  expect_floats(run("Compress", {x, bools({5}, {false, true, false, false, true})}), {2}, {2, 5});
  expect_refused(ErrorCode::shape_mismatch, "4 entries", "Compress",
                 {x, bools({4}, {true, true, true, true})}, {{"axis", integer(0)}});
}

TEST(Trilu, BothTrianglesAndFarDiagonals) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("Trilu", {x}), {2, 3}, {1, 2, 3, 0, 5, 6});
  expect_floats(run("Trilu", {x, ints({}, {1})}), {2, 3}, {0, 2, 3, 0, 0, 6});
  expect_floats(run("Trilu", {x}, {{"upper", integer(0)}}), {2, 3}, {1, 0, 0, 4, 5, 0});
  expect_floats(run("Trilu", {x, ints({}, {INT64_MAX})}), {2, 3}, {0, 0, 0, 0, 0, 0});
  expect_floats(run("Trilu", {x, ints({}, {INT64_MIN})}), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_refused(ErrorCode::shape_mismatch, "no matrix", "Trilu", {floats({2}, {1, 2})});
}

TEST(ReverseSequence, EachEntryByItsLength) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("ReverseSequence", {x, ints({3, 2})}), {3, 2}, {5, 4, 3, 2, 1, 6});
  expect_floats(
      run("ReverseSequence", {x, ints({0, 1, 2})}, {{"batch_axis", integer(0)}, {"time_axis", integer(1)}}),
      {3, 2}, {1, 2, 3, 4, 6, 5});
  expect_refused(ErrorCode::invalid_model, "length 4", "ReverseSequence", {x, ints({4, 1})});
  expect_refused(ErrorCode::invalid_model, "are both", "ReverseSequence", {x, ints({1, 1})},
                 {{"time_axis", integer(1)}});
}

TEST(Bitwise, OfIntegers) {
  const Tensor a = ints({12, -1}), b = ints({10, 5});
  expect_ints(run("BitwiseAnd", {a, b}), {2}, {8, 5});
  expect_ints(run("BitwiseOr", {a, b}), {2}, {14, -1});
  expect_ints(run("BitwiseXor", {a, b}), {2}, {6, -6});
  expect_ints(run("BitwiseNot", {a}), {2}, {-13, 0});
  expect_refused(ErrorCode::invalid_model, "integers", "BitwiseAnd", {floats({1}, {1}), floats({1}, {1})});
  Tensor x(DType::u8, {3}), shift(DType::u8, {3});
  for (int i = 0; i < 3; ++i) x.data<std::uint8_t>()[i] = 129;
  shift.data<std::uint8_t>()[0] = 1, shift.data<std::uint8_t>()[1] = 7, shift.data<std::uint8_t>()[2] = 9;
  expect_ints(run("BitShift", {x, shift}, {{"direction", text("left")}}), {3}, {2, 128, 0});
  expect_ints(run("BitShift", {x, shift}, {{"direction", text("right")}}), {3}, {64, 1, 0});
  expect_ints(run("BitShift", {ints({-8, -1, 5}), ints({1, 64, -1})}, {{"direction", text("right")}}), {3},
              {-4, -1, 0});
}

}  // namespace
}  // namespace saccade::ops
