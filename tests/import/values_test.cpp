// Small models whose results were worked out by hand, read and run with the reference kernels: the meaning of
// an operator in its format survives the translation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "import/onnx_model.h"
#include "import/tflite_model.h"
#include "interpret/interpreter.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::Pointwise;
using Code = tflite::BuiltinOperator;
using Options = tflite::BuiltinOptions;
using Integers = std::vector<std::int64_t>;

struct Result {
  Shape shape;
  std::vector<float> values;
};

Result run(const std::string& model, const Shape& shape, const std::vector<float>& values) {
  const Imported imported = read_bytes(model);
  EXPECT_TRUE(imported.missing.empty()) << missing_message(imported.missing);
  const Tensor input = Tensor::of<float>(shape, std::span<const float>(values));
  const std::vector<Tensor> outputs = interpret::run(imported.graph, std::span(&input, 1));
  const auto out = outputs.at(0).values<float>();
  return {outputs.at(0).shape(), {out.begin(), out.end()}};
}

auto near(const std::vector<float>& values) { return Pointwise(FloatNear(1e-5f), values); }

TEST(Values, TfliteTransposedConvolutionTakesItsSizeFromAnInput) {
  const auto transposed = [](int width) {
    TfliteModel m;
    const int size = m.integers("size", {4}, {1, 1, width, 1}), x = m.tensor("x", {1, 1, 3, 1}),
              y = m.tensor("y", {1, 1, width, 1});
    const int w = m.floats("w", {1, 1, 3, 1}, {1, 10, 100});
    m.op(Code::TRANSPOSE_CONV, {size, w, x}, {y}, Options::TransposeConvOptions,
         tflite::CreateTransposeConvOptions(m.builder(), tflite::Padding::SAME, 2, 1).Union());
    return run(m.bytes({x}, {y}), {1, 1, 3, 1}, {1, 2, 3}).values;
  };
  EXPECT_THAT(transposed(6), ElementsAre(1, 10, 102, 20, 203, 30));
  EXPECT_THAT(transposed(5), ElementsAre(10, 102, 20, 203, 30));
}

TEST(Values, TfliteTransposedConvolutionWithBias) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 1, 3, 1}), y = m.tensor("y", {1, 1, 5, 1});
  const int w = m.floats("w", {1, 1, 3, 1}, {1, 10, 100}), b = m.floats("b", {1}, {5});
  const std::int32_t fields[3] = {1, 2, 2};
  std::vector<std::uint8_t> options(12);
  std::memcpy(options.data(), fields, 12);
  m.custom("Convolution2DTransposeBias", {x, w, b}, {y}, options);
  const Result result = run(m.bytes({x}, {y}), {1, 1, 3, 1}, {1, 2, 3});
  EXPECT_EQ(result.shape, (Shape{1, 1, 5, 1}));
  EXPECT_THAT(result.values, ElementsAre(15, 107, 25, 208, 35));
}

TEST(Values, OnnxAddsAndJoinsQuantisedTensors) {
  OnnxModel m;
  auto& set = *m.proto.add_opset_import();
  set.set_domain("com.microsoft");
  set.set_version(1);
  m.input("x", DType::f32, {1, 3}).output("y");
  m.floats("half", {}, {0.5f}).floats("one", {}, {1});
  const auto zero = [&](const std::string& name, std::int32_t value) {
    auto& t = m.initializer(name, 2, {});
    t.add_int32_data(value);
  };
  zero("z3", 3), zero("z10", 10);
  m.node("QuantizeLinear", {"x", "half", "z3"}, {"q"});
  m.node("QLinearAdd", {"q", "half", "z3", "q", "half", "z3", "one", "z10"}, {"sum"})
      .proto.set_domain("com.microsoft");
  m.node("QLinearConcat", {"one", "z3", "sum", "one", "z10", "q", "half", "z3"}, {"both"})
      .set("axis", std::int64_t{1});
  m.proto.mutable_graph()->mutable_node(2)->set_domain("com.microsoft");
  m.node("DequantizeLinear", {"both", "one", "z3"}, {"y"});
  // Twice 0, 1.5 and 250 (which saturates at 126 in q, and at 245 in the sum), then the parts, to whole
  // numbers.
  EXPECT_THAT(run(m.bytes(), {1, 3}, {0, 1.5f, 250}).values, ElementsAre(0, 3, 245, 0, 2, 126));
}

