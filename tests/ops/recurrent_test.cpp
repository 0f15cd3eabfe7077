// RNN, GRU, LSTM: one unit, so that values can be worked out by hand.
#include <cmath>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Rnn, BothDirections) {
  const Tensor x = floats({2, 1, 1}, {1, 2}), w = floats({2, 1, 1}, {0.5f, 0.5f}),
               r = floats({2, 1, 1}, {1, 1});
  const double f1 = std::tanh(0.5), f2 = std::tanh(1 + f1), b2 = std::tanh(1), b1 = std::tanh(0.5 + b2);
  const auto results = run_all("RNN", {x, w, r}, {{"direction", text("bidirectional")}}, 2);
  expect_floats(results[0], {2, 2, 1, 1}, {f1, b1, f2, b2});
  expect_floats(results[1], {2, 1, 1}, {f2, b1});
  const auto reversed = run_all("RNN", {x, floats({1, 1, 1}, {0.5f}), floats({1, 1, 1}, {1})},
                                {{"direction", text("reverse")}}, 2);
  expect_floats(reversed[0], {2, 1, 1, 1}, {b1, b2});
  expect_refused(ErrorCode::shape_mismatch, "R has shape", "RNN", {x, w, floats({1, 1, 1}, {1})},
                 {{"direction", text("bidirectional")}}, 2);
}

TEST(Rnn, SequencesEndWhereTheyEnd) {
  const Tensor lengths = Tensor::of<std::int32_t>({2}, {1, 2});
  const auto results = run_all(
      "RNN",
      {floats({2, 2, 1}, {1, 1, 1, 1}), floats({1, 1, 1}, {1}), floats({1, 1, 1}, {0}), absent(), lengths},
      {{"activations", std::vector<std::string>{"Affine"}},
       {"activation_alpha", std::vector<float>{2}},
       {"activation_beta", std::vector<float>{1}}},
      2);
  expect_floats(results[0], {2, 1, 2, 1}, {3, 3, 0, 3});
  expect_floats(results[1], {1, 2, 1}, {3, 3});
}

TEST(Gru, ResetBeforeOrAfterTheProduct) {
  const Tensor x = floats({1, 1, 1}, {1}), w = floats({1, 3, 1}, {0.1f, 0.2f, 0.3f}),
               r = floats({1, 3, 1}, {0.4f, 0.5f, 0.6f}), b = floats({1, 6}, {0, 0, 0, 0.1f, 0.2f, 0.3f}),
               h = floats({1, 1, 1}, {0.5f});
  const double z = sigmoid(0.1 + 0.4 * 0.5 + 0.1), reset = sigmoid(0.2 + 0.5 * 0.5 + 0.2);
  const double before = std::tanh(0.3 + 0.6 * (reset * 0.5) + 0.3);
  const double after = std::tanh(0.3 + reset * (0.6 * 0.5 + 0.3));
  const std::vector<Tensor> inputs{x, w, r, b, absent(), h};
  expect_floats(run("GRU", inputs), {1, 1, 1, 1}, {(1 - z) * before + z * 0.5});
  expect_floats(run("GRU", inputs, {{"linear_before_reset", integer(1)}}), {1, 1, 1, 1},
                {(1 - z) * after + z * 0.5});
}

TEST(Lstm, GatesPeepholesAndClip) {
  const Tensor x = floats({1, 1, 1}, {1}), w = floats({1, 4, 1}, {0.1f, 0.2f, 0.3f, 0.4f}),
               r = floats({1, 4, 1}, {0.5f, 0.6f, 0.7f, 0.8f}), h = floats({1, 1, 1}, {0.5f}),
               c = floats({1, 1, 1}, {2}), p = floats({1, 3}, {0.1f, 0.2f, 0.3f});
  const double i = sigmoid(0.1 + 0.25 + 0.2), f = sigmoid(0.3 + 0.35 + 0.6), g = std::tanh(0.4 + 0.4);
  const double cell = f * 2 + i * g, o = sigmoid(0.2 + 0.3 + 0.2 * cell);
  const auto results = run_all("LSTM", {x, w, r, absent(), absent(), h, c, p}, {}, 3);
  expect_floats(results[0], {1, 1, 1, 1}, {o * std::tanh(cell)});
  expect_floats(results[2], {1, 1, 1}, {cell});
  const auto clipped = run_all("LSTM", {x, w, r, absent(), absent(), h, c}, {{"clip", real(0.1f)}}, 3);
  expect_floats(clipped[2], {1, 1, 1}, {sigmoid(0.1) * 2 + sigmoid(0.1) * std::tanh(0.1)});
}

TEST(Lstm, BatchFirst) {
  const Tensor x = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), w = noise({1, 8, 1}, 1), r = noise({1, 8, 2}, 2);
  const auto first = run_all("LSTM", {x, w, r}, {{"layout", integer(1)}}, 3);
  const auto turned = run_all("LSTM", {floats({3, 2, 1}, {1, 4, 2, 5, 3, 6}), w, r}, {}, 3);
  EXPECT_EQ(first[0].shape(), (Shape{2, 3, 1, 2}));
  EXPECT_EQ(first[1].shape(), (Shape{2, 1, 2}));
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t t = 0; t < 3; ++t)
      for (std::int64_t k = 0; k < 2; ++k)
        EXPECT_EQ(first[0].data<float>()[(n * 3 + t) * 2 + k], turned[0].data<float>()[(t * 2 + n) * 2 + k]);
}

}  // namespace
}  // namespace saccade::ops
