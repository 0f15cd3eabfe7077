// Attention and what language models put around it.
#include <cmath>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(Attention, WeighsValuesBySoftmaxOfProducts) {
  const Tensor q = floats({1, 1, 2, 1}, {0, 1}), k = floats({1, 1, 2, 1}, {0, 2}),
               v = floats({1, 1, 2, 1}, {3, 7});
  const double weight = std::exp(2) / (1 + std::exp(2));
  expect_floats(run("Attention", {q, k, v}), {1, 1, 2, 1}, {5, 3 + 4 * weight});
  expect_floats(run("Attention", {q, k, v}, {{"is_causal", integer(1)}}), {1, 1, 2, 1}, {3, 3 + 4 * weight});
  expect_floats(run("Attention", {q, k, v}, {{"scale", real(0)}}), {1, 1, 2, 1}, {5, 5});
  expect_floats(run("Attention", {q, k, v, bools({2, 2}, {true, false, false, false})}), {1, 1, 2, 1},
                {3, 0});
  const auto stages = run_all("Attention", {q, k, v}, {{"qk_matmul_output_mode", integer(3)}}, 4);
  expect_floats(stages[3], {1, 1, 2, 2}, {0.5, 0.5, 1 - weight, weight});
}

TEST(Attention, PastKeysAndSharedHeads) {
  const Tensor q = floats({1, 1, 2}, {1, 1}), k = floats({1, 1, 1}, {1}), v = floats({1, 1, 1}, {10});
  const Tensor past = floats({1, 1, 1, 1}, {1}), values = floats({1, 1, 1, 1}, {20});
  const auto results = run_all("Attention", {q, k, v, absent(), past, values},
                               {{"q_num_heads", integer(2)}, {"kv_num_heads", integer(1)}}, 3);
  expect_floats(results[0], {1, 1, 2}, {15, 15});
  expect_floats(results[1], {1, 1, 2, 1}, {1, 1});
  expect_floats(results[2], {1, 1, 2, 1}, {20, 10});
  expect_refused(ErrorCode::invalid_model, "belong together", "Attention", {q, k, v, absent(), past},
                 {{"q_num_heads", integer(2)}, {"kv_num_heads", integer(1)}});
}

TEST(Attention, WindowsAndValidKeys) {
  const Tensor q = floats({1, 1, 3, 1}, {0, 0, 0}), k = q, v = floats({1, 1, 3, 1}, {1, 2, 6});
  expect_floats(
      run("Attention", {q, k, v}, {{"left_window_size", integer(1)}, {"right_window_size", integer(0)}}),
      {1, 1, 3, 1}, {1, 1.5, 4});
  expect_floats(run("Attention", {q, k, v, absent(), absent(), absent(), ints({2})}), {1, 1, 3, 1},
                {1.5, 1.5, 1.5});
}

TEST(RmsNormalization, DividesByTheRootOfTheMeanSquare) {
  expect_floats(
      run("RMSNormalization", {floats({1, 2}, {3, 4}), floats({2}, {1, 2})}, {{"epsilon", real(0)}}), {1, 2},
      {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
  expect_refused(ErrorCode::shape_mismatch, "do not broadcast", "RMSNormalization",
                 {floats({1, 2}, {3, 4}), floats({3}, {1, 2, 3})});
}

TEST(RotaryEmbedding, TurnsPairs) {
  const Tensor x = floats({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor cosines = floats({1, 1, 2}, {0, 1}), sines = floats({1, 1, 2}, {1, 0});
  expect_floats(run("RotaryEmbedding", {x, cosines, sines}), {1, 1, 1, 4}, {-3, 2, 1, 4});
  expect_floats(run("RotaryEmbedding", {x, cosines, sines}, {{"interleaved", integer(1)}}), {1, 1, 1, 4},
                {-2, 1, 3, 4});
  expect_floats(run("RotaryEmbedding",
                    {floats({1, 1, 4}, {1, 2, 3, 4}), floats({2, 1}, {1, 0}), floats({2, 1}, {0, 1}),
                     ints({1, 1}, {1})},
                    {{"num_heads", integer(2)}}),
                {1, 1, 4}, {-2, 1, -4, 3});
}

TEST(LinearAttention, KeepsASumOfProducts) {
  const Tensor q = floats({1, 2, 1}, {1, 1}), k = floats({1, 2, 1}, {1, 2}), v = floats({1, 2, 1}, {3, 5});
  const ir::Attributes linear{{"q_num_heads", integer(1)},
                              {"kv_num_heads", integer(1)},
                              {"update_rule", text("linear")},
                              {"scale", real(1)}};
  const auto results = run_all("LinearAttention", {q, k, v}, linear, 2);
  expect_floats(results[0], {1, 2, 1}, {3, 13});
  expect_floats(results[1], {1, 1, 1, 1}, {13});
  ir::Attributes delta = linear;
  delta["update_rule"] = text("delta");
  // S: 3; then 3 + 0.5 * 2 * (5 - 3 * 2) = 2.
  expect_floats(run("LinearAttention", {q, k, v, absent(), absent(), floats({1, 2, 1}, {1, 0.5f})}, delta),
                {1, 2, 1}, {3, 2});
}

}  // namespace
}  // namespace saccade::ops
