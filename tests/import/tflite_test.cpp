// What TFLite models become, and what malformed ones are refused for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "base/half.h"
#include "import/graph_builder.h"
#include "import/onnx_model.h"
#include "import/tflite_model.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Code = tflite::BuiltinOperator;
using Type = tflite::TensorType;
using Options = tflite::BuiltinOptions;
using Activation = tflite::Activation;
using Padding = tflite::Padding;
using Integers = std::vector<std::int64_t>;

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

const ir::Node& find(const Imported& imported, std::string_view op) {
  for (const ir::Node& node : imported.graph.nodes)
    if (node.op == op) return node;
  throw std::runtime_error("no such node");
}

std::string conv_model(Padding padding = Padding::SAME, Activation activation = Activation::RELU6) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 5, 6, 2}), y = m.tensor("y", {1, 3, 3, 4});
  const int w = m.floats("w", {4, 3, 3, 2}, counted(72)), b = m.floats("b", {4}, {1, 2, 3, 4});
  m.op(Code::CONV_2D, {x, w, b}, {y}, Options::Conv2DOptions,
       tflite::CreateConv2DOptions(m.builder(), padding, 2, 3, activation, 1, 2).Union());
  return m.bytes({x}, {y});
}

TEST(Tflite, ReadsAConvolution) {
  const Imported imported = read_bytes(conv_model());
  EXPECT_EQ(imported.format, "TFLite");
  EXPECT_EQ(imported.producer, "test model");
  EXPECT_EQ(operators(imported.graph), "Transpose Conv Clip Transpose");
  const ir::Node& conv = find(imported, "Conv");
  EXPECT_EQ(conv.text("auto_pad", ""), "same_upper");
  EXPECT_EQ(conv.integers("strides"), (Integers{3, 2}));
  EXPECT_EQ(conv.integers("dilations"), (Integers{2, 1}));
  const Tensor& w = *imported.graph.constant_input(conv, 1);
  EXPECT_EQ(w.shape(), (Shape{4, 2, 3, 3}));
  // Element (o=1, c=1, y=2, x=0) stood at ((1*3 + 2)*3 + 0)*2 + 1.
  EXPECT_FLOAT_EQ(w.values<float>()[((1 * 2 + 1) * 3 + 2) * 3 + 0], 31.0f);
  EXPECT_EQ(*imported.graph.value(imported.graph.inputs[0]).shape, (Shape{1, 5, 6, 2}));
  const ir::Value& output = imported.graph.value(imported.graph.outputs[0]);
  EXPECT_EQ(output.name, "y");
  EXPECT_EQ(*output.shape, (Shape{1, 3, 3, 4}));
  EXPECT_THAT(imported.foreign_ops, ElementsAre(std::pair<std::string, std::size_t>("CONV_2D", 1)));
}

TEST(Tflite, ReadsADepthwiseConvolution) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 5, 6, 2}), y = m.tensor("y", {1, 5, 6, 4});
  const int w = m.floats("w", {1, 3, 3, 4}, counted(36));
  m.op(Code::DEPTHWISE_CONV_2D, {x, w, -1}, {y}, Options::DepthwiseConv2DOptions,
       tflite::CreateDepthwiseConv2DOptions(m.builder(), Padding::VALID, 1, 1, 2).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  const ir::Node& conv = find(imported, "Conv");
  EXPECT_EQ(conv.integer("group", 0), 2);
  EXPECT_EQ(conv.text("auto_pad", ""), "valid");
  const Tensor& weights = *imported.graph.constant_input(conv, 1);
  EXPECT_EQ(weights.shape(), (Shape{4, 1, 3, 3}));
  EXPECT_FLOAT_EQ(weights.values<float>()[3 * 9 + 4], 4.0f * 4 + 3);
}

