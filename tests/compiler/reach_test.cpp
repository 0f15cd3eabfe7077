// What find_reach() says of a network is tried out: tiles through the reference executor against the whole.
#include "compiler/reach.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "compiler/graph_maker.h"
#include "interpret/interpreter.h"
#include "saccade/error.h"

namespace saccade::compiler {
namespace {

using testing::GraphMaker;
using Id = GraphMaker::Id;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kChannels = 2;

/// Builds what lies behind an input of that size; the same weights each time.
using Body = std::function<Id(GraphMaker&, Id, std::int64_t height, std::int64_t width)>;

ir::Graph build(const Body& body, std::int64_t height, std::int64_t width) {
  GraphMaker m;
  const Id input = m.input("picture", {1, kChannels, height, width});
  return m.finish({body(m, input, height, width)});
}

Tensor noise(std::int64_t height, std::int64_t width) {
  Tensor tensor(DType::f32, {1, kChannels, height, width});
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = static_cast<float>((i * 7919 + i / 13 * 31) % 1009) / 504.5f - 1.0f;
  return tensor;
}

Tensor crop(const Tensor& whole, std::int64_t y, std::int64_t x, std::int64_t height, std::int64_t width) {
  Tensor part(DType::f32, {1, kChannels, height, width});
  float* out = part.data<float>();
  for (std::int64_t c = 0; c < kChannels; ++c)
    for (std::int64_t j = 0; j < height; ++j)
      for (std::int64_t i = 0; i < width; ++i)
        *out++ = whole.data<float>()[(c * whole.dim(2) + y + j) * whole.dim(3) + x + i];
  return part;
}

float at(const Tensor& t, std::int64_t c, std::int64_t y, std::int64_t x) {
  return t.data<float>()[(c * t.dim(2) + y) * t.dim(3) + x];
}

/// Cuts tiles of `tile` pixels out of a picture of `whole` and compares all pixels that are said to be right.
/// Returns how many pixels next to an inner edge are really wrong, at most.
std::int64_t try_out(const Body& body, std::int64_t tile, std::int64_t whole) {
  const Reach reach = find_reach(build(body, tile, tile), {{1, kChannels, tile, tile}}, 0, 2, 3);
  for (const AxisReach& axis : {reach.y, reach.x}) {
    EXPECT_TRUE(axis.fits()) << axis.before << " + " << axis.after << " of " << axis.out;
    EXPECT_EQ(whole % axis.period, 0);
    EXPECT_EQ(tile % axis.period, 0);
  }
  const ir::Graph large = build(body, whole, whole), small = build(body, tile, tile);
  const Tensor picture = noise(whole, whole);
  const Tensor want = interpret::run(large, std::vector{picture}).front();
  std::int64_t wrong = 0;
  for (std::int64_t y = 0; y <= whole - tile; y += reach.y.period) {
    for (std::int64_t x = 0; x <= whole - tile; x += reach.x.period) {
      const Tensor got = interpret::run(small, std::vector{crop(picture, y, x, tile, tile)}).front();
      const std::int64_t oy = y * reach.y.step_out / reach.y.step_in,
                         ox = x * reach.x.step_out / reach.x.step_in;
      const auto inner = [](const AxisReach& axis, std::int64_t begin, std::int64_t size, std::int64_t all,
                            std::int64_t i) {
        return (begin == 0 || i >= axis.before) && (begin + size == all || i < axis.out - axis.after);
      };
      for (std::int64_t c = 0; c < got.dim(1); ++c)
        for (std::int64_t j = 0; j < got.dim(2); ++j)
          for (std::int64_t i = 0; i < got.dim(3); ++i) {
            const float difference = std::abs(at(got, c, j, i) - at(want, c, oy + j, ox + i));
            if (inner(reach.y, y, tile, whole, j) && inner(reach.x, x, tile, whole, i)) {
              if (difference > 1e-5f) {
                ADD_FAILURE() << "tile at " << y << "," << x << ", pixel " << j << "," << i << ": "
                              << at(got, c, j, i) << ", not " << at(want, c, oy + j, ox + i);
                return wrong;
              }
            } else if (difference > 1e-5f) {
              if (i == got.dim(3) / 2) wrong = std::max({wrong, std::min(j + 1, got.dim(2) - j)});
              if (j == got.dim(2) / 2) wrong = std::max({wrong, std::min(i + 1, got.dim(3) - i)});
            }
          }
    }
  }
  return wrong;
}

Id windowed(GraphMaker& m, Id x, std::int64_t in, std::int64_t out, Integers kernel, Integers strides,
            Integers pads, Integers dilations = {1, 1}) {
  return m.node("Conv", {x, m.random({out, in, kernel[0], kernel[1]}), m.random({out})},
                {{"strides", strides}, {"pads", pads}, {"dilations", dilations}});
}
Id resized(GraphMaker& m, Id x, const Integers& size, const std::string& mode,
           const std::string& coordinates) {
  return m.node(
      "Resize", {x, ir::kNoValue, ir::kNoValue, m.integers(size)},
      {{"mode", mode}, {"coordinate_transformation", coordinates}, {"nearest_mode", std::string("floor")}});
}

TEST(Reach, ConvolutionsWithStridesDilationsAndUnevenPadding) {
  const Body body = [](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
    Id y = windowed(m, x, 2, 3, {3, 5}, {1, 1}, {1, 2, 1, 2});
    y = m.node("Relu", {windowed(m, y, 3, 3, {3, 3}, {1, 1}, {2, 1, 2, 3}, {2, 2})});
    return windowed(m, y, 3, 2, {2, 2}, {1, 1}, {1, 1, 0, 0});
  };
  const Reach reach = find_reach(build(body, 32, 32), {{1, kChannels, 32, 32}}, 0, 2, 3);
  EXPECT_EQ(reach.y.before, 1 + 2 + 1);
  EXPECT_EQ(reach.y.after, 1 + 2);
  EXPECT_EQ(reach.x.before, 2 + 1 + 1);
  EXPECT_EQ(reach.x.after, 2 + 3);
  EXPECT_EQ(reach.y.period, 1);
  EXPECT_EQ(try_out(body, 20, 27), 5);  // not one pixel more than needed
}

TEST(Reach, UNetWithSkipsTransposedConvolutionAndPools) {
  const Body body = [](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
    const Id a = m.node("Relu", {m.conv(x, 2, 4)});
    const Id b = m.node(
        "Relu",
        {m.conv(m.node("MaxPool", {a}, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}}), 4,
                4)});
    const Id c = m.node(
        "AveragePool", {b},
        {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}});
    const Id d = m.node("ConvTranspose", {m.conv(c, 4, 4), m.random({4, 4, 4, 4})},
                        {{"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}});
    const Id e = m.conv(m.node("Concat", {b, d}, {{"axis", std::int64_t{1}}}), 8, 4);
    const Id f = m.node("ConvTranspose", {e, m.random({4, 3, 2, 2})}, {{"strides", Integers{2, 2}}});
    return m.node("Sigmoid", {m.conv(m.node("Concat", {a, f}, {{"axis", std::int64_t{1}}}), 7, 1)});
  };
  const Reach reach = find_reach(build(body, 64, 64), {{1, kChannels, 64, 64}}, 0, 2, 3);
  EXPECT_EQ(reach.x.period, 4);
  EXPECT_EQ(reach.x.before, reach.y.before);
  try_out(body, 48, 64);
}

TEST(Reach, ResizesThatGoByHalfPixelsOrWhole) {
  for (const auto& [mode, coordinates] : {std::pair{"linear", "half_pixel"},
                                          {"linear", "asymmetric"},
                                          {"nearest", "asymmetric"},
                                          {"nearest", "half_pixel"},
                                          {"cubic", "half_pixel"},
                                          {"linear", "pytorch_half_pixel"}}) {
    const Body body = [&](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
      const Id small = windowed(m, x, 2, 3, {3, 3}, {4, 4}, {1, 1, 1, 1});
      const Id large = resized(m, small, {1, 3, h, w}, mode, coordinates);
      const Id half = resized(m, x, {1, 2, h / 2, w / 2}, "linear", "half_pixel");
      const Id again = resized(m, half, {1, 2, h, w}, mode, coordinates);
      return m.node("Concat", {large, again}, {{"axis", std::int64_t{1}}});
    };
    SCOPED_TRACE(std::string(mode) + " " + coordinates);
    EXPECT_EQ(find_reach(build(body, 64, 64), {{1, kChannels, 64, 64}}, 0, 2, 3).y.period, 4);
    try_out(body, 64, 80);
  }
}

TEST(Reach, RatiosOfWholeNumbers) {
  // Three pixels to two and back: tiles begin at multiples of three.
  const Body body = [](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
    const Id small = resized(m, x, {1, 2, h / 3 * 2, w / 3 * 2}, "linear", "half_pixel");
    return resized(m, m.conv(small, 2, 2), {1, 2, h, w}, "linear", "half_pixel");
  };
  EXPECT_EQ(find_reach(build(body, 72, 72), {{1, kChannels, 72, 72}}, 0, 2, 3).x.period, 3);
  try_out(body, 72, 84);
  // A result with fewer pixels than the picture.
  const Body coarse = [](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
    return windowed(m, m.conv(x, 2, 3, 5, 2), 3, 2, {3, 3}, {2, 2}, {1, 1, 1, 1});
  };
  const Reach reach = find_reach(build(coarse, 32, 32), {{1, kChannels, 32, 32}}, 0, 2, 3);
  EXPECT_EQ(reach.y.step_in, 4);
  EXPECT_EQ(reach.y.step_out, 1);
  try_out(coarse, 32, 48);
}

TEST(Reach, DimensionsThatMove) {
  const Body body = [](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
    // Space to depth by hand, a product over channels that lie last, softmax over them, a norm over them, and
    // back; channels shuffled on the way.
    Id y = m.reshape(x, {1, 2, h / 2, 2, w / 2, 2});
    y = m.reshape(m.transpose(y, {0, 3, 5, 1, 2, 4}), {1, 8, h / 2, w / 2});
    y = m.conv(y, 8, 8);
    y = m.reshape(m.transpose(m.reshape(y, {1, 2, 4, h / 2, w / 2}), {0, 2, 1, 3, 4}), {1, 8, h / 2, w / 2});
    y = m.to_nhwc(y);
    y = m.node("MatMul", {y, m.random({8, 8})});
    y = m.node("LayerNormalization", {y, m.random({8}), m.random({8})}, {{"axis", std::int64_t{-1}}});
    y = m.node("Softmax", {y}, {{"axis", std::int64_t{3}}});
    y = m.to_nchw(m.node("Add", {y, m.random({8})}));
    return m.conv(m.node("DepthToSpace", {y}, {{"blocksize", std::int64_t{2}}}), 2, 2);
  };
  EXPECT_EQ(find_reach(build(body, 32, 32), {{1, kChannels, 32, 32}}, 0, 2, 3).x.period, 2);
  try_out(body, 24, 32);
}

TEST(Reach, CropsAndPads) {
  for (const char* mode : {"constant", "edge", "reflect"}) {
    const Body body = [&](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
      Id y = m.node("Pad", {x, m.integers({0, 0, 3, 3, 0, 0, 2, 2})}, {{"mode", std::string(mode)}});
      y = windowed(m, y, 2, 3, {3, 3}, {1, 1}, {0, 0, 0, 0});
      // The first rows of the picture only seem to be within the tile behind this.
      y = m.node("Slice", {y, m.integers({2, 1}), m.integers({1000, 1000}), m.integers({2, 3})});
      y = m.node("Pad", {y, m.integers({0, 0, 1, 0, 0, 0, 0, 0})}, {{"mode", std::string("constant")}});
      y = windowed(m, y, 3, 2, {3, 3}, {1, 1}, {1, 1, 1, 1});
      // Half of the pixels, each read twice.
      const Id even = m.node(
          "Slice", {y, m.integers({0, 0}), m.integers({1000, 1000}), m.integers({2, 3}), m.integers({2, 2})});
      return m.node("ConvTranspose", {even, m.random({2, 2, 2, 2})},
                    {{"strides", Integers{2, 2}}, {"output_padding", Integers{0, 0}}});
    };
    SCOPED_TRACE(mode);
    const Reach reach = find_reach(build(body, 24, 24), {{1, kChannels, 24, 24}}, 0, 2, 3);
    EXPECT_GE(reach.y.before, 4);
    EXPECT_EQ(reach.y.period, 2);
    try_out(body, 24, 36);
  }
}

std::string refusal(const Body& body, std::int64_t size = 32) {
  try {
    (void)find_reach(build(body, size, size), {{1, kChannels, size, size}}, 0, 2, 3);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    return e.what();
  }
  return "";
}

TEST(Reach, RefusesWhatLooksAtTheWholePictureAndNamesIt) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
  };
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("Mul", {x, m.node("Sigmoid", {m.conv(m.node("GlobalAveragePool", {x}), 2, 2, 1)})});
      }),
      "node 'GlobalAveragePool_0' (GlobalAveragePool) looks at the whole picture");
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("Sub", {x, m.node("ReduceMean", {x, m.integers({2, 3})})});
      }),
      "ReduceMean_0");
  has(refusal([](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
        return m.node("Mul", {x, m.node("AveragePool", {x}, {{"kernel_shape", Integers{h, w}}})});
      }),
      "node 'AveragePool_0' (AveragePool) looks at the whole picture");
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("InstanceNormalization", {x, m.random({2}), m.random({2})});
      }),
      "InstanceNormalization");
  has(refusal([](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
        const Id rows = m.transpose(m.reshape(x, {1, 2, h * w}), {0, 2, 1});
        return m.reshape(m.transpose(m.node("MatMul", {rows, m.random({2, 2})}), {0, 2, 1}), {1, 2, h, w});
      }),
      "makes one dimension of the picture's rows and columns");
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("MatMul", {x, m.transpose(x, {0, 1, 3, 2})});
      }),
      "multiplies the picture with itself");
  has(refusal([](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
        return m.node("Add", {x, m.random({1, 1, h, w})});
      }),
      "varies over it");
  has(refusal(
          [](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
            return resized(m, windowed(m, x, 2, 2, {3, 3}, {2, 2}, {1, 1, 1, 1}), {1, 2, h, w}, "linear",
                           "align_corners");
          },
          64),
      "align_corners");
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("Softmax", {x}, {{"axis", std::int64_t{3}}});
      }),
      "looks at whole rows or columns");
  has(refusal([](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
        return m.node("GridSample", {x, m.random({1, h, w, 2})});
      }),
      "may look anywhere on the picture");
  has(refusal([](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
        return m.node("Pad", {x, m.integers({0, 0, 2, 2, 0, 0, 2, 2})}, {{"mode", std::string("wrap")}});
      }),
      "other side");
}