TEST(Values, TfliteSamePaddingPutsTheOddPixelAtTheEnd) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 1, 4, 1}), y = m.tensor("y", {1, 1, 2, 1}),
            w = m.floats("w", {1, 1, 3, 1}, {1, 10, 100}), b = m.floats("b", {1}, {0});
  m.op(Code::CONV_2D, {x, w, b}, {y}, Options::Conv2DOptions,
       tflite::CreateConv2DOptions(m.builder(), tflite::Padding::SAME, 2, 1, tflite::Activation::RELU, 1, 1)
           .Union());
  EXPECT_THAT(run(m.bytes({x}, {y}), {1, 1, 4, 1}, {1, 2, 3, 4}).values, ElementsAre(321, 43));
}

TEST(Values, TfliteChannelsStayLast) {
  // 2x1 pixels of 2 channels; a 1x1 convolution swaps the channels and adds (10, 20).
  TfliteModel m;
  const int x = m.tensor("x", {1, 2, 1, 2}), y = m.tensor("y", {1, 2, 1, 2});
  const int w = m.floats("w", {2, 1, 1, 2}, {0, 1, 1, 0}), b = m.floats("b", {2}, {10, 20});
  m.op(Code::CONV_2D, {x, w, b}, {y}, Options::Conv2DOptions,
       tflite::CreateConv2DOptions(m.builder(), tflite::Padding::VALID, 1, 1).Union());
  EXPECT_THAT(run(m.bytes({x}, {y}), {1, 2, 1, 2}, {1, 2, 3, 4}).values, ElementsAre(12, 21, 14, 23));
}

TEST(Values, TfliteBatchesOfBlocks) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 2, 2, 1}), s = m.tensor("s", {4, 2, 1, 1}), y = m.tensor("y", {1, 3, 2, 1});
  const int block = m.integers("block", {2}, {2, 2}), pads = m.integers("pads", {2, 2}, {1, 1, 0, 0}),
            crops = m.integers("crops", {2, 2}, {0, 1, 0, 0});
  m.op(Code::SPACE_TO_BATCH_ND, {x, block, pads}, {s});
  m.op(Code::BATCH_TO_SPACE_ND, {s, block, crops}, {y});
  const Result back = run(m.bytes({x}, {y}), {1, 2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(back.shape, (Shape{1, 3, 2, 1}));
  EXPECT_THAT(back.values, ElementsAre(0, 0, 1, 2, 3, 4));

  TfliteModel only;
  const int a = only.tensor("x", {1, 2, 2, 1}), b = only.tensor("s", {4, 2, 1, 1});
  const int k = only.integers("block", {2}, {2, 2}), p = only.integers("pads", {2, 2}, {1, 1, 0, 0});
  only.op(Code::SPACE_TO_BATCH_ND, {a, k, p}, {b});
  EXPECT_THAT(run(only.bytes({a}, {b}), {1, 2, 2, 1}, {1, 2, 3, 4}).values,
              ElementsAre(0, 3, 0, 4, 1, 0, 2, 0));
}

TEST(Values, TfliteMirrorsWithAndWithoutTheEdge) {
  const auto mirrored = [](tflite::MirrorPadMode mode) {
    TfliteModel m;
    const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 7}),
              pads = m.integers("pads", {2, 2}, {0, 0, 2, 2});
    m.op(Code::MIRROR_PAD, {x, pads}, {y}, Options::MirrorPadOptions,
         tflite::CreateMirrorPadOptions(m.builder(), mode).Union());
    return run(m.bytes({x}, {y}), {1, 3}, {1, 2, 3}).values;
  };
  EXPECT_THAT(mirrored(tflite::MirrorPadMode::REFLECT), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(mirrored(tflite::MirrorPadMode::SYMMETRIC), ElementsAre(2, 1, 1, 2, 3, 3, 2));
}

TEST(Values, TfliteResizesByHalfPixels) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 1, 2, 1}), y = m.tensor("y", {1, 1, 4, 1}),
            size = m.integers("size", {2}, {1, 4});
  m.op(Code::RESIZE_BILINEAR, {x, size}, {y}, Options::ResizeBilinearOptions,
       tflite::CreateResizeBilinearOptions(m.builder(), 0, 0, false, true).Union());
  EXPECT_THAT(run(m.bytes({x}, {y}), {1, 1, 2, 1}, {1, 2}).values, near({1, 1.25f, 1.75f, 2}));
}

