// Integers of 8 bits and floats of 16: rounding, saturation, exact sums, every field that can hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "known_values/executors.h"

namespace saccade::known {
namespace {

constexpr int kUint8 = 2, kInt8 = 3, kInt32 = 6, kFloat16 = 10;

void byte_constant(OnnxModel& m, const std::string& name, int type, const Shape& shape,
                   const Integers& values) {
  auto& t = m.initializer(name, type, shape);
  for (const std::int64_t v : values) t.add_int32_data(static_cast<std::int32_t>(v));
}

Tensor halves(const Shape& shape, float value) {
  Tensor t(DType::f16, shape);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<Half>()[i] = to_half(value);
  return t;
}

/// Half-precision values as little-endian bytes.
std::string half_bytes(const std::vector<float>& values) {
  std::string text;
  for (const float v : values) {
    const std::uint16_t bits = to_half(v).bits;
    text.append(reinterpret_cast<const char*>(&bits), 2);
  }
  return text;
}

TEST(KnownQuantisation, RoundsTiesToEvenAndSaturates) {
  const auto quantise = [](int type, std::int64_t zero) {
    OnnxModel m(13);
    m.input("x", DType::f32, {1, 6})
        .output("y", type == kUint8 ? DType::u8 : DType::i8)
        .floats("s", {}, {0.5f});
    byte_constant(m, "z", type, {}, {zero});
    m.node("QuantizeLinear", {"x", "s", "z"}, {"y"});
    return m;
  };
  const Tensor x = floats({1, 6}, {0.25f, 0.75f, 1.25f, 1.75f, -1, 200});
  expect(quantise(kUint8, 0), {x}, bytes({1, 6}, {0, 2, 2, 4, 0, 255}));
  expect(quantise(kInt8, 0), {x}, signed_bytes({1, 6}, {0, 2, 2, 4, -2, 127}));
  expect(quantise(kInt8, -100), {floats({1, 6}, {0.25f, 0.75f, 1.25f, 1.75f, -100, 200})},
         signed_bytes({1, 6}, {-100, -98, -98, -96, -128, 127}));
}

struct Filter {
  Shape shape;
  Integers weights;
  std::vector<float> scales;
  Integers zeros;
};

/// x·w with the scale and zero point of input and output; weights with theirs for each filter.
OnnxModel quantised_convolution(const Shape& in, float x_scale, std::int64_t x_zero, const Filter& w,
                                float y_scale, std::int64_t y_zero, const Integers& pads = {}) {
  OnnxModel m(13);
  m.input("x", DType::u8, in).output("y", DType::u8).floats("xs", {}, {x_scale}).floats("ys", {}, {y_scale});
  byte_constant(m, "xz", kUint8, {}, {x_zero});
  byte_constant(m, "yz", kUint8, {}, {y_zero});
  const int type = w.zeros[0] < 0 || (w.zeros[0] == 0) ? kInt8 : kUint8;
  byte_constant(m, "w", type, w.shape, w.weights);
  const Shape one_each = w.scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(w.scales.size())};
  m.floats("ws", one_each, w.scales);
  byte_constant(m, "wz", type, one_each, w.zeros);
  OnnxModel::Node node = m.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"});
  if (!pads.empty()) node.set("pads", pads);
  return m;
}

TEST(KnownQuantisation, ConvolutionSumsBeyondSixteenBits) {
  // 4 · 255 · 127 / 1000 = 129.54; pairs that saturate at 32767 would give 66.
  for (const Shape& taps : {Shape{1, 4, 1, 1}, Shape{1, 1, 2, 2}}) {
    const Shape in = taps[1] == 4 ? Shape{1, 4, 1, 1} : Shape{1, 1, 2, 2};
    expect(quantised_convolution(in, 0.001f, 0, {taps, Integers(4, 127), {1}, {0}}, 1, 0),
           {bytes(in, {255, 255, 255, 255})}, bytes({1, 1, 1, 1}, {130}));
  }
  // 64 channels, as a network has them.
  expect(quantised_convolution({1, 64, 1, 1}, 0.001f, 0,
                               {{2, 64, 1, 1}, Integers(128, 127), {0.1f, 0.05f}, {0, 0}}, 1, 0),
         {bytes({1, 64, 1, 1}, std::vector<std::uint8_t>(64, 255))}, bytes({1, 2, 1, 1}, {207, 104}));
}

TEST(KnownQuantisation, ConvolutionTakesAZeroPointAFilterAndPadsWithTheInputs) {
  const Filter filters{{2, 1, 2, 2}, Integers(8, 100), {0.02f, 0.02f}, {5, 90}};
  expect(quantised_convolution({1, 1, 3, 3}, 0.05f, 128, filters, 0.1f, 128),
         {bytes({1, 1, 3, 3}, std::vector<std::uint8_t>(9, 130))},
         bytes({1, 2, 2, 2}, {136, 136, 136, 136, 129, 129, 129, 129}));
  // Padding stands for 0, which is the zero point: a constant 128 stays 128 up to the edge.
  expect(quantised_convolution({1, 1, 2, 2}, 0.05f, 128, filters, 0.1f, 128, {1, 1, 0, 0}),
         {bytes({1, 1, 2, 2}, {128, 128, 128, 128})}, bytes({1, 2, 2, 2}, std::vector<std::uint8_t>(8, 128)));
}

/// One operator on halves of a size whose sum half precision cannot hold.
void expect_half(const std::string& op, const Shape& in, const Shape& out, float value,
                 const std::function<void(OnnxModel&, OnnxModel::Node&)>& more = {}, float input = 1) {
  SCOPED_TRACE(op);
  OnnxModel m(13);
  m.input("x", DType::f16, in).output("y", DType::f16);
  OnnxModel::Node node = m.node(op, {"x"}, {"y"});
  if (more) more(m, node);
  expect(m, {halves(in, input)}, halves(out, value));
}

TEST(KnownHalfPrecision, SumsAreKeptInSinglePrecisionOrBetter) {
  expect_half("ReduceMean", {1, 1, 512, 512}, {1, 1, 1, 1}, 1);
  expect_half("GlobalAveragePool", {1, 3, 512, 512}, {1, 3, 1, 1}, 1);
  expect_half("AveragePool", {1, 1, 64, 64}, {1, 1, 1, 1}, 1, [](OnnxModel&, OnnxModel::Node& n) {
    n.set("kernel_shape", Integers{64, 64});
  });
  // 4096 ones: sums of halves stop at 2048.
  expect_half("ReduceSum", {1, 4096}, {1, 1}, 4096);
  const auto ones = [](const Shape& shape) {
    return [shape](OnnxModel& m, OnnxModel::Node& n) {
      std::string data = half_bytes(std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1));
      m.initializer("w", kFloat16, shape).set_raw_data(data);
      n.proto.add_input("w");
    };
  };
  expect_half("Conv", {1, 4096, 1, 1}, {1, 2, 1, 1}, 4096, ones({2, 4096, 1, 1}));
  expect_half("Conv", {1, 1, 64, 64}, {1, 1, 1, 1}, 4096, ones({1, 1, 64, 64}));
  expect_half("MatMul", {1, 4096}, {1, 3}, 4096, ones({4096, 3}));
  expect_half("Gemm", {1, 4096}, {1, 3}, 4096, ones({4096, 3}));
  expect_half("Softmax", {1, 4096}, {1, 4096}, 1 / 4096.0f);
  // Squares beyond 65504 must not become infinite inside a norm.
  expect_half("ReduceL2", {1, 4}, {1, 1}, 2000, {}, 1000);
}

