#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/real_ends.h"
#include "saccade/error.h"

namespace saccade {
namespace {

using testing::GraphMaker;

Model open_model() {
  GraphMaker m;
  const auto x = m.input("x", {-1, 3, -1, 8});
  m.graph.value(x).dim_names = {"N", "", "height", ""};
  m.graph.outputs = {m.node("Relu", {x})};
  return runtime::make_model(m.graph);
}

std::string message_of(const Model& model, const CompileOptions& options) {
  try {
    model.compile(cpu::target(), options);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Model, OpenDimensionsAreNamed) {
  const Model model = open_model();
  EXPECT_NE(message_of(model, {}).find("dimension 2 ('height')"), std::string::npos) << message_of(model, {});
  CompileOptions options;
  options.input_shapes = {{"x", {-1, 3, 6, 8}}};
  EXPECT_EQ(model.compile(cpu::target(), options).inputs()[0].shape, (Shape{1, 3, 6, 8}));
  options.batch = 5;
  EXPECT_EQ(model.compile(cpu::target(), options).outputs()[0].shape, (Shape{5, 3, 6, 8}));
}

TEST(Model, QuantisedEndsBecomeReal) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4}, DType::i8);
  const auto point = [&](std::int8_t v) {
    return m.graph.add_constant("z", Tensor::of<std::int8_t>({}, {v}));
  };
  const auto real = m.node("DequantizeLinear", {x, m.scalar(0.5f), point(10)});
  m.graph.outputs = {m.node("QuantizeLinear", {m.node("Relu", {real}), m.scalar(0.25f), point(-128)})};
  m.graph.value(m.graph.outputs[0]).name = "y";
  const Model model = runtime::with_real_ends(runtime::make_model(m.graph));
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].dtype, DType::f32);
  EXPECT_EQ(model.outputs()[0].name, "y");
  EXPECT_EQ(model.outputs()[0].dtype, DType::f32);
  const Tensor in = Tensor::of<float>({1, 4}, {0.6f, -3, 7.2f, 1000});
  for (const Tensor& y : {model.interpret(std::span(&in, 1))[0],
                          model.compile(cpu::target(), {}).make_context({1}).run(std::span(&in, 1))[0]}) {
    EXPECT_EQ(y.data<float>()[0], 0.5f);
    EXPECT_EQ(y.data<float>()[1], 0.0f);
    EXPECT_EQ(y.data<float>()[2], 7.0f);
    EXPECT_EQ(y.data<float>()[3], 58.5f);  // 127 is the largest: (127 - 10) / 2
  }
  const Model plain = open_model();
  EXPECT_EQ(&runtime::with_real_ends(plain).impl(), &plain.impl());
}

TEST(Model, EndsOfOtherTypesBecomeReal) {
  const auto through = [](DType in, DType out) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4}, in);
    const auto y = m.node("Cast", {x}, {{"to", std::string(dtype_name(out))}});
    m.graph.value(y).name = "y";
    m.graph.value(y).dtype = out;
    m.graph.outputs = {y};
    const Model model = runtime::with_real_ends(runtime::make_model(m.graph));
    EXPECT_EQ(model.inputs()[0].name, "x");
    EXPECT_EQ(model.inputs()[0].dtype, DType::f32);
    EXPECT_EQ(model.outputs()[0].name, "y");
    const Tensor given = Tensor::of<float>({1, 4}, {0.25f, 1.6f, 3, 254.5f});
    const Tensor planned = model.compile(cpu::target(), {}).make_context().run(std::span(&given, 1))[0];
    const Tensor reference = model.interpret(std::span(&given, 1))[0];
    EXPECT_EQ(planned.dtype(), model.outputs()[0].dtype);
    // Halves are computed with as floats, and not rounded in between.
    if (in == DType::f16 || in == DType::bf16)
      for (std::int64_t i = 0; i < planned.count(); ++i)
        EXPECT_NEAR(planned.data<float>()[i], reference.data<float>()[i], given.data<float>()[i] / 256);
    else
      EXPECT_EQ(std::memcmp(planned.raw(), reference.raw(), planned.bytes()), 0);
    return planned;
  };
  for (const DType real : {DType::f16, DType::f64}) {
    const Tensor y = through(real, real);
    ASSERT_EQ(y.dtype(), DType::f32);
    EXPECT_EQ(y.data<float>()[0], 0.25f);
    EXPECT_EQ(y.data<float>()[3], 254.5f);
  }
  EXPECT_EQ(through(DType::bf16, DType::bf16).data<float>()[2], 3);
  const Tensor bytes = through(DType::u8, DType::u8);
  ASSERT_EQ(bytes.dtype(), DType::u8);
  EXPECT_EQ(std::vector<int>(bytes.values<std::uint8_t>().begin(), bytes.values<std::uint8_t>().end()),
            (std::vector<int>{0, 2, 3, 254}));  // rounded, ties to even
  for (const DType map : {DType::boolean, DType::i8, DType::u16}) {
    const Tensor y = through(DType::f32, map);
    ASSERT_EQ(y.dtype(), DType::i32);
    EXPECT_EQ(y.data<std::int32_t>()[1], 1);
  }
}

TEST(Model, UnknownInputNamesTheOnesThereAre) {
  CompileOptions options;
  options.input_shapes = {{"y", {1, 3, 6, 8}}};
  EXPECT_NE(message_of(open_model(), options).find("its inputs are 'x'"), std::string::npos);
}

