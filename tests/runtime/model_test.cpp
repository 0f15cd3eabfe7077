#include <gtest/gtest.h>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
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