TEST(Tflite, KeepsOneFormBetweenSpatialOperators) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 4, 4, 3}), a = m.tensor("a", {1, 2, 2, 3}), b = m.tensor("b", {1, 2, 2, 3});
  const int c = m.tensor("c", {1, 2, 2, 6}), d = m.tensor("d", {1, 1, 1, 6}), e = m.tensor("e", {1, 2, 2, 6});
  const int slope = m.floats("slope", {3}, {1, 2, 3}), axes = m.integers("axes", {2}, {1, 2});
  const auto pool =
      tflite::CreatePool2DOptions(m.builder(), Padding::VALID, 2, 2, 2, 2, Activation::NONE).Union();
  m.op(Code::AVERAGE_POOL_2D, {x}, {a}, Options::Pool2DOptions, pool);
  m.op(Code::PRELU, {a, slope}, {b});
  m.op(Code::CONCATENATION, {a, b}, {c}, Options::ConcatenationOptions,
       tflite::CreateConcatenationOptions(m.builder(), -1).Union());
  m.op(Code::MEAN, {c, axes}, {d}, Options::ReducerOptions,
       tflite::CreateReducerOptions(m.builder(), true).Union());
  m.op(Code::MUL, {c, d}, {e}, Options::MulOptions, tflite::CreateMulOptions(m.builder()).Union());
  const Imported imported = read_bytes(m.bytes({x}, {e}));
  EXPECT_EQ(operators(imported.graph), "Transpose AveragePool PRelu Concat ReduceMean Mul Transpose");
  EXPECT_EQ(find(imported, "Concat").integer("axis", -9), 1);
  EXPECT_EQ(to_integers(*imported.graph.constant_input(find(imported, "ReduceMean"), 1)), (Integers{2, 3}));
  EXPECT_EQ(imported.graph.constant_input(find(imported, "PRelu"), 1)->shape(), (Shape{1, 3, 1, 1}));
}