TEST(Values, OnnxSoftmaxOfBothTimes) {
  const auto softmax = [](std::int64_t opset) {
    OnnxModel m(opset);
    m.input("x", DType::f32, {1, 2, 2}).output("y");
    m.node("Softmax", {"x"}, {"y"});
    return run(m.bytes(), {1, 2, 2}, {0, 0, 0, std::log(5.0f)}).values;
  };
  EXPECT_THAT(softmax(11), near({0.125f, 0.125f, 0.125f, 0.625f}));
  EXPECT_THAT(softmax(13), near({0.5f, 0.5f, 1.0f / 6, 5.0f / 6}));
}

TEST(Values, OnnxSqueezesByAttribute) {
  OnnxModel m(11);
  m.input("x", DType::f32, {1, 1, 2, 2}).output("y");
  m.node("Squeeze", {"x"}, {"y"}).set("axes", Integers{1});
  EXPECT_EQ(run(m.bytes(), {1, 1, 2, 2}, {1, 2, 3, 4}).shape, (Shape{1, 2, 2}));
}

TEST(Values, OnnxUpsamplesFromTheCorner) {
  OnnxModel m(9);
  m.input("x", DType::f32, {1, 1, 1, 2}).output("y").floats("s", {4}, {1, 1, 1, 2});
  m.node("Upsample", {"x", "s"}, {"y"}).set("mode", "linear");
  EXPECT_THAT(run(m.bytes(), {1, 1, 1, 2}, {1, 2}).values, near({1, 1.5f, 2, 2}));
}

TEST(Values, OnnxOldResizeRoundsUpWhereItShrinks) {
  const auto resized = [](float height, float width) {
    OnnxModel m(10);
    m.input("x", DType::f32, {1, 1, 2, 4}).output("y").floats("s", {4}, {1, 1, height, width});
    m.node("Resize", {"x", "s"}, {"y"});
    return run(m.bytes(), {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).values;
  };
  EXPECT_THAT(resized(0.6f, 0.6f), ElementsAre(1, 3));
  EXPECT_THAT(resized(1, 1.5f), ElementsAre(1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8));
  EXPECT_THAT(resized(2, 0.6f), ElementsAre(1, 3, 1, 3, 5, 7, 5, 7));
}

TEST(Values, OnnxClipsByAttribute) {
  OnnxModel m(7);
  m.input("x", DType::f32, {3}).output("y");
  m.node("Clip", {"x"}, {"y"}).set("max", 6.0f).set("min", -1.0f);
  EXPECT_THAT(run(m.bytes(), {3}, {-5, 3, 9}).values, ElementsAre(-1, 3, 6));
}

TEST(Values, OnnxMeansAndSumsOfSeveral) {
  OnnxModel m(13);
  m.input("x", DType::f32, {2}).output("y").floats("a", {2}, {1, 2}).floats("b", {2}, {3, 4});
  m.node("Mean", {"x", "a", "b"}, {"y"});
  EXPECT_THAT(run(m.bytes(), {2}, {5, 6}).values, near({3, 4}));
}

TEST(Values, OnnxNormalisesMeanAndVariance) {
  OnnxModel m(13);
  m.input("x", DType::f32, {1, 2, 1, 2}).output("y");
  m.node("MeanVarianceNormalization", {"x"}, {"y"});
  EXPECT_THAT(run(m.bytes(), {1, 2, 1, 2}, {1, 3, 10, 30}).values, near({-1, 1, -1, 1}));
}

TEST(Values, OnnxConvolvesWithBothPaddings) {
  const auto convolved = [](const char* rule) {
    OnnxModel m(11);
    m.input("x", DType::f32, {1, 1, 4}).output("y").floats("w", {1, 1, 3}, {1, 10, 100});
    m.node("Conv", {"x", "w"}, {"y"}).set("auto_pad", rule).set("strides", Integers{2});
    return run(m.bytes(), {1, 1, 4}, {1, 2, 3, 4}).values;
  };
  EXPECT_THAT(convolved("SAME_UPPER"), ElementsAre(321, 43));
  EXPECT_THAT(convolved("SAME_LOWER"), ElementsAre(210, 432));
}

}  // namespace

}  // namespace saccade::import