TEST(Reach, ConstantsThatDoNotVaryOverThePictureAreFine) {
  const Body body = [](GraphMaker& m, Id x, std::int64_t h, std::int64_t w) {
    const Id even = m.floats({1, 1, h, w}, std::vector<float>(static_cast<std::size_t>(h * w), 0.5f));
    return m.node("Add", {m.node("Mul", {x, even}), m.random({2, 1, 1})});
  };
  EXPECT_EQ(find_reach(build(body, 16, 16), {{1, kChannels, 16, 16}}, 0, 2, 3).y.before, 0);
}

TEST(Reach, OtherResultsDoNotCount) {
  GraphMaker m;
  const Id x = m.input("picture", {1, kChannels, 32, 32});
  const Id y = m.conv(x, 2, 1);
  const Id pooled = m.node("GlobalAveragePool", {y});
  const ir::Graph graph = m.finish({pooled, y});
  EXPECT_EQ(find_reach(graph, {{1, kChannels, 32, 32}}, 1, 2, 3).y.before, 1);
  EXPECT_THROW(find_reach(graph, {{1, kChannels, 32, 32}}, 0, 2, 3), Error);
}

TEST(Reach, TilesThatAreTooSmallDoNotFit) {
  const Body body = [](GraphMaker& m, Id x, std::int64_t, std::int64_t) {
    return windowed(m, x, 2, 2, {3, 3}, {1, 1}, {9, 9, 9, 9}, {9, 9});
  };
  EXPECT_FALSE(find_reach(build(body, 16, 16), {{1, kChannels, 16, 16}}, 0, 2, 3).y.fits());
  EXPECT_TRUE(find_reach(build(body, 24, 24), {{1, kChannels, 24, 24}}, 0, 2, 3).y.fits());
}

}  // namespace
}  // namespace saccade::compiler