TEST(Tflite, FoldsHalfPrecisionWeights) {
  TfliteModel m;
  const std::vector<std::uint8_t> halves = {0x00, 0x3e, 0x00, 0xc0};  // 1.5, -2
  const int w = m.raw("w16", {2}, Type::FLOAT16, halves), wide = m.tensor("w", {2}),
            x = m.tensor("x", {1, 2}), y = m.tensor("y", {1, 2});
  m.op(Code::DEQUANTIZE, {w}, {wide});
  m.op(Code::ADD, {x, wide}, {y}, Options::AddOptions,
       tflite::CreateAddOptions(m.builder(), Activation::RELU).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  EXPECT_EQ(operators(imported.graph), "Add Relu");
  const Tensor& constant = *imported.graph.constant_input(find(imported, "Add"), 1);
  EXPECT_THAT(constant.values<float>(), ElementsAre(1.5f, -2.0f));
}

TEST(Tflite, FoldsSmallTablesOfIntegers) {
  TfliteModel m;
  const int w = m.raw("w8", {2, 1, 2}, Type::INT8, {1, 2, 0xff, 4}, {0.5f, 2.0f}, {0, 1}, 0),
            x = m.tensor("x", {2, 1, 2}), y = m.tensor("y", {2, 1, 2});
  m.op(Code::ADD, {x, w}, {y}, Options::AddOptions, tflite::CreateAddOptions(m.builder()).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  EXPECT_THAT(imported.graph.constant_input(find(imported, "Add"), 1)->values<float>(),
              ElementsAre(0.5f, 1.0f, -4.0f, 6.0f));
}

/// Pads of a transposed convolution from width 3 with a kernel of 3 and stride 2 to the given width.
Integers transposed_pads(int width, std::vector<std::int64_t>* extra = nullptr) {
  TfliteModel m;
  const int size = m.integers("size", {4}, {1, 1, width, 1}), x = m.tensor("x", {1, 1, 3, 1}),
            y = m.tensor("y", {1, 1, width, 1});
  const int w = m.floats("w", {1, 1, 3, 1}, {1, 10, 100});
  m.op(Code::TRANSPOSE_CONV, {size, w, x}, {y}, Options::TransposeConvOptions,
       tflite::CreateTransposeConvOptions(m.builder(), Padding::SAME, 2, 1).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  const ir::Node& node = find(imported, "ConvTranspose");
  if (extra != nullptr) *extra = node.integers("output_padding");
  return node.integers("pads");
}

TEST(Tflite, TakesTheSizeOfATransposedConvolutionFromItsInput) {
  EXPECT_EQ(transposed_pads(7), (Integers{0, 0, 0, 0}));
  EXPECT_EQ(transposed_pads(6), (Integers{0, 0, 0, 1}));
  EXPECT_EQ(transposed_pads(5), (Integers{0, 1, 0, 1}));
  std::vector<std::int64_t> extra;
  EXPECT_EQ(transposed_pads(8, &extra), (Integers{0, 0, 0, 0}));
  EXPECT_EQ(extra, (Integers{0, 1}));
}

Imported transposed_bias(int padding, int width, int kernel, int stride) {
  TfliteModel m;
  const int x = m.tensor("x", {1, width, width, 1}), y = m.tensor("y", {1, 1, 1, 1});
  const int w = m.floats("w", {1, kernel, kernel, 1}, counted(static_cast<std::size_t>(kernel * kernel))),
            b = m.floats("b", {1}, {5});
  std::vector<std::uint8_t> options(12);
  const std::int32_t fields[3] = {padding, stride, stride};
  std::memcpy(options.data(), fields, 12);
  m.custom("Convolution2DTransposeBias", {x, w, b}, {y}, options);
  return read_bytes(m.bytes({x}, {y}));
}

TEST(Tflite, ReadsTheTransposedConvolutionWithBias) {
  const Imported odd = transposed_bias(1, 3, 3, 2);
  EXPECT_EQ(find(odd, "ConvTranspose").integers("pads"), (Integers{1, 1, 1, 1}));
  EXPECT_TRUE(find(odd, "ConvTranspose").has_input(2));
  EXPECT_EQ(find(transposed_bias(1, 128, 2, 2), "ConvTranspose").integers("pads"), (Integers{0, 0, 0, 0}));
  EXPECT_EQ(find(transposed_bias(2, 3, 3, 2), "ConvTranspose").integers("pads"), (Integers{0, 0, 0, 0}));
  EXPECT_THROW(transposed_bias(0, 3, 3, 2), Error);
  EXPECT_THROW(transposed_bias(1, 3, 3, 0), Error);
}

TEST(Tflite, MapsResizeModes) {
  const auto resize = [](bool nearest, bool align, bool half) {
    TfliteModel m;
    const int x = m.tensor("x", {1, 2, 2, 1}), y = m.tensor("y", {1, 4, 4, 1}),
              size = m.integers("size", {2}, {4, 4});
    if (nearest)
      m.op(Code::RESIZE_NEAREST_NEIGHBOR, {x, size}, {y}, Options::ResizeNearestNeighborOptions,
           tflite::CreateResizeNearestNeighborOptions(m.builder(), align, half).Union());
    else
      m.op(Code::RESIZE_BILINEAR, {x, size}, {y}, Options::ResizeBilinearOptions,
           tflite::CreateResizeBilinearOptions(m.builder(), 0, 0, align, half).Union());
    const Imported imported = read_bytes(m.bytes({x}, {y}));
    const ir::Node& node = find(imported, "Resize");
    EXPECT_EQ(node.integers("axes"), (Integers{2, 3}));
    EXPECT_EQ(to_integers(*imported.graph.constant_input(node, 3)), (Integers{4, 4}));
    return node.text("mode", "") + " " + node.text("coordinate_transformation", "") +
           (nearest ? " " + node.text("nearest_mode", "") : "");
  };
  EXPECT_EQ(resize(false, false, false), "linear asymmetric");
  EXPECT_EQ(resize(false, true, false), "linear align_corners");
  EXPECT_EQ(resize(false, false, true), "linear half_pixel");
  EXPECT_EQ(resize(true, false, false), "nearest asymmetric floor");
  EXPECT_EQ(resize(true, true, false), "nearest align_corners round_prefer_ceil");
  EXPECT_EQ(resize(true, false, true), "nearest tf_half_pixel_for_nn floor");
}

TEST(Tflite, MapsPadsAndSlices) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 4, 6}), p = m.tensor("p", {1, 6, 7}), y = m.tensor("y", {6, 3});
  const int pads = m.integers("pads", {3, 2}, {0, 0, 1, 1, 1, 0});
  const int begin = m.integers("begin", {3}, {0, 1, 5}), end = m.integers("end", {3}, {1, 9, 9}),
            step = m.integers("step", {3}, {1, 1, -2});
  m.op(Code::PAD, {x, pads}, {p});
  m.op(Code::STRIDED_SLICE, {p, begin, end, step}, {y}, Options::StridedSliceOptions,
       tflite::CreateStridedSliceOptions(m.builder(), 2, 4, 0, 0, 1).Union());
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  EXPECT_EQ(operators(imported.graph), "Pad Slice Squeeze");
  EXPECT_EQ(to_integers(*imported.graph.constant_input(find(imported, "Pad"), 1)),
            (Integers{0, 1, 1, 0, 1, 0}));
  const ir::Node& slice = find(imported, "Slice");
  EXPECT_EQ(to_integers(*imported.graph.constant_input(slice, 1)), (Integers{0, 0, 5}));
  EXPECT_EQ(to_integers(*imported.graph.constant_input(slice, 2)),
            (Integers{1, 9, -std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(to_integers(*imported.graph.constant_input(slice, 4)), (Integers{1, 1, -2}));
  EXPECT_EQ(to_integers(*imported.graph.constant_input(find(imported, "Squeeze"), 1)), Integers{0});
}

TEST(Tflite, ListsEverythingThatIsMissing) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 4}), a = m.tensor("a", {1, 4}), b = m.tensor("b", {1, 4}),
            c = m.tensor("c", {1, 4}, Type::INT8), y = m.tensor("y", {1, 4});
  m.set_quantised(c, {0.5f}, {0});
  m.op(Code::LSTM, {x}, {a});
  m.custom("Mystery", {a}, {b}, {});
  m.op(Code::CAST, {b}, {c});
  m.op(Code::RELU, {c}, {y});
  const Imported imported = read_bytes(m.bytes({x}, {y}));
  ASSERT_EQ(imported.missing.size(), 3u);
  EXPECT_EQ(imported.missing[0].op, "TFLite LSTM");
  EXPECT_EQ(imported.missing[1].op, "TFLite custom 'Mystery'");
  EXPECT_THAT(imported.missing[2].reason, HasSubstr("quantised"));
}

