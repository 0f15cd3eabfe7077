// Networks to quantise, with filters of a trained network's size, and pictures.
#pragma once

#include <cmath>
#include <random>

#include "compiler/graph_maker.h"
#include "quantise/observe.h"

namespace saccade::testing {

/// Convolutions whose results are about as large as their pictures.
class ConvMaker : public GraphMaker {
 public:
  Id fair_conv(Id x, std::int64_t in, std::int64_t out, std::int64_t k = 3, std::int64_t stride = 1,
               std::int64_t group = 1) {
    const std::int64_t pad = k / 2;
    const float range = std::sqrt(6.0f / static_cast<float>(in / group * k * k));
    return node("Conv", {x, random({out, in / group, k, k}, -range, range), random({out}, -0.1f, 0.2f)},
                {{"strides", std::vector<std::int64_t>{stride, stride}},
                 {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                 {"group", group}});
  }
  Id relu(Id x) { return node("Relu", {x}); }
};

/// A U-Net: skip connections, a transposed convolution and an enlargement, a head of few channels.
inline ir::Graph small_unet() {
  ConvMaker m;
  const auto x = m.input("picture", {1, 3, 24, 32});
  auto a = m.relu(m.fair_conv(x, 3, 16));
  a = m.relu(m.fair_conv(a, 16, 16));
  const std::vector<std::int64_t> two{2, 2};
  auto b = m.node("MaxPool", {a}, {{"kernel_shape", two}, {"strides", two}});
  b = m.relu(m.fair_conv(b, 16, 24));
  auto c = m.node("MaxPool", {b}, {{"kernel_shape", two}, {"strides", two}});
  c = m.relu(m.fair_conv(c, 24, 32));
  c = m.node("Resize", {c, ir::kNoValue, ir::kNoValue, m.integers({1, 32, 12, 16})},
             {{"mode", std::string("linear")}});
  b = m.node("Concat", {b, c}, {{"axis", std::int64_t{1}}});
  b = m.relu(m.fair_conv(b, 56, 24));
  b = m.node("ConvTranspose", {b, m.random({24, 16, 2, 2}, -0.3f, 0.3f), m.random({16})},
             {{"strides", two}, {"kernel_shape", two}});
  a = m.node("Concat", {b, a}, {{"axis", std::int64_t{1}}});
  a = m.relu(m.fair_conv(a, 32, 16));
  return m.finish({m.fair_conv(a, 16, 2, 1)});
}

/// Inverted residuals with gates, hard swish and residual sums, as in MobileNetV3.
inline ir::Graph small_mobile() {
  ConvMaker m;
  const auto picture = m.input("picture", {1, 3, 32, 32});
  auto x = m.node("HardSwish", {m.fair_conv(picture, 3, 16, 3, 2)});
  for (int block = 0; block < 2; ++block) {
    auto y = m.node("HardSwish", {m.fair_conv(x, 16, 32, 1)});
    y = m.node("HardSwish", {m.fair_conv(y, 32, 32, 5, 1, 32)});
    auto gate = m.node("GlobalAveragePool", {y});
    gate = m.relu(m.fair_conv(gate, 32, 8, 1));
    gate = m.node("HardSigmoid", {m.fair_conv(gate, 8, 32, 1)});
    x = m.node("Add", {m.fair_conv(m.node("Mul", {y, gate}), 32, 16, 1), x});
  }
  x = m.node("Clip", {m.fair_conv(x, 16, 24, 1), m.scalar(0), m.scalar(6)});
  return m.finish({m.node("Sigmoid", {m.fair_conv(x, 24, 1, 1)})});
}

inline Tensor smooth_picture(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0, 6.28f);
  Tensor t(DType::f32, shape);
  const std::int64_t height = shape[2], width = shape[3];
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const float a = uniform(random), b = uniform(random), p = uniform(random);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        t.data<float>()[(c * height + y) * width + x] =
            0.5f +
            0.5f * std::sin(a * static_cast<float>(x) / 9 + p) * std::cos(b * static_cast<float>(y) / 7);
  }
  return t;
}

inline std::vector<quantise::Sample> smooth_samples(const Shape& shape, unsigned count, unsigned seed = 1) {
  std::vector<quantise::Sample> samples;
  for (unsigned i = 0; i < count; ++i) samples.push_back({smooth_picture(shape, seed + i)});
  return samples;
}

}  // namespace saccade::testing
