// Reductions, softmax and arg max.
#include <cmath>
#include <limits>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(Reduce, AxesAsInputAndKeepdims) {
  const Tensor x = counting({2, 3}, 1);
  expect_floats(run("ReduceSum", {x, ints({0})}), {1, 3}, {5, 7, 9});
  expect_floats(run("ReduceSum", {x, ints({-1})}, {{"keepdims", integer(0)}}), {2}, {6, 15});
  expect_floats(run("ReduceSum", {x}), {1, 1}, {21});
  expect_floats(run("ReduceSum", {x, ints({0}, {})}), {1, 1}, {21});
  expect_floats(run("ReduceSum", {x, ints({0}, {})}, {{"noop_with_empty_axes", integer(1)}}), {2, 3},
                {1, 2, 3, 4, 5, 6});
  expect_refused(ErrorCode::invalid_model, "axis 2", "ReduceSum", {x, ints({2})});
  expect_refused(ErrorCode::invalid_model, "given twice", "ReduceSum", {x, ints({1, -1})});
}

TEST(Reduce, EachKind) {
  const Tensor x = floats({1, 4}, {1, -2, 3, 4});
  struct Case {
    const char* op;
    double expected;
  };
  for (const Case c : {Case{"ReduceSum", 6},
                       {"ReduceMean", 1.5},
                       {"ReduceMax", 4},
                       {"ReduceMin", -2},
                       {"ReduceProd", -24},
                       {"ReduceL1", 10},
                       {"ReduceL2", 5.4772256},
                       {"ReduceSumSquare", 30},
                       {"ReduceLogSum", 1.7917595},
                       {"ReduceLogSumExp", 4.3507590}}) {
    SCOPED_TRACE(c.op);
    expect_floats(run(c.op, {x, ints({1})}), {1, 1}, {c.expected});
  }
}

TEST(Reduce, Integers) {
  const Tensor x = ints({4}, {7, -2, 3, INT64_MAX});
  expect_ints(run("ReduceMax", {x}), {1}, {INT64_MAX});
  expect_ints(run("ReduceMin", {x}), {1}, {-2});
  expect_ints(run("ReduceSum", {ints({2}, {INT64_MAX, 1})}), {1}, {INT64_MIN});
  expect_ints(run("ReduceMean", {ints({2}, {3, 4})}), {1}, {3});
}

TEST(Reduce, NaNAndEmpty) {
  const Tensor x = floats({3}, {1, NAN, 2});
  expect_floats(run("ReduceMax", {x}), {1}, {std::nan("")});
  expect_floats(run("ReduceMin", {x}), {1}, {std::nan("")});
  const Tensor none(DType::f32, {2, 0});
  expect_floats(run("ReduceSum", {none, ints({1})}), {2, 1}, {0, 0});
  expect_floats(run("ReduceProd", {none, ints({1})}), {2, 1}, {1, 1});
  expect_floats(run("ReduceMax", {none, ints({1})}), {2, 1}, {-HUGE_VAL, -HUGE_VAL});
  expect_floats(run("ReduceLogSumExp", {none, ints({1})}), {2, 1}, {-HUGE_VAL, -HUGE_VAL});
}

TEST(Reduce, HalfPrecisionSumsAreExact) {
  Tensor x(DType::f16, {1, 1, 512, 512});
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<Half>()[i] = Half{0x3c00};
  expect_floats(run("ReduceMean", {x, ints({2, 3})}), {1, 1, 1, 1}, {1}, 0);
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  expect_floats(run("ReduceLogSumExp", {floats({2}, {1000, 1000})}), {1}, {1000.6931472}, 1e-3);
}

TEST(Softmax, OneAxis) {
  const Tensor x = floats({1, 2, 2}, {0, 0, 0, std::log(5.0f)});
  expect_floats(run("Softmax", {x}), {1, 2, 2}, {0.5, 0.5, 0.1666667, 0.8333333});
  expect_floats(run("Softmax", {x}, {{"axis", integer(1)}}), {1, 2, 2}, {0.5, 0.1666667, 0.5, 0.8333333});
  expect_floats(run("LogSoftmax", {x}), {1, 2, 2},
                {std::log(0.5), std::log(0.5), std::log(1.0 / 6), std::log(5.0 / 6)});
  expect_floats(run("Softmax", {floats({2}, {1000, 1000})}), {2}, {0.5, 0.5});
  EXPECT_EQ(run("Softmax", {Tensor(DType::f32, {2, 0})}).shape(), (Shape{2, 0}));
  expect_refused(ErrorCode::invalid_model, "axis 3", "Softmax", {x}, {{"axis", integer(3)}});
}

TEST(ArgMax, TiesAndLayout) {
  const Tensor x = floats({2, 3}, {3, 1, 3, 2, 2, 1});
  expect_ints(run("ArgMax", {x}, {{"axis", integer(1)}, {"keepdims", integer(0)}}), {2}, {0, 0});
  expect_ints(run("ArgMax", {x}, {{"axis", integer(1)}, {"select_last_index", integer(1)}}), {2, 1}, {2, 1});
  expect_ints(run("ArgMax", {x}), {1, 3}, {0, 1, 0});
  expect_ints(run("ArgMin", {x}, {{"axis", integer(-1)}}), {2, 1}, {1, 2});
  expect_refused(ErrorCode::shape_mismatch, "empty", "ArgMax", {Tensor(DType::f32, {2, 0})},
                 {{"axis", integer(1)}});
}

}  // namespace
}  // namespace saccade::ops