TEST(KnownHalfPrecision, NormalisingKeepsItsStatisticsExact) {
  // Mean 300 and variance 300² over 2048 elements: the sum of squares is beyond half precision's range.
  OnnxModel m(17);
  m.input("x", DType::f16, {1, 1, 2, 1024}).output("y", DType::f16);
  m.initializer("one", kFloat16, {1}).set_raw_data(half_bytes({1}));
  m.initializer("zero", kFloat16, {1}).set_raw_data(half_bytes({0}));
  m.node("InstanceNormalization", {"x", "one", "zero"}, {"y"});
  Tensor x = halves({1, 1, 2, 1024}, 0), y = halves({1, 1, 2, 1024}, -1);
  for (std::int64_t i = 0; i < 1024; ++i) {
    x.data<Half>()[2 * i] = to_half(600);
    y.data<Half>()[2 * i] = to_half(1);
  }
  expect(m, {x}, y, 1e-3);
}

/// y = x + w with w stored in one of the ways a tensor can be.
OnnxModel with_weights(DType dtype, const std::function<void(onnx::TensorProto&)>& store, int type = 0,
                       std::int64_t count = 3) {
  OnnxModel m(21, 10);
  m.input("x", DType::f32, {count}).output("y");
  store(m.initializer("w", type != 0 ? type : import::onnx_type(dtype), {count}));
  m.node("Cast", {"w"}, {"f"}).set("to", std::int64_t{1});
  m.node("Add", {"x", "f"}, {"y"});
  return m;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(KnownStorage, EveryTypeInEveryFieldThatMayHoldIt) {
  const Tensor x = floats({3}, {10, 20, 30}), y = floats({3}, {11, 22, 27});  // w = 1, 2, -3
  const auto in_int32 = [](const std::vector<std::int32_t>& values) {
    return [values](onnx::TensorProto& t) {
      for (const std::int32_t v : values) t.add_int32_data(v);
    };
  };
  const auto in_raw = [](const std::string& data) {
    return [data](onnx::TensorProto& t) { t.set_raw_data(data); };
  };
  const std::vector<std::int32_t> numbers = {1, 2, -3};
  expect(with_weights(DType::f32, in_raw(raw<float>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::f32,
                      [](onnx::TensorProto& t) {
                        for (const float v : {1.f, 2.f, -3.f}) t.add_float_data(v);
                      }),
         {x}, y);
  expect(with_weights(DType::f64, in_raw(raw<double>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::f64,
                      [](onnx::TensorProto& t) {
                        for (const double v : {1., 2., -3.}) t.add_double_data(v);
                      }),
         {x}, y);
  expect(with_weights(DType::f16, in_raw(half_bytes({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::f16, in_int32({0x3c00, 0x4000, 0xc200})), {x}, y);
  expect(with_weights(DType::bf16, in_raw(raw<std::uint16_t>({0x3f80, 0x4000, 0xc040}))), {x}, y);
  expect(with_weights(DType::bf16, in_int32({0x3f80, 0x4000, 0xc040})), {x}, y);
  expect(with_weights(DType::i8, in_raw(raw<std::int8_t>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::i8, in_int32(numbers)), {x}, y);
  expect(with_weights(DType::i16, in_raw(raw<std::int16_t>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::i16, in_int32(numbers)), {x}, y);
  expect(with_weights(DType::i32, in_raw(raw<std::int32_t>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::i32, in_int32(numbers)), {x}, y);
  expect(with_weights(DType::i64, in_raw(raw<std::int64_t>({1, 2, -3}))), {x}, y);
  expect(with_weights(DType::i64,
                      [](onnx::TensorProto& t) {
                        for (const int v : {1, 2, -3}) t.add_int64_data(v);
                      }),
         {x}, y);
  // Unsigned: 1, 2 and the largest that the float on the other side still tells apart.
  const Tensor up = floats({3}, {11, 22, 230});
  expect(with_weights(DType::u8, in_raw(raw<std::uint8_t>({1, 2, 200}))), {x}, up);
  expect(with_weights(DType::u8, in_int32({1, 2, 200})), {x}, up);
  expect(with_weights(DType::u16, in_raw(raw<std::uint16_t>({1, 2, 200}))), {x}, up);
  expect(with_weights(DType::u16, in_int32({1, 2, 200})), {x}, up);
  const auto in_uint64 = [](onnx::TensorProto& t) {
    for (const unsigned v : {1u, 2u, 200u}) t.add_uint64_data(v);
  };
  expect(with_weights(DType::u32, in_raw(raw<std::uint32_t>({1, 2, 200}))), {x}, up);
  expect(with_weights(DType::u32, in_uint64), {x}, up);
  expect(with_weights(DType::u64, in_raw(raw<std::uint64_t>({1, 2, 200}))), {x}, up);
  expect(with_weights(DType::u64, in_uint64), {x}, up);
  const Tensor flags = floats({3}, {11, 20, 31});
  expect(with_weights(DType::boolean, in_raw(std::string("\1\0\1", 3))), {x}, flags);
  expect(with_weights(DType::boolean, in_int32({1, 0, 1})), {x}, flags);
  // Four bits: two values a byte, the first in the low half; an odd count leaves the last half empty.
  constexpr int kUint4 = 21, kInt4 = 22;
  expect(with_weights(DType::i8, in_raw(std::string("\x21\x0d", 2)), kInt4), {x}, y);
  expect(with_weights(DType::i8, in_int32({0x21, 0x0d}), kInt4), {x}, y);
  expect(with_weights(DType::u8, in_raw(std::string("\x21\x0d", 2)), kUint4), {x}, floats({3}, {11, 22, 43}));
  expect(with_weights(DType::u8, in_int32({0x21, 0x0d}), kUint4), {x}, floats({3}, {11, 22, 43}));
}

TEST(KnownStorage, WeightsOfFewBitsWithAScale) {
  // Dequantised weights of a product, for each type that QDQ models store them in; scales for each column.
  constexpr int kUint4 = 21, kInt4 = 22, kUint16 = 4, kInt16 = 5;
  struct Case {
    int type;
    std::string data;
    std::int64_t zero;
    std::vector<float> w;
  };
  const Case cases[] = {{kInt8, raw<std::int8_t>({1, -2, 3, -4}), 0, {1, -2, 3, -4}},
                        {kUint8, raw<std::uint8_t>({1, 2, 3, 255}), 2, {-1, 0, 1, 253}},
                        {kInt16, raw<std::int16_t>({1, -2, 3, -300}), 0, {1, -2, 3, -300}},
                        {kUint16, raw<std::uint16_t>({1, 2, 3, 300}), 2, {-1, 0, 1, 298}},
                        {kInt4, std::string("\xe1\xc3", 2), 0, {1, -2, 3, -4}},
                        {kUint4, std::string("\xe1\xc3", 2), 2, {-1, 12, 1, 10}},
                        {kInt32, raw<std::int32_t>({1, -2, 3, -4}), 0, {1, -2, 3, -4}}};
  for (const Case& c : cases) {
    SCOPED_TRACE("type " + std::to_string(c.type));
    OnnxModel m(21, 10);
    m.input("x", DType::f32, {1, 2}).output("y").floats("s", {2}, {0.5f, 0.25f});
    m.initializer("w", c.type, {2, 2}).set_raw_data(c.data);
    std::vector<std::string> inputs = {"w", "s"};
    if (c.zero != 0) {
      const bool packed = c.type == kUint4;
      const auto zero = static_cast<std::int32_t>(c.zero);
      byte_constant(m, "z", c.type, {2}, packed ? Integers{zero | zero << 4} : Integers{zero, zero});
      inputs.push_back("z");
    }
    m.node("DequantizeLinear", inputs, {"f"}).set("axis", std::int64_t{1});
    m.node("MatMul", {"x", "f"}, {"y"});
    expect(m, {floats({1, 2}, {1, 10})},
           floats({1, 2}, {0.5f * (c.w[0] + 10 * c.w[2]), 0.25f * (c.w[1] + 10 * c.w[3])}));
  }
}

}  // namespace
}  // namespace saccade::known
