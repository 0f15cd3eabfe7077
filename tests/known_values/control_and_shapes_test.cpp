// Branches whose results differ in rank, and shapes that follow the input from run to run.
#include <gtest/gtest.h>

#include "cpu/target.h"
#include "known_values/executors.h"
#include "saccade/error.h"

namespace saccade::known {
namespace {

onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op,
                          const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

/// torch.squeeze(dim=1) as PyTorch exports it: squeezes where that dimension is 1.
OnnxModel squeeze_if_one() {
  OnnxModel m(13);
  m.input("x", DType::f32, {-1, -1, -1}).output("y");
  m.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  m.integers("at", {}, {1}).integers("axis", {1}, {1}).integers("one", {}, {1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "at"}, {"dim"}).set("axis", std::int64_t{0});
  m.node("Equal", {"dim", "one"}, {"squeezes"});
  OnnxModel::Node node = m.node("If", {"squeezes"}, {"y"});
  onnx::GraphProto& yes = *node.attribute("then_branch", 5).mutable_g();
  add_node(yes, "Squeeze", {"x", "axis"}, "less");
  yes.add_output()->set_name("less");
  onnx::GraphProto& no = *node.attribute("else_branch", 5).mutable_g();
  add_node(no, "Identity", {"x"}, "same");
  no.add_output()->set_name("same");
  return m;
}

TEST(KnownBranches, OfDifferentRankAreChosenEachRun) {
  const Model model = imported(squeeze_if_one().bytes());
  for (const Executor& executor : executors()) {
    SCOPED_TRACE(executor.name);
    for (int round = 0; round < 2; ++round) {
      const Tensor flat = executor.run(model, {floats({1, 1, 3}, {1, 2, 3})}).at(0);
      EXPECT_EQ(flat.shape(), (Shape{1, 3}));
      EXPECT_EQ(flat.values<float>()[2], 3);
      const Tensor same = executor.run(model, {floats({1, 2, 2}, {1, 2, 3, 4})}).at(0);
      EXPECT_EQ(same.shape(), (Shape{1, 2, 2}));
      EXPECT_EQ(same.values<float>()[3], 4);
    }
  }
}

/// Resize to the size of another tensor: Shape, Slice, Concat, as decoders of networks have it.
OnnxModel resized_like_other() {
  OnnxModel m(13);
  m.input("x", DType::f32, {1, -1, -1, -1}).input("like", DType::f32, {1, 1, -1, -1}).output("y");
  m.integers("zero", {1}, {0}).integers("two", {1}, {2}).integers("four", {1}, {4});
  m.node("Shape", {"x"}, {"x_shape"});
  m.node("Slice", {"x_shape", "zero", "two", "zero"}, {"first"});
  m.node("Shape", {"like"}, {"like_shape"});
  m.node("Slice", {"like_shape", "two", "four", "zero"}, {"last"});
  m.node("Concat", {"first", "last"}, {"sizes"}).set("axis", std::int64_t{0});
  m.node("Resize", {"x", "", "", "sizes"}, {"y"})
      .set("mode", "nearest")
      .set("nearest_mode", "floor")
      .set("coordinate_transformation_mode", "asymmetric");
  return m;
}

TEST(KnownShapes, FollowTheInputFromRunToRun) {
  const Model model = imported(resized_like_other().bytes());
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const std::vector<float> large = {1, 1, 1, 2, 2, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4};
  for (const std::int64_t channels : kChannels)
    for (const Executor& executor : executors()) {
      SCOPED_TRACE(executor.name + ", channels: " + std::to_string(channels));
      const Tensor wide = widened(x, channels);
      const auto run = [&](const Shape& size) {
        return executor.run(model, {wide, Tensor::zeros(DType::f32, {1, 1, size[0], size[1]})}).at(0);
      };
      for (const Shape& size : {Shape{3, 5}, Shape{2, 2}, Shape{3, 5}}) {
        const Tensor y = run(size);
        ASSERT_EQ(y.shape(), (Shape{1, channels, size[0], size[1]}));
        const Tensor want = size[0] == 2 ? wide : widened(floats({1, 1, 3, 5}, large), channels);
        for (std::int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.data<float>()[i], want.data<float>()[i]);
      }
    }
}

TEST(KnownShapes, OfAnotherSizeThanAPlanNameTheDimension) {
  OnnxModel m(13);
  m.input("picture", DType::f32, {1, 3, 4, -1}).output("y");
  m.node("Relu", {"picture"}, {"y"});
  const Model model = imported(m.bytes());
  const auto message = [](const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::vector<Tensor> other{Tensor::zeros(DType::f32, {1, 3, 5, 8})};
  CompileOptions options;
  options.input_shapes = {{"picture", {1, 3, 4, 8}}};
  const std::string of_plan =
      message([&] { model.compile(cpu::target(), options).make_context().run(other); });
  EXPECT_NE(of_plan.find("'picture'"), std::string::npos) << of_plan;
  EXPECT_NE(of_plan.find("1x3x4x8"), std::string::npos) << of_plan;
  EXPECT_NE(of_plan.find("1x3x5x8"), std::string::npos) << of_plan;
  const std::string of_model = message([&] { model.interpret(other); });
  EXPECT_NE(of_model.find("'picture'"), std::string::npos) << of_model;
  EXPECT_NE(of_model.find("1x3x5x8"), std::string::npos) << of_model;
}

TEST(KnownShapes, FirstChannelOfRedIsOne) {
  // A network that copies one channel tells the order of colours apart.
  OnnxModel m(13);
  m.input("x", DType::f32, {1, 3, 2, 2}).output("y").floats("w", {1, 3, 1, 1}, {1, 0, 0});
  m.node("Conv", {"x", "w"}, {"y"});
  Tensor red = Tensor::zeros(DType::f32, {1, 3, 2, 2});
  for (int i = 0; i < 4; ++i) red.data<float>()[i] = 1;
  expect(m, {red}, floats({1, 1, 2, 2}, {1, 1, 1, 1}));
}

}  // namespace
}  // namespace saccade::known
