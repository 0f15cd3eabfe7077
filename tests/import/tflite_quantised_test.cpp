// Quantised TFLite models: every result is an integer, worked out by hand or with 64-bit arithmetic here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/onnx_model.h"
#include "import/tflite_model.h"
#include "interpret/interpreter.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Code = tflite::BuiltinOperator;
using Type = tflite::TensorType;
using Options = tflite::BuiltinOptions;
using Activation = tflite::Activation;
using Bytes = std::vector<std::int8_t>;

std::vector<std::uint8_t> raw(const Bytes& values) { return {values.begin(), values.end()}; }

std::vector<std::uint8_t> raw(const std::vector<std::int32_t>& values) {
  std::vector<std::uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes run(const std::string& model, const Shape& shape, const Bytes& values) {
  const Imported imported = read_bytes(model);
  EXPECT_TRUE(imported.missing.empty()) << missing_message(imported.missing);
  const Tensor input = Tensor::of<std::int8_t>(shape, std::span<const std::int8_t>(values));
  const auto outputs = interpret::run(imported.graph, std::span(&input, 1));
  const auto out = outputs.at(0).values<std::int8_t>();
  return {out.begin(), out.end()};
}

int quantised(TfliteModel& m, const std::string& name, const std::vector<int>& shape, float scale,
              std::int64_t zero, Type type = Type::INT8) {
  const int index = m.tensor(name, shape, type);
  m.set_quantised(index, {scale}, {zero});
  return index;
}

/// A 1x1 convolution of two channels to two, with a scale for each, and the same in 64-bit integers.
TEST(TfliteQuantised, ConvolvesWithAScaleAChannelAndClampsInIntegers) {
  TfliteModel m;
  const int x = quantised(m, "x", {1, 2, 4, 2}, 0.1f, 3), y = quantised(m, "y", {1, 2, 4, 2}, 0.05f, -10);
  const Bytes weights = {50, -20, 127, 90};
  const std::vector<float> scales = {0.02f, 0.005f};
  const int w = m.raw("w", {2, 1, 1, 2}, Type::INT8, raw(weights), scales, {0, 0}, 0);
  const std::vector<std::int32_t> bias = {100, -250};
  const int b = m.raw("b", {2}, Type::INT32, raw(bias), {0.002f, 0.0005f}, {0, 0}, 0);
  m.op(Code::CONV_2D, {x, w, b}, {y}, Options::Conv2DOptions,
       tflite::CreateConv2DOptions(m.builder(), tflite::Padding::SAME, 1, 1, Activation::RELU6).Union());
  const Bytes in = {3, 3, 10, 5, -128, 127, 127, -128, 40, -9, 0, 100, 22, 23, -60, 8};
  Bytes wanted;
  for (std::size_t pixel = 0; pixel < 8; ++pixel)
    for (std::size_t c = 0; c < 2; ++c) {
      const std::int64_t sum =
          (in[2 * pixel] - 3) * weights[2 * c] + (in[2 * pixel + 1] - 3) * weights[2 * c + 1] + bias[c];
      const double real = static_cast<double>(sum) * 0.1 * static_cast<double>(scales[c]);
      wanted.push_back(static_cast<std::int8_t>(std::clamp(std::nearbyint(real / 0.05) - 10, -10.0, 110.0)));
    }
  EXPECT_THAT(run(m.bytes({x}, {y}), {1, 2, 4, 2}, in), ElementsAreArray(wanted));
  EXPECT_EQ(*std::max_element(wanted.begin(), wanted.end()), 110);
  EXPECT_EQ(*std::min_element(wanted.begin(), wanted.end()), -10);
}

TEST(TfliteQuantised, AddsNumbersOfDifferentScales) {
  TfliteModel m;
  const int x = quantised(m, "x", {1, 4}, 0.5f, 1), y = quantised(m, "y", {1, 4}, 0.25f, -2);
  const int c = m.raw("c", {1, 4}, Type::INT8, raw(Bytes{0, 10, -10, 127}), {2.0f}, {0});
  m.op(Code::ADD, {x, c}, {y}, Options::AddOptions, tflite::CreateAddOptions(m.builder()).Union());
  // (x - 1) / 2 + 2 c, times 4, minus 2; saturated.
  EXPECT_THAT(run(m.bytes({x}, {y}), {1, 4}, {1, 2, 3, 4}), ElementsAre(-2, 80, -78, 127));
}

TEST(TfliteQuantised, RequantisesAndMovesWithoutRounding) {
  TfliteModel m;
  const int x = quantised(m, "x", {1, 2, 2, 1}, 0.5f, 0), r = quantised(m, "r", {1, 4}, 0.5f, 0),
            y = quantised(m, "y", {1, 4}, 0.25f, 5);
  const int shape = m.integers("shape", {2}, {1, 4});
  m.op(Code::RESHAPE, {x, shape}, {r});
  m.op(Code::QUANTIZE, {r}, {y});
  const std::string model = m.bytes({x}, {y});
  EXPECT_EQ(operators(read_bytes(model).graph),
            "DequantizeLinear Reshape Identity QuantizeLinear DequantizeLinear QuantizeLinear");
  EXPECT_THAT(run(model, {1, 2, 2, 1}, {0, 1, -2, 100}), ElementsAre(5, 7, 1, 127));
}

TEST(TfliteQuantised, NamesInputsAndOutputsAsTheFileDoes) {
  TfliteModel m;
  const int x = quantised(m, "x", {1, 3}, 0.5f, 0), y = quantised(m, "y", {1, 3}, 1.0f / 256, -128);
  m.op(Code::LOGISTIC, {x}, {y});
  const std::string model = m.bytes({x}, {y});
  const Imported imported = read_bytes(model);
  EXPECT_EQ(imported.graph.value(imported.graph.inputs[0]).name, "x");
  EXPECT_EQ(imported.graph.value(imported.graph.inputs[0]).dtype, DType::i8);
  EXPECT_EQ(imported.graph.value(imported.graph.outputs[0]).name, "y");
  EXPECT_EQ(imported.graph.value(imported.graph.outputs[0]).dtype, DType::i8);
  EXPECT_THAT(run(model, {1, 3}, {0, 127, -128}), ElementsAre(0, 127, -128));
}

TEST(TfliteQuantised, UnpacksWeightsOfFourBits) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 1});
  const int w = m.raw("w", {1, 3}, Type::INT4, {0x8f, 0x07}, {0.5f}, {0});  // -1, -8, 7
  m.op(Code::FULLY_CONNECTED, {x, w, -1}, {y}, Options::FullyConnectedOptions,
       tflite::CreateFullyConnectedOptions(m.builder()).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  const Tensor input = Tensor::of<float>({1, 3}, {1, 10, 100});
  EXPECT_EQ(interpret::run(imported.graph, std::span(&input, 1))[0].values<float>()[0],
            0.5f * (-1 - 80 + 700));
}

TEST(TfliteQuantised, RefusesScalesThatMakeNoSense) {
  const auto message = [](float scale, std::int64_t zero) {
    TfliteModel m;
    const int x = quantised(m, "x", {1, 4}, scale, zero), y = quantised(m, "y", {1, 4}, 0.25f, 0);
    m.op(Code::QUANTIZE, {x}, {y});
    return refusal(m.bytes({x}, {y})).message;
  };
  EXPECT_THAT(message(0.0f, 0), HasSubstr("scale of 0"));
  EXPECT_THAT(message(-1.0f, 0), HasSubstr("scale of -1"));
  EXPECT_THAT(message(std::nanf(""), 0), HasSubstr("scale of nan"));
  EXPECT_THAT(message(0.5f, 128), HasSubstr("zero point of 128"));
}

}  // namespace

}  // namespace saccade::import
