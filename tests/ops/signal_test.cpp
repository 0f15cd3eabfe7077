// Fourier transforms, windows, filter banks, n-grams.
#include <cmath>
#include <numbers>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(Dft, OddAndEvenLengthsAgreeWithTheSum) {
  for (const std::int64_t n : {1, 2, 3, 6, 8}) {
    const Tensor x = noise({1, n, 1}, 3);
    std::vector<double> expected;
    for (std::int64_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k * i) / static_cast<double>(n);
        re += static_cast<double>(x.data<float>()[i]) * std::cos(angle);
        im += static_cast<double>(x.data<float>()[i]) * std::sin(angle);
      }
      expected.insert(expected.end(), {re, im});
    }
    expect_floats(run("DFT", {x}), {1, n, 2}, expected);
    const Tensor half = run("DFT", {x}, {{"onesided", integer(1)}});
    EXPECT_EQ(half.shape(), (Shape{1, n / 2 + 1, 2}));
    // And back: the whole transform, and its half.
    std::vector<double> signal, padded;
    for (std::int64_t i = 0; i < n; ++i) {
      signal.push_back(static_cast<double>(x.data<float>()[i]));
      padded.insert(padded.end(), {signal.back(), 0.0});
    }
    expect_floats(run("DFT", {run("DFT", {x})}, {{"inverse", integer(1)}}), {1, n, 2}, padded);
    expect_floats(run("DFT", {half, ints({}, {n})}, {{"inverse", integer(1)}, {"onesided", integer(1)}}),
                  {1, n, 1}, signal);
  }
}

TEST(Dft, LengthPadsOrCutsAndAnyAxisIsMeant) {
  const Tensor x = floats({2, 2, 1}, {1, 2, 3, 4});
  expect_floats(run("DFT", {x, absent(), ints({}, {0})}), {2, 2, 2}, {4, 0, 6, 0, -2, 0, -2, 0});
  expect_floats(run("DFT", {x, ints({}, {1})}), {2, 1, 2}, {1, 0, 3, 0});
  expect_refused(ErrorCode::invalid_model, "real and imaginary", "DFT", {x, absent(), ints({}, {2})});
}

TEST(Stft, StepsThroughTheSignal) {
  const Tensor x = floats({1, 5, 1}, {1, 2, 3, 4, 5});
  expect_floats(run("STFT", {x, ints({}, {2}), absent(), ints({}, {2})}), {1, 2, 2, 2},
                {3, 0, -1, 0, 7, 0, -1, 0});
  expect_floats(run("STFT", {x, ints({}, {3}), floats({2}, {2, 1})}), {1, 2, 2, 2},
                {4, 0, 0, 0, 13, 0, 3, 0});
  expect_refused(ErrorCode::invalid_model, "do not fit", "STFT", {x, ints({}, {1}), absent(), ints({}, {6})});
}

TEST(CosineWindow, PeriodicOrSymmetric) {
  const ir::Attribute hann = std::vector<float>{0.5f, 0.5f, 0};
  expect_floats(run("CosineWindow", {ints({}, {4})}, {{"coefficients", hann}}), {4}, {0, 0.5, 1, 0.5});
  expect_floats(run("CosineWindow", {ints({}, {3})}, {{"coefficients", hann}, {"periodic", integer(0)}}), {3},
                {0, 1, 0});
}

TEST(MelWeightMatrix, TrianglesPeakAtOne) {
  const Tensor y = run("MelWeightMatrix", {ints({}, {4}), ints({}, {64}), ints({}, {8000}), floats({}, {0}),
                                           floats({}, {4000})});
  ASSERT_EQ(y.shape(), (Shape{33, 4}));
  for (int band = 0; band < 4; ++band) {
    float largest = 0;
    for (int bin = 0; bin < 33; ++bin) largest = std::max(largest, y.data<float>()[bin * 4 + band]);
    EXPECT_EQ(largest, 1) << band;
  }
}

TEST(TfIdfVectorizer, CountsRunsWithGaps) {
  const ir::Attributes attributes{
      {"mode", text("TF")},           {"min_gram_length", integer(1)}, {"max_gram_length", integer(2)},
      {"max_skip_count", integer(1)}, {"ngram_counts", list({0, 2})},  {"ngram_indexes", list({0, 1, 2})},
      {"pool", list({5, 6, 5, 6})}};
  // 5 twice, 6 once; (5, 6) as neighbours and one apart.
  expect_floats(run("TfIdfVectorizer", {ints({5, 5, 6})}, attributes), {3}, {2, 1, 2});
}

}  // namespace
}  // namespace saccade::ops