TEST(Model, FixedDimensionsCannotChange) {
  CompileOptions options;
  options.input_shapes = {{"x", {1, 4, 6, 8}}};
  EXPECT_NE(message_of(open_model(), options).find("expected shape ?x3x?x8, got 1x4x6x8"), std::string::npos)
      << message_of(open_model(), options);
}

TEST(Model, PlansAreShared) {
  const Model model = open_model();
  CompileOptions small, large;
  small.input_shapes = {{"x", {1, 3, 6, 8}}};
  large.input_shapes = {{"x", {1, 3, 60, 8}}};
  const Plan a = model.compile(cpu::target(), small);
  const Plan b = model.compile(cpu::target(), large);
  EXPECT_NE(&a.impl(), &b.impl());
  EXPECT_EQ(&a.impl(), &model.compile(cpu::target(), small).impl());
  small.disabled_passes = {"fuse_elementwise"};
  EXPECT_NE(&a.impl(), &model.compile(cpu::target(), small).impl());
}

TEST(Model, PrecisionsWithoutKernelsOrPicturesAreRefused) {
  CompileOptions options;
  options.input_shapes = {{"x", {1, 3, 6, 8}}};
  options.precision = Precision::fp16;
  EXPECT_NE(message_of(open_model(), options).find("precision fp16: there are no kernels"),
            std::string::npos);
  for (const Precision precision : {Precision::int8, Precision::automatic}) {
    options.precision = precision;
    EXPECT_NE(message_of(open_model(), options).find("needs pictures"), std::string::npos);
  }
}

TEST(Model, LayersInSinglePrecisionMakeAnotherPlan) {
  const Model model = open_model();
  CompileOptions options;
  options.input_shapes = {{"x", {1, 3, 6, 8}}};
  const Plan a = model.compile(cpu::target(), options);
  EXPECT_EQ(a.impl().precision, Precision::fp32);
  options.fp32_layers = {"conv"};
  EXPECT_NE(&a.impl(), &model.compile(cpu::target(), options).impl());
}

TEST(Model, SizesOneAfterTheOther) {
  const Model model = open_model();
  for (const std::int64_t height : {2, 9, 2}) {
    CompileOptions options;
    options.input_shapes = {{"x", {1, 3, height, 8}}};
    Tensor x = Tensor::zeros(DType::f32, {1, 3, height, 8});
    x.data<float>()[height] = 2;
    const std::vector<Tensor> y =
        model.compile(cpu::target(), options).make_context().run(std::vector<Tensor>{x});
    EXPECT_EQ(y[0].shape(), x.shape());
    EXPECT_EQ(y[0].data<float>()[height], 2);
  }
}

// A network whose sizes come from Shape: size A, size B, size A again in one model, and what a fresh model
// gives.
TEST(Model, SizesThatAlternateGiveEqualBits) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, -1, -1});
  const auto small = m.node(
      "MaxPool", {m.conv(x, 3, 8)},
      {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  const auto size = m.node("Shape", {x}, {{"start", std::int64_t{2}}});
  const auto y = m.node("Resize", {m.conv(small, 8, 4), ir::kNoValue, ir::kNoValue, size},
                        {{"mode", std::string("linear")}, {"axes", std::vector<std::int64_t>{2, 3}}});
  m.graph.outputs = {y};
  const auto run = [](const Model& model, std::int64_t height, std::int64_t width) {
    CompileOptions options;
    options.input_shapes = {{"x", {1, 3, height, width}}};
    Tensor in(DType::f32, {1, 3, height, width});
    for (std::int64_t i = 0; i < in.count(); ++i)
      in.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    return model.compile(cpu::target(), options).make_context().run(std::vector<Tensor>{in})[0];
  };
  const Model model = runtime::make_model(m.graph);
  const Tensor a = run(model, 18, 23), b = run(model, 9, 32), again = run(model, 18, 23);
  EXPECT_EQ(a.shape(), (Shape{1, 4, 18, 23}));
  EXPECT_EQ(b.shape(), (Shape{1, 4, 9, 32}));
  EXPECT_EQ(std::memcmp(a.raw(), again.raw(), a.bytes()), 0);
  const Tensor fresh = run(runtime::make_model(m.graph), 9, 32);
  EXPECT_EQ(std::memcmp(b.raw(), fresh.raw(), b.bytes()), 0);
}

TEST(Model, InterpretsAnotherBatch) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6});
  const Model model = runtime::make_model(m.finish({m.reshape(x, {1, 2, 3})}));
  const std::vector<Tensor> y = model.interpret(std::vector<Tensor>{Tensor::zeros(DType::f32, {4, 6})});
  EXPECT_EQ(y[0].shape(), (Shape{4, 2, 3}));
}

TEST(Model, OutputShapesAreInferred) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6});
  m.graph.outputs = {m.node("Relu", {x})};
  m.graph.value(m.graph.outputs[0]).shape.reset();
  EXPECT_EQ(runtime::make_model(m.graph).outputs()[0].shape, (Shape{1, 6}));
}

TEST(Model, UnknownOperatorsAreRefused) {
  GraphMaker m;
  m.graph.outputs = {m.node("Frobnicate", {m.input("x", {1})})};
  try {
    runtime::make_model(m.graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("Frobnicate"), std::string::npos);
  }
}

TEST(Model, MissingFileAndFolder) {
  EXPECT_THROW(Model::load("/no/such/model.onnx"), Error);
  EXPECT_THROW(Model::load("/tmp"), Error);
}

}  // namespace
}  // namespace saccade
