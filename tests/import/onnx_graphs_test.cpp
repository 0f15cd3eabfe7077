// Graphs inside nodes, four-bit integers, older operator sets.
#include <gmock/gmock.h>

#include "import/onnx_model.h"
#include "interpret/interpreter.h"

namespace saccade::import {
namespace {

using ::testing::ElementsAre;

std::vector<float> values(const Tensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }

onnx::GraphProto* graph_attribute(OnnxModel::Node node, const std::string& name) {
  return node.attribute(name, 5).mutable_g();
}

void add_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

TEST(OnnxGraphs, BranchesSeeTheValuesAround) {
  OnnxModel model;
  model.input("c", DType::boolean, {}).input("x", DType::f32, {2}).floats("w", {2}, {10, 20});
  model.node("Neg", {"x"}, {"n"});
  OnnxModel::Node node = model.node("If", {"c"}, {"y"});
  onnx::GraphProto& then_branch = *graph_attribute(node, "then_branch");
  add_node(then_branch, "Add", {"n", "w"}, "sum");
  then_branch.add_output()->set_name("sum");
  onnx::GraphProto& else_branch = *graph_attribute(node, "else_branch");
  add_node(else_branch, "Identity", {"x"}, "same");
  else_branch.add_output()->set_name("same");
  model.output("y");
  const Imported imported = model.read();
  ASSERT_TRUE(imported.missing.empty());
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  const auto run = [&](bool c) {
    return values(interpret::run(imported.graph, std::vector<Tensor>{Tensor::of<bool>({}, {c}), x})[0]);
  };
  EXPECT_THAT(run(true), ElementsAre(9, 18));
  EXPECT_THAT(run(false), ElementsAre(1, 2));
}

TEST(OnnxGraphs, LoopsCarryStatesAndStackResults) {
  OnnxModel model;
  model.input("n", DType::i64, {}).input("x", DType::f32, {}).floats("two", {}, {2});
  OnnxModel::Node node = model.node("Loop", {"n", "", "x"}, {"last", "all"});
  onnx::GraphProto& body = *graph_attribute(node, "body");
  for (const char* name : {"i", "c", "s"}) body.add_input()->set_name(name);
  body.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
  body.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(9);
  body.mutable_input(2)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  add_node(body, "Identity", {"c"}, "go_on");
  add_node(body, "Mul", {"s", "two"}, "next");
  for (const char* name : {"go_on", "next", "next"}) {
    if (body.output_size() == 2) add_node(body, "Identity", {"next"}, "shown");
    body.add_output()->set_name(body.output_size() == 2 ? "shown" : name);
  }
  model.output("last").output("all");
  const Imported imported = model.read();
  ASSERT_TRUE(imported.missing.empty());
  const auto results = interpret::run(
      imported.graph, std::vector<Tensor>{Tensor::of<std::int64_t>({}, {3}), Tensor::of<float>({}, {1})});
  EXPECT_THAT(values(results[0]), ElementsAre(8));
  EXPECT_THAT(values(results[1]), ElementsAre(2, 4, 8));
}

TEST(OnnxGraphs, BranchesMustGiveWhatTheNodeGives) {
  OnnxModel model;
  model.input("c", DType::boolean, {});
  OnnxModel::Node node = model.node("If", {"c"}, {"y"});
  graph_attribute(node, "then_branch");
  graph_attribute(node, "else_branch");
  model.output("y");
  EXPECT_NE(refusal(model.bytes()).message.find("the node has 1 outputs"), std::string::npos)
      << refusal(model.bytes()).message;
}

TEST(OnnxFourBits, TensorsArePackedLowHalfFirst) {
  OnnxModel model(21, 10);
  model.initializer("w", 22, {3}).set_raw_data(std::string("\x81\x0f", 2));
  model.initializer("v", 21, {3}).add_int32_data(0x81);
  model.proto.mutable_graph()->mutable_initializer(1)->add_int32_data(0x0f);
  model.node("Cast", {"w"}, {"a"}).set("to", std::int64_t{1});
  model.node("Cast", {"v"}, {"b"}).set("to", std::int64_t{1});
  model.output("a").output("b");
  const auto results = interpret::run(model.read().graph, std::vector<Tensor>{});
  EXPECT_THAT(values(results[0]), ElementsAre(1, -8, -1));
  EXPECT_THAT(values(results[1]), ElementsAre(1, 8, 15));
}

TEST(OnnxFourBits, CastsWrapAndQuantisingSaturates) {
  OnnxModel model(21, 10);
  model.input("x", DType::f32, {3}).floats("scale", {}, {1});
  model.initializer("zero", 22, {}).set_raw_data(std::string("\0", 1));
  model.node("Cast", {"x"}, {"a"}).set("to", std::int64_t{22});
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"b"});
  model.output("a", DType::i8).output("b", DType::i8);
  const auto results =
      interpret::run(model.read().graph, std::vector<Tensor>{Tensor::of<float>({3}, {7, 9, -20})});
  const auto numbers = [](const Tensor& t) {
    return std::vector<int>(t.data<std::int8_t>(), t.data<std::int8_t>() + 3);
  };
  EXPECT_THAT(numbers(results[0]), ElementsAre(7, -7, -4));
  EXPECT_THAT(numbers(results[1]), ElementsAre(7, 7, -8));
}

TEST(OnnxOldSets, OperandsAreLinedUpAtAnAxis) {
  OnnxModel model(6, 3);
  model.input("x", DType::f32, {1, 2, 1, 2}).floats("b", {2}, {10, 20});
  model.node("Add", {"x", "b"}, {"y"}).set("axis", std::int64_t{1}).set("broadcast", std::int64_t{1});
  model.output("y");
  const auto results =
      interpret::run(model.read().graph, std::vector<Tensor>{Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(values(results[0]), ElementsAre(11, 12, 23, 24));
}

}  // namespace
}  // namespace saccade::import