TEST(Tflite, SkipsWhatIsAppended) {
  const Imported imported = read_bytes(conv_model() + "PK\x03\x04 labels and so on");
  EXPECT_EQ(operators(imported.graph), "Transpose Conv Clip Transpose");
}

TEST(Tflite, ReadsFromAnyAddress) {
  const std::string model = conv_model();
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<std::byte> memory(model.size() + 32);
    std::memcpy(memory.data() + shift, model.data(), model.size());
    const Imported imported =
        read_model(std::span<const std::byte>(memory).subspan(shift, model.size()), nullptr, {}, {});
    EXPECT_EQ(imported.graph.nodes.size(), 4u);
  }
}

TEST(TfliteErrors, RefusesEveryPrefix) {
  const std::string whole = conv_model();
  // The last bytes may be padding that nothing points at.
  for (std::size_t n = 0; n + 16 < whole.size(); ++n) EXPECT_NE(refusal(whole.substr(0, n)).message, "") << n;
  for (std::size_t n = whole.size() - 16; n < whole.size(); ++n) refusal(whole.substr(0, n));
  EXPECT_THAT(refusal(std::string("\x18\0\0\0TFL3", 8)).message, HasSubstr("damaged or cut short"));
}

TEST(TfliteErrors, SurvivesChangedBytes) {
  const std::string whole = conv_model();
  std::mt19937 random(2);
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = whole;
    for (unsigned k = 0; k < 1 + random() % 3; ++k)
      bytes[8 + random() % (bytes.size() - 8)] = static_cast<char>(random());
    refused += refusal(bytes).message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

TEST(TfliteErrors, RefusesIndicesOutOfRange) {
  const auto relu = [](int from, int to, std::vector<int> inputs, std::vector<int> outputs) {
    TfliteModel m;
    m.tensor("x", {1});
    m.tensor("y", {1});
    m.op(Code::RELU, {from}, {to});
    return refusal(m.bytes(inputs, outputs)).message;
  };
  EXPECT_EQ(relu(0, 1, {0}, {1}), "");
  EXPECT_THAT(relu(9999, 1, {0}, {1}), HasSubstr("tensor 9999 of 2"));
  EXPECT_THAT(relu(0, 9999, {0}, {1}), HasSubstr("tensor 9999 of 2"));
  EXPECT_THAT(relu(-2, 1, {0}, {1}), HasSubstr("tensor -2"));
  EXPECT_THAT(relu(0, 1, {9999}, {1}), HasSubstr("tensor 9999"));
  EXPECT_THAT(relu(0, 1, {0}, {9999}), HasSubstr("tensor 9999"));
  EXPECT_THAT(relu(1, 1, {0}, {1}), HasSubstr("before it is computed"));
  EXPECT_THAT(relu(0, 0, {0}, {0}), HasSubstr("already made"));
  EXPECT_THAT(relu(0, 1, {0}, {}), HasSubstr("no outputs"));
}

TEST(TfliteErrors, RefusesConstantsOfAnotherSize) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 3}), w = m.floats("w", {1, 4}, {1, 2, 3});
  m.op(Code::ADD, {x, w}, {y}, Options::AddOptions, tflite::CreateAddOptions(m.builder()).Union());
  EXPECT_THAT(refusal(m.bytes({x}, {y})).message, HasSubstr("tensor 'w': has 12 bytes of data, expected 16"));
}

