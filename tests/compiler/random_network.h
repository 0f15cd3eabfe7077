// Networks of the kind that segment pictures, put together at random.
#pragma once

#include <algorithm>
#include <random>

#include "graph_maker.h"

namespace saccade::testing {

/// A few dozen nodes: convolutions of all kinds with batch normalisation and activations, residuals,
/// squeeze-excite gates, concatenations (also nested), pools, resizes, slices; one or two outputs. In NHWC as
/// a TFLite importer writes it if `nhwc`.
inline ir::Graph random_network(unsigned seed, bool nhwc, std::int64_t batch = 1) {
  using Id = ir::ValueId;
  using Integers = std::vector<std::int64_t>;
  GraphMaker m;
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  struct Plane {
    Id id;
    std::int64_t c, h, w;
  };
  // Operators take and give the graph's own order; those of a channels-last format have transposes around
  // what is NCHW here.
  const auto in = [&](Id x) { return nhwc ? m.to_nchw(x) : x; };
  const auto out = [&](Id x) { return nhwc ? m.to_nhwc(x) : x; };
  const std::int64_t channel_axis = nhwc ? 3 : 1;
  const Integers plane_axes = nhwc ? Integers{1, 2} : Integers{2, 3};
  const std::int64_t h = 6 + pick(10);
  const std::int64_t w = 6 + pick(10);
  std::vector<Plane> planes{
      {m.input("picture", nhwc ? Shape{batch, h, w, 3} : Shape{batch, 3, h, w}), 3, h, w}};
  const auto any = [&] {
    return planes[static_cast<std::size_t>(std::max(0, static_cast<int>(planes.size()) - 1 - pick(4)))];
  };
  const auto activation = [&](Id x) {
    switch (pick(8)) {
      case 0:
        return m.node("Relu", {x});
      case 1:
        return m.node("Clip", {x, m.scalar(0), m.scalar(6)});
      case 2:
        return m.node("HardSwish", {x});
      case 3:
        return m.node("LeakyRelu", {x}, {{"alpha", 0.1f}});
      case 4:
        return m.node("Mul", {x, m.node("Sigmoid", {x})});
      case 5:
        return m.node(
            "Mul",
            {x, m.node("Mul", {m.node("Clip", {m.node("Add", {x, m.scalar(3)}), m.scalar(0), m.scalar(6)}),
                               m.scalar(1.0f / 6)})});
      default:
        return x;
    }
  };
  const int steps = 10 + pick(12);
  for (int step = 0; step < steps; ++step) {
    const Plane x = any();
    switch (pick(9)) {
      case 0:
      case 1: {  // dense convolution, perhaps normalised
        const std::int64_t c = 1 + pick(20);
        const std::int64_t k = pick(2) == 0 ? 1 : 3;
        const std::int64_t stride = x.h > 4 && x.w > 4 && pick(3) == 0 ? 2 : 1;
        Id y = m.conv(in(x.id), x.c, c, k, stride);
        if (!nhwc && pick(2) == 0)
          y = m.node("BatchNormalization",
                     {y, m.random({c}), m.random({c}), m.random({c}), m.random({c}, 0.5f, 2)});
        planes.push_back({activation(out(y)), c, (x.h - 1) / stride + 1, (x.w - 1) / stride + 1});
        break;
      }
      case 2: {  // depthwise
        const std::int64_t k = pick(2) == 0 ? 3 : 5;
        planes.push_back({activation(out(m.conv(in(x.id), x.c, x.c, k, 1, x.c))), x.c, x.h, x.w});
        break;
      }
      case 3: {  // residual
        Id y = m.node("Add", {x.id, out(m.conv(in(x.id), x.c, x.c))});
        planes.push_back({activation(y), x.c, x.h, x.w});
        break;
      }
      case 4: {  // squeeze-excite
        Id s = m.node("ReduceMean", {x.id, m.integers(plane_axes)}, {{"keepdims", std::int64_t{1}}});
        s = m.node("Relu", {out(m.conv(in(s), x.c, 4, 1))});
        s = m.node("HardSigmoid", {out(m.conv(in(s), 4, x.c, 1))}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
        planes.push_back({m.node("Mul", {x.id, s}), x.c, x.h, x.w});
        break;
      }
      case 5: {  // concatenation of what has the same size
        std::vector<Id> parts;
        std::int64_t c = 0;
        for (const Plane& p : planes)
          if (p.h == x.h && p.w == x.w && parts.size() < 3 && pick(2) == 0) {
            parts.push_back(p.id);
            c += p.c;
          }
        if (parts.empty()) break;
        planes.push_back({m.node("Concat", parts, {{"axis", channel_axis}}), c, x.h, x.w});
        break;
      }
      case 6: {  // pool
        if (x.h < 4 || x.w < 4) break;
        const ir::Attributes window{{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}};
        planes.push_back({out(m.node(pick(2) == 0 ? "MaxPool" : "AveragePool", {in(x.id)}, window)), x.c,
                          x.h / 2, x.w / 2});
        break;
      }
      case 7: {  // resize
        if (x.h > 16 || x.w > 16) break;
        const Id y =
            m.node("Resize", {in(x.id), ir::kNoValue, m.floats({4}, {1, 1, 2, 2})},
                   {{"mode", std::string(pick(2) == 0 ? "linear" : "nearest")},
                    {"nearest_mode", std::string("floor")},
                    {"coordinate_transformation", std::string(pick(2) == 0 ? "half_pixel" : "asymmetric")}});
        planes.push_back({out(y), x.c, 2 * x.h, 2 * x.w});
        break;
      }
      default: {  // channels
        if (x.c < 2) break;
        const std::int64_t c = 1 + pick(static_cast<int>(x.c) - 1);
        const std::int64_t from = pick(static_cast<int>(x.c - c + 1));
        planes.push_back(
            {m.node("Slice", {x.id, m.integers({from}), m.integers({from + c}), m.integers({channel_axis})}),
             c, x.h, x.w});
        break;
      }
    }
  }
  std::vector<Id> outputs{m.node("Sigmoid", {out(m.conv(in(planes.back().id), planes.back().c, 1, 1))})};
  if (pick(2) == 0) outputs.push_back(planes[planes.size() / 2].id);
  return m.finish(outputs);
}

}  // namespace saccade::testing
