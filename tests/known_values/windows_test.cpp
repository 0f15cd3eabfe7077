// Convolution, transposed convolution and pooling: where windows lie and what they count.
#include <gtest/gtest.h>

#include "known_values/executors.h"

namespace saccade::known {
namespace {

using Setter = std::function<void(OnnxModel::Node&)>;

/// Convolutions of single samples, as one channel, as channels of their own (groups), and dense with weights
/// that mix nothing; one and two dimensions.
void expect_convolution(const std::string& op, const std::vector<float>& x, const std::vector<float>& w,
                        const std::vector<float>& y, const Setter& one_dimension) {
  const auto width = static_cast<std::int64_t>(x.size()), taps = static_cast<std::int64_t>(w.size()),
             out = static_cast<std::int64_t>(y.size());
  const Tensor one = floats({1, 1, width}, x), expected = floats({1, 1, out}, y);
  for (const std::int64_t channels : kChannels) {
    for (const bool dense : {false, true}) {
      if (dense && channels == 1) continue;
      SCOPED_TRACE(op + (dense ? ", dense" : ", by groups") + ", channels: " + std::to_string(channels));
      const std::int64_t inner = dense ? channels : 1;
      std::vector<float> weights;
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < inner; ++i)
          for (const float v : w) weights.push_back(!dense || i == c ? v : 0.0f);
      OnnxModel m(13);
      m.input("x", DType::f32, {1, channels, width})
          .output("y")
          .floats("w", {channels, inner, taps}, weights);
      OnnxModel::Node node = m.node(op, {"x", "w"}, {"y"});
      node.set("group", dense ? std::int64_t{1} : channels);
      one_dimension(node);
      expect(m, {widened(one, channels)}, widened(expected, channels));
    }
  }
}

TEST(KnownConvolution, SamePaddingPutsTheOddCellWhereItsNameSays) {
  expect_convolution("Conv", {1, 2, 3, 4}, {1, 10, 100}, {321, 43},
                     [](OnnxModel::Node& n) { n.set("auto_pad", "SAME_UPPER").set("strides", Integers{2}); });
  expect_convolution("Conv", {1, 2, 3, 4}, {1, 10, 100}, {210, 432},
                     [](OnnxModel::Node& n) { n.set("auto_pad", "SAME_LOWER").set("strides", Integers{2}); });
  for (const char* rule : {"SAME_UPPER", "SAME_LOWER"})
    expect_convolution("Conv", {1, 2, 3, 4}, {1, 10, 100}, {310, 420, 31, 42},
                       [&](OnnxModel::Node& n) { n.set("auto_pad", rule).set("dilations", Integers{2}); });
}

TEST(KnownConvolution, TransposedSamePaddingCutsTheSurplus) {
  expect_convolution("ConvTranspose", {1, 2, 3}, {1, 10, 100}, {1, 10, 102, 20, 203, 30},
                     [](OnnxModel::Node& n) { n.set("auto_pad", "SAME_UPPER").set("strides", Integers{2}); });
  expect_convolution("ConvTranspose", {1, 2, 3}, {1, 10, 100}, {10, 102, 20, 203, 30, 300},
                     [](OnnxModel::Node& n) { n.set("auto_pad", "SAME_LOWER").set("strides", Integers{2}); });
}

TEST(KnownConvolution, TransposedSizesFollowOutputPaddingOutputShapeAndDilation) {
  const std::vector<float> y = {10, 102, 20, 203, 30, 300};
  expect_convolution("ConvTranspose", {1, 2, 3}, {1, 10, 100}, y, [](OnnxModel::Node& n) {
    n.set("strides", Integers{2}).set("pads", Integers{1, 1}).set("output_padding", Integers{1});
  });
  expect_convolution("ConvTranspose", {1, 2, 3}, {1, 10, 100}, y, [](OnnxModel::Node& n) {
    n.set("strides", Integers{2}).set("output_shape", Integers{6});
  });
  expect_convolution(
      "ConvTranspose", {1, 2, 3, 4, 5}, {1, 10, 100}, {3, 20, 104, 30, 205, 40, 300}, [](OnnxModel::Node& n) {
        n.set("strides", Integers{2}).set("dilations", Integers{3}).set("pads", Integers{4, 4});
      });
}

/// Pooling, over several numbers of channels.
void expect_pool(const std::string& op, const Tensor& x, const Tensor& y, const Setter& attributes) {
  for (const std::int64_t channels : kChannels) {
    SCOPED_TRACE(op + ", channels: " + std::to_string(channels));
    Shape shape = x.shape();
    shape[1] = channels;
    OnnxModel m(19);
    m.input("x", DType::f32, shape).output("y");
    OnnxModel::Node node = m.node(op, {"x"}, {"y"});
    attributes(node);
    expect(m, {widened(x, channels)}, widened(y, channels));
  }
}

TEST(KnownPool, MeansCountDeclaredPaddingButNoCellThatCeilAdds) {
  expect_pool("AveragePool", counting({1, 1, 4, 4}, 1),
              floats({1, 1, 3, 3}, {14 / 9.0f, 30 / 9.0f, 2, 57 / 9.0f, 11, 6, 4.5f, 7.5f, 4}),
              [](OnnxModel::Node& n) {
                n.set("kernel_shape", Integers{3, 3}).set("strides", Integers{2, 2});
                n.set("pads", Integers{1, 1, 1, 1}).set("ceil_mode", std::int64_t{1});
                n.set("count_include_pad", std::int64_t{1});
              });
  expect_pool("AveragePool", counting({1, 1, 9}, 1), floats({1, 1, 3}, {4, 39 / 7.0f, 4}),
              [](OnnxModel::Node& n) {
                n.set("kernel_shape", Integers{7}).set("strides", Integers{3}).set("pads", Integers{0, 3});
                n.set("ceil_mode", std::int64_t{1}).set("count_include_pad", std::int64_t{1});
              });
}

TEST(KnownPool, MaximaSkipDilatedCellsAndIgnorePadding) {
  expect_pool("MaxPool", counting({1, 1, 4, 4}, 1), floats({1, 1, 2, 2}, {11, 12, 15, 16}),
              [](OnnxModel::Node& n) {
                n.set("kernel_shape", Integers{2, 2}).set("dilations", Integers{2, 2});
              });
  expect_pool("MaxPool", floats({1, 1, 3}, {-3, -1, -2}), floats({1, 1, 3}, {-3, -1, -1}),
              [](OnnxModel::Node& n) { n.set("kernel_shape", Integers{2}).set("auto_pad", "SAME_LOWER"); });
  // Wholly negative with padding on every side, in two dimensions.
  expect_pool("MaxPool", floats({1, 1, 2, 2}, {-4, -3, -2, -1}), floats({1, 1, 2, 2}, {-1, -1, -1, -1}),
              [](OnnxModel::Node& n) {
                n.set("kernel_shape", Integers{3, 3}).set("pads", Integers{1, 1, 1, 1});
              });
}

}  // namespace
}  // namespace saccade::known