TEST(TfliteErrors, ListsAConstantOutputOfAnUnknownType) {
  TfliteModel m;
  const int x = m.tensor("x", {1}), y = m.tensor("y", {1});
  const int c = m.raw("c", {1}, Type::COMPLEX64, std::vector<std::uint8_t>(8, 0));
  m.op(Code::RELU, {x}, {y});
  const Imported imported = read_bytes(m.bytes({x}, {y, c}));
  ASSERT_EQ(imported.missing.size(), 1u);
  EXPECT_THAT(imported.missing[0].reason, HasSubstr("COMPLEX64"));
}

TEST(TfliteErrors, KeepsToTheLimits) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 3}), z = m.tensor("z", {1, 3});
  const int v = m.floats("v", {1, 3}, {1, 2, 3}), w = m.floats("w", {1, 3}, {4, 5, 6});
  m.op(Code::ADD, {x, v}, {y}, Options::AddOptions, tflite::CreateAddOptions(m.builder()).Union());
  m.op(Code::ADD, {y, w}, {z}, Options::AddOptions, tflite::CreateAddOptions(m.builder()).Union());
  const std::string bytes = m.bytes({x}, {z});
  const auto with = [&](std::int64_t LoadLimits::*limit, std::int64_t value) {
    LoadLimits limits;
    limits.*limit = value;
    return refusal(bytes, {}, limits).message;
  };
  EXPECT_EQ(with(&LoadLimits::max_nodes, 2), "");
  EXPECT_THAT(with(&LoadLimits::max_nodes, 1), HasSubstr("2 operators, at most 1"));
  EXPECT_THAT(with(&LoadLimits::max_rank, 1), HasSubstr("2 dimensions, at most 1"));
  EXPECT_THAT(with(&LoadLimits::max_tensor_bytes, 11), HasSubstr("12 bytes, at most 11"));
  EXPECT_EQ(with(&LoadLimits::max_total_bytes, 24), "");
  EXPECT_THAT(with(&LoadLimits::max_total_bytes, 23), HasSubstr("more than 23 bytes"));
}

TEST(TfliteErrors, RefusesOptionsOfAnotherOperator) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 3});
  m.op(Code::ADD, {x, x}, {y}, Options::MulOptions, tflite::CreateMulOptions(m.builder()).Union());
  EXPECT_THAT(refusal(m.bytes({x}, {y})).message, HasSubstr("options"));
}

}  // namespace

}  // namespace saccade::import
