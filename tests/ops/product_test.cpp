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

TEST(InstanceNormalization, EachPlaneAlone) {
  const Tensor x = floats({1, 2, 1, 3}, {-1, 0, 1, 2, 3, 4});
  expect_floats(run("InstanceNormalization", {x, floats({2}, {1, 1.5f}), floats({2}, {0, 1})}), {1, 2, 1, 3},
                {-1.2247356, 0, 1.2247356, -0.8371035, 1, 2.8371035}, 1e-5);
  expect_refused(ErrorCode::shape_mismatch, "scale has shape 1", "InstanceNormalization",
                 {x, floats({1}, {1}), floats({2}, {0, 1})});
}

TEST(LayerNormalization, FromAnAxisOn) {
  const Tensor x = floats({2, 2}, {1, 3, 2, 6}), ones = floats({2}, {1, 2}), bias = floats({2}, {0, 1});
  const auto y = run_all("LayerNormalization", {x, ones, bias}, {{"epsilon", real(0)}}, 3);
  expect_floats(y[0], {2, 2}, {-1, 3, -1, 3});
  expect_floats(y[1], {2, 1}, {2, 4});
  expect_floats(y[2], {2, 1}, {1, 0.5});
  expect_floats(run("LayerNormalization", {x, floats({2, 2}, {1, 1, 1, 1})},
                    {{"axis", integer(0)}, {"epsilon", real(0)}}),
                {2, 2}, {-1.069045, 0, -0.534522, 1.603567}, 1e-5);
  expect_refused(ErrorCode::shape_mismatch, "not broadcast", "LayerNormalization",
                 {x, floats({3}, {1, 1, 1})});
}

TEST(LpNormalization, ALineOfZerosStays) {
  expect_floats(run("LpNormalization", {floats({2, 2}, {3, -4, 0, 0})}), {2, 2}, {0.6, -0.8, 0, 0});
  expect_floats(
      run("LpNormalization", {floats({2, 2}, {3, -1, 1, 1})}, {{"p", integer(1)}, {"axis", integer(0)}}),
      {2, 2}, {0.75, -0.5, 0.25, 0.5});
  expect_refused(ErrorCode::invalid_model, "p is 3", "LpNormalization", {floats({1}, {1})},
                 {{"p", integer(3)}});
}

TEST(LRN, OverNeighbouringChannels) {
  const Tensor x = floats({1, 3, 1, 1}, {1, 2, 3});
  expect_floats(
      run("LRN", {x}, {{"size", integer(3)}, {"alpha", real(3)}, {"beta", real(1)}, {"bias", real(1)}}),
      {1, 3, 1, 1}, {1.0 / 6, 2.0 / 15, 3.0 / 14});
  // An even size reaches further forward.
  expect_floats(
      run("LRN", {x}, {{"size", integer(2)}, {"alpha", real(2)}, {"beta", real(1)}, {"bias", real(1)}}),
      {1, 3, 1, 1}, {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

TEST(Einsum, Equations) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {5, 6, 7, 8});
  const auto einsum = [&](const char* equation, const std::vector<Tensor>& inputs) {
    return run("Einsum", inputs, {{"equation", text(equation)}});
  };
  expect_floats(einsum("ij,jk->ik", {a, b}), {2, 2}, {19, 22, 43, 50});
  expect_floats(einsum("ij, jk", {a, b}), {2, 2}, {19, 22, 43, 50});
  expect_floats(einsum("ii->i", {a}), {2}, {1, 4});
  expect_floats(einsum("ij->", {a}), {}, {10});
  expect_floats(einsum("ij->ji", {a}), {2, 2}, {1, 3, 2, 4});
  expect_floats(einsum("...ij,...jk->...ik", {a.reshaped({1, 2, 2}), b}), {1, 2, 2}, {19, 22, 43, 50});
  expect_floats(einsum("i,j->ij", {floats({2}, {1, 2}), floats({1}, {3})}), {2, 1}, {3, 6});
  expect_refused(ErrorCode::invalid_model, "2 terms", "Einsum", {a}, {{"equation", text("ij,jk->ik")}});
  expect_refused(ErrorCode::shape_mismatch, "differ", "Einsum", {a, floats({3, 1}, {1, 2, 3})},
                 {{"equation", text("ij,jk->ik")}});
  expect_refused(ErrorCode::shape_mismatch, "does not fit", "Einsum", {a}, {{"equation", text("ijk->i")}});
  expect_refused(ErrorCode::invalid_model, "no input has", "Einsum", {a}, {{"equation", text("ij->k")}});
  expect_refused(ErrorCode::invalid_model, "no term", "Einsum", {a}, {{"equation", text("i1->i")}});
}

}  // namespace
}  // namespace saccade::ops
