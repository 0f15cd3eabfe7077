// MatMul, Gemm and the normalisations.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(MatMul, VectorsMatricesAndBatches) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4}), v = floats({2}, {10, 100});
  expect_floats(run("MatMul", {a, a}), {2, 2}, {7, 10, 15, 22});
  expect_floats(run("MatMul", {a, v}), {2}, {210, 430});
  expect_floats(run("MatMul", {v, a}), {2}, {310, 420});
  expect_floats(run("MatMul", {v, v}), {}, {10100});
  const Tensor batch = floats({2, 1, 1, 2}, {1, 2, 3, 4}), other = floats({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  expect_floats(run("MatMul", {batch, other}), {2, 3, 1, 1}, {1, 2, 3, 3, 4, 7});
  expect_ints(run("MatMul", {ints({1, 2}, {3, 4}), ints({2, 1}, {5, 6})}), {1, 1}, {39});
  expect_floats(
      run("MatMul", {a, v},
          {{"activation", text("clip")}, {"activation_alpha", real(0)}, {"activation_beta", real(300)}}),
      {2}, {210, 300});
  expect_refused(ErrorCode::shape_mismatch, "cannot multiply 2x2 by 3x2", "MatMul", {a, counting({3, 2})});
  expect_refused(ErrorCode::shape_mismatch, "scalar", "MatMul", {a, floats({}, {1})});
}

TEST(Gemm, TransposesScalesAndBroadcasts) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("Gemm", {a, b}), {2, 2}, {22, 28, 49, 64});
  expect_floats(run("Gemm", {b, a}, {{"transA", integer(1)}, {"transB", integer(1)}}), {2, 2},
                {22, 49, 28, 64});
  expect_floats(run("Gemm", {a, b, floats({2}, {1, 2})}, {{"alpha", real(0.5f)}, {"beta", real(10)}}), {2, 2},
                {21, 34, 34.5, 52});
  expect_floats(run("Gemm", {a, b, floats({2, 1}, {-100, 0})}, {{"activation", text("relu")}}), {2, 2},
                {0, 0, 49, 64});
  expect_refused(ErrorCode::shape_mismatch, "cannot multiply", "Gemm", {a, a});
  expect_refused(ErrorCode::shape_mismatch, "does not broadcast", "Gemm", {a, b, floats({1, 1, 1}, {1})});
}

TEST(BatchNormalization, PerChannel) {
  const Tensor x = floats({1, 2, 1, 2}, {1, 3, 10, 20});
  const Tensor scale = floats({2}, {2, 1}), bias = floats({2}, {1, 0}), mean = floats({2}, {2, 15}),
               variance = floats({2}, {4, 25});
  expect_floats(run("BatchNormalization", {x, scale, bias, mean, variance}, {{"epsilon", real(0)}}),
                {1, 2, 1, 2}, {0, 2, -1, 1});
  expect_refused(ErrorCode::shape_mismatch, "variance has shape 1", "BatchNormalization",
                 {x, scale, bias, mean, floats({1}, {1})});
}

}  // namespace
}  // namespace saccade::ops
