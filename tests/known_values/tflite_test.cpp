// TFLite: sizes of transposed convolutions, fused activations of integers, weights of every kind.
#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "import/tflite_model.h"
#include "known_values/executors.h"
#include "runtime/real_ends.h"

namespace saccade::known {
namespace {

using import::TfliteModel;
using Code = tflite::BuiltinOperator;
using Options = tflite::BuiltinOptions;
using Type = tflite::TensorType;

template <class T>
std::vector<std::uint8_t> raw(const std::vector<T>& values) {
  std::vector<std::uint8_t> data(values.size() * sizeof(T));
  std::memcpy(data.data(), values.data(), data.size());
  return data;
}

/// Channels last: (1, 1, W, C), channel c of `row` multiplied by 1 + c % 3.
Tensor widened_last(const std::vector<float>& row, std::int64_t channels) {
  Tensor t(DType::f32, {1, 1, static_cast<std::int64_t>(row.size()), channels});
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::int64_t c = 0; c < channels; ++c)
      t.data<float>()[static_cast<std::int64_t>(i) * channels + c] = row[i] * static_cast<float>(1 + c % 3);
  return t;
}

/// (O, 1, 3, I) with 1, 10, 100 from each channel to itself.
std::vector<float> diagonal(int channels) {
  std::vector<float> w;
  for (int o = 0; o < channels; ++o)
    for (const float tap : {1.0f, 10.0f, 100.0f})
      for (int i = 0; i < channels; ++i) w.push_back(i == o ? tap : 0.0f);
  return w;
}

TEST(KnownTflite, TransposedConvolutionTakesItsSizeFromAnInput) {
  const auto model = [](int channels, int width) {
    TfliteModel m;
    const int size = m.integers("size", {4}, {1, 1, width, channels}), x = m.tensor("x", {1, 1, 3, channels}),
              y = m.tensor("y", {1, 1, width, channels});
    const int w = m.floats("w", {channels, 1, 3, channels}, diagonal(channels));
    m.op(Code::TRANSPOSE_CONV, {size, w, x}, {y}, Options::TransposeConvOptions,
         tflite::CreateTransposeConvOptions(m.builder(), tflite::Padding::SAME, 2, 1).Union());
    return m.bytes({x}, {y});
  };
  for (const std::int64_t c : kChannels) {
    const int channels = static_cast<int>(c);
    const Tensor x = widened_last({1, 2, 3}, c);
    expect(model(channels, 6), {x}, widened_last({1, 10, 102, 20, 203, 30}, c));
    expect(model(channels, 5), {x}, widened_last({10, 102, 20, 203, 30}, c));
  }
}

TEST(KnownTflite, TransposedConvolutionWithBiasIsFiveWide) {
  for (const std::int64_t c : kChannels) {
    const int channels = static_cast<int>(c);
    TfliteModel m;
    const int x = m.tensor("x", {1, 1, 3, channels}), y = m.tensor("y", {1, 1, 5, channels});
    const int w = m.floats("w", {channels, 1, 3, channels}, diagonal(channels));
    std::vector<float> bias;
    for (int i = 0; i < channels; ++i) bias.push_back(5.0f * static_cast<float>(1 + i % 3));
    const int b = m.floats("b", {channels}, bias);
    m.custom("Convolution2DTransposeBias", {x, w, b}, {y}, raw<std::int32_t>({1, 2, 2}));
    expect(m.bytes({x}, {y}), {widened_last({1, 2, 3}, c)}, widened_last({15, 107, 25, 208, 35}, c));
  }
}

int quantised(TfliteModel& m, const std::string& name, const std::vector<int>& shape, float scale,
              std::int64_t zero) {
  const int index = m.tensor(name, shape, Type::INT8);
  m.set_quantised(index, {scale}, {zero});
  return index;
}

/// A 1x1 convolution with ReLU6 between integers: scale 0.05 and zero point -10 clamp to [-10, 110].
std::string clamped_convolution() {
  TfliteModel m;
  const int x = quantised(m, "x", {1, 1, 4, 1}, 0.1f, 3), y = quantised(m, "y", {1, 1, 4, 1}, 0.05f, -10);
  const int w = m.raw("w", {1, 1, 1, 1}, Type::INT8, raw<std::int8_t>({100}), {0.01f}, {0});
  const int b = m.raw("b", {1}, Type::INT32, raw<std::int32_t>({0}), {0.001f}, {0});
  m.op(Code::CONV_2D, {x, w, b}, {y}, Options::Conv2DOptions,
       tflite::CreateConv2DOptions(m.builder(), tflite::Padding::SAME, 1, 1, tflite::Activation::RELU6)
           .Union());
  return m.bytes({x}, {y});
}

TEST(KnownTflite, FusedActivationsClampInIntegers) {
  // -50, 0, 13 and 124 steps of 0.1, in steps of 0.05 from -10.
  expect(clamped_convolution(), {signed_bytes({1, 1, 4, 1}, {-47, 3, 16, 127})},
         signed_bytes({1, 1, 4, 1}, {-10, -10, 16, 110}));
}

TEST(KnownTflite, QuantisedEndsTakeAndGiveRealNumbers) {
  const Model model = runtime::with_real_ends(imported(clamped_convolution()));
  for (const Executor& executor : executors()) {
    SCOPED_TRACE(executor.name);
    const Tensor y = executor.run(model, {floats({1, 1, 4, 1}, {-5, 0, 1.3f, 99})}).at(0);
    ASSERT_EQ(y.dtype(), DType::f32);
    const float want[] = {0, 0, 1.3f, 6};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(y.data<float>()[i], want[i], 1e-5f);
  }
}

/// y = x·w for one row of weights stored in some way.
struct Stored {
  TfliteModel m;
  int x = m.tensor("x", {1, 4}), y = m.tensor("y", {1, 2});
  std::string product(int w) {
    m.op(Code::FULLY_CONNECTED, {x, w, -1}, {y}, Options::FullyConnectedOptions,
         tflite::CreateFullyConnectedOptions(m.builder()).Union());
    return m.bytes({x}, {y});
  }
};

const std::vector<float> kRow = {1, 10, 100, 1000};

TEST(KnownTflite, WeightsOfHalfPrecisionAreWidened) {
  Stored s;
  std::vector<std::uint16_t> halves;
  for (const float v : {1.0f, -2.0f, 0.5f, 0.0f, 3.0f, 0.25f, -1.0f, 2.0f}) halves.push_back(to_half(v).bits);
  const int h = s.m.raw("h", {2, 4}, Type::FLOAT16, raw(halves)), w = s.m.tensor("w", {2, 4});
  s.m.op(Code::DEQUANTIZE, {h}, {w});
  expect(s.product(w), {floats({1, 4}, kRow)}, floats({1, 2}, {31, 1905.5f}));
}

TEST(KnownTflite, WeightsOfIntegersHaveAScaleForAllOrForEachRow) {
  const std::vector<std::int8_t> numbers = {1, -2, 3, 0, 127, -128, 5, 1};
  Stored whole;
  expect(whole.product(whole.m.raw("w", {2, 4}, Type::INT8, raw(numbers), {0.5f}, {0})),
         {floats({1, 4}, kRow)}, floats({1, 2}, {140.5f, 173.5f}));
  Stored rows;
  expect(rows.product(rows.m.raw("w", {2, 4}, Type::INT8, raw(numbers), {0.5f, 0.25f}, {0, 0}, 0)),
         {floats({1, 4}, kRow)}, floats({1, 2}, {140.5f, 86.75f}));
  Stored unsigned_bytes;
  expect(unsigned_bytes.product(
             unsigned_bytes.m.raw("w", {2, 4}, Type::UINT8,
                                  raw<std::uint8_t>({129, 126, 131, 128, 255, 0, 133, 129}), {0.5f}, {128})),
         {floats({1, 4}, kRow)}, floats({1, 2}, {140.5f, 173.5f}));
  Stored four_bits;
  expect(four_bits.product(four_bits.m.raw("w", {2, 4}, Type::INT4, {0xe1, 0x03, 0x87, 0x15}, {0.5f}, {0})),
         {floats({1, 4}, kRow)}, floats({1, 2}, {140.5f, 713.5f}));
}

/// (2, 4) with elements at (0, 0), (0, 3) and (1, 1) stored.
void make_sparse(TfliteModel& m, int tensor) {
  const std::vector<int> order = {0, 1}, segments = {0, 2, 3}, indices = {0, 3, 1};
  const auto starts = tflite::CreateInt32VectorDirect(m.builder(), &segments).Union();
  const auto columns = tflite::CreateInt32VectorDirect(m.builder(), &indices).Union();
  const std::vector<flatbuffers::Offset<tflite::DimensionMetadata>> levels = {
      tflite::CreateDimensionMetadata(m.builder(), tflite::DimensionFormat::DENSE, 2),
      tflite::CreateDimensionMetadata(m.builder(), tflite::DimensionFormat::SPARSE_CSR, 0,
                                      tflite::SparseIndexVector::Int32Vector, starts,
                                      tflite::SparseIndexVector::Int32Vector, columns)};
  m.set_sparse(tensor, tflite::CreateSparsityParametersDirect(m.builder(), &order, nullptr, &levels));
}

TEST(KnownTflite, SparseWeightsOfHalfPrecisionAndIntegers) {
  Stored half;
  const int h = half.m.raw("h", {2, 4}, Type::FLOAT16,
                           raw<std::uint16_t>({to_half(1).bits, to_half(-2).bits, to_half(0.5f).bits}));
  make_sparse(half.m, h);
  const int d = half.m.tensor("d", {2, 4}, Type::FLOAT16), w = half.m.tensor("w", {2, 4});
  half.m.op(Code::DENSIFY, {h}, {d});
  half.m.op(Code::DEQUANTIZE, {d}, {w});
  expect(half.product(w), {floats({1, 4}, kRow)}, floats({1, 2}, {-1999, 5}));

  Stored bytes;
  const int q = bytes.m.raw("q", {2, 4}, Type::INT8, raw<std::int8_t>({10, -20, 127}), {0.5f}, {0});
  make_sparse(bytes.m, q);
  const int e = bytes.m.tensor("e", {2, 4}, Type::INT8);
  bytes.m.set_quantised(e, {0.5f}, {0});
  bytes.m.op(Code::DENSIFY, {q}, {e});
  expect(bytes.product(e), {floats({1, 4}, kRow)}, floats({1, 2}, {-9995, 635}));
}

TEST(KnownTflite, WeightsWithAScaleForEachChannelOfAGroup) {
  // Depthwise: scales lie along the last dimension.
  TfliteModel m;
  const int x = m.tensor("x", {1, 1, 1, 3}), y = m.tensor("y", {1, 1, 1, 3});
  const int w = m.raw("w", {1, 1, 1, 3}, Type::INT8, raw<std::int8_t>({10, 20, -30}), {0.5f, 0.25f, 2},
                      {0, 0, 0}, 3),
            b = m.floats("b", {3}, {0, 0, 1});
  m.op(Code::DEPTHWISE_CONV_2D, {x, w, b}, {y}, Options::DepthwiseConv2DOptions,
       tflite::CreateDepthwiseConv2DOptions(m.builder(), tflite::Padding::VALID, 1, 1, 1).Union());
  expect(m.bytes({x}, {y}), {floats({1, 1, 1, 3}, {1, 2, 3})}, floats({1, 1, 1, 3}, {5, 10, -179}));
}

}  // namespace
}  // namespace saccade::known
