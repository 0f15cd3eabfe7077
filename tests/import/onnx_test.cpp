// What ONNX models become: values, attributes, differences between operator sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "import/graph_builder.h"
#include "import/onnx_model.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

/// One operator on one float input "x" of shape 1x4x5x6, result "y".
OnnxModel::Node single(OnnxModel& model, const std::string& op, std::vector<std::string> inputs = {"x"}) {
  model.input("x", DType::f32, {1, 4, 5, 6});
  model.output("y");
  return model.node(op, inputs, {"y"}, "the_node");
}

const ir::Node& last(const Imported& imported) { return imported.graph.nodes.back(); }

Integers constant_integers(const Imported& imported, const ir::Node& node, std::size_t slot) {
  const Tensor* tensor = imported.graph.constant_input(node, slot);
  return tensor != nullptr ? to_integers(*tensor) : Integers{-999};
}

TEST(Onnx, KeepsNamesTypesAndSymbols) {
  OnnxModel model;
  model.input("in/put:0", DType::f32, {-1, 3, -1, 8}).output("", DType::f32, {});
  model.proto.mutable_graph()->mutable_output(0)->set_name("out put");
  model.node("Relu", {"in/put:0"}, {"out put"}, "a b/c:0");
  const Imported imported = model.read();
  EXPECT_EQ(imported.format, "ONNX");
  EXPECT_EQ(imported.producer, "test");
  const ir::Value& input = imported.graph.value(imported.graph.inputs.at(0));
  EXPECT_EQ(input.name, "in/put:0");
  EXPECT_EQ(*input.shape, (Shape{-1, 3, -1, 8}));
  EXPECT_THAT(input.dim_names, ElementsAre("n1", "", "n3", ""));
  EXPECT_EQ(imported.graph.value(imported.graph.outputs.at(0)).name, "out put");
  EXPECT_EQ(last(imported).name, "a b/c:0");
  EXPECT_THAT(imported.foreign_ops, ElementsAre(std::pair<std::string, std::size_t>("Relu", 1)));
}

TEST(Onnx, SortsNodesAndKeepsTheirOrderOtherwise) {
  OnnxModel model;
  model.input("x", DType::f32, {2}).output("y");
  model.node("Neg", {"b"}, {"y"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Abs", {"x"}, {"a"});
  EXPECT_EQ(operators(model.read().graph), "Abs Relu Neg");
}

TEST(Onnx, TakesInitialisersThatAreListedAsInputsForConstants) {
  OnnxModel model(8, 3);
  model.input("x", DType::f32, {2}).input("w", DType::f32, {2}).output("y").floats("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  const Imported imported = model.read();
  EXPECT_EQ(imported.graph.inputs.size(), 1u);
  EXPECT_NE(imported.graph.constant_input(last(imported), 1), nullptr);
}

TEST(Onnx, ReadsEveryWayToStoreATensor) {
  OnnxModel model;
  model.input("x", DType::f32, {1}).output("y");
  model.node("Relu", {"x"}, {"y"});
  const auto add = [&](const char* name, DType dtype) -> onnx::TensorProto& {
    return model.initializer(name, onnx_type(dtype), {2});
  };
  for (auto* t : {&add("f32", DType::f32)}) t->add_float_data(1.5f), t->add_float_data(-2);
  for (auto* t : {&add("f64", DType::f64)}) t->add_double_data(1.5), t->add_double_data(-2);
  for (auto* t : {&add("i64", DType::i64)}) t->add_int64_data(5), t->add_int64_data(-2);
  for (auto* t : {&add("u64", DType::u64)}) t->add_uint64_data(5), t->add_uint64_data(~0ull);
  for (auto* t : {&add("u32", DType::u32)}) t->add_uint64_data(5), t->add_uint64_data(0xffffffffu);
  for (auto* t : {&add("i32", DType::i32)}) t->add_int32_data(5), t->add_int32_data(-2);
  for (auto* t : {&add("i16", DType::i16)}) t->add_int32_data(5), t->add_int32_data(-2);
  for (auto* t : {&add("u16", DType::u16)}) t->add_int32_data(5), t->add_int32_data(65535);
  for (auto* t : {&add("i8", DType::i8)}) t->add_int32_data(5), t->add_int32_data(-2);
  for (auto* t : {&add("u8", DType::u8)}) t->add_int32_data(5), t->add_int32_data(200);
  for (auto* t : {&add("bool", DType::boolean)}) t->add_int32_data(0), t->add_int32_data(7);
  for (auto* t : {&add("f16", DType::f16)})
    t->add_int32_data(to_half(1.5f).bits), t->add_int32_data(to_half(-2).bits);
  for (auto* t : {&add("bf16", DType::bf16)})
    t->add_int32_data(to_bfloat16(1.5f).bits), t->add_int32_data(to_bfloat16(-2).bits);
  add("raw16", DType::f16).set_raw_data(std::string("\x00\x3e\x00\xc0", 4));
  add("rawbool", DType::boolean).set_raw_data(std::string("\x00\x05", 2));
  add("rawu8", DType::u8).set_raw_data(std::string("\x05\xc8", 2));
  const Imported imported = model.read();
  const auto values = [&](const std::string& name) {
    for (const ir::Value& value : imported.graph.values)
      if (value.name == name) return to_doubles(*value.constant);
    return std::vector<double>{};
  };
  for (const char* name : {"f32", "f64", "f16", "bf16", "raw16"})
    EXPECT_THAT(values(name), ElementsAre(1.5, -2)) << name;
  for (const char* name : {"i64", "i32", "i16", "i8"}) EXPECT_THAT(values(name), ElementsAre(5, -2)) << name;
  EXPECT_THAT(values("u64"), ElementsAre(5, 18446744073709551615.0));
  EXPECT_THAT(values("u32"), ElementsAre(5, 4294967295.0));
  EXPECT_THAT(values("u16"), ElementsAre(5, 65535));
  EXPECT_THAT(values("u8"), ElementsAre(5, 200));
  EXPECT_THAT(values("rawu8"), ElementsAre(5, 200));
  EXPECT_THAT(values("bool"), ElementsAre(0, 1));
  EXPECT_THAT(values("rawbool"), ElementsAre(0, 1));
}

TEST(Onnx, ReadsConstantsOfEveryKind) {
  OnnxModel model;
  model.input("x", DType::f32, {1}).output("y");
  model.node("Relu", {"x"}, {"y"});
  model.node("Constant", {}, {"a"}).set("value_float", 2.5f);
  model.node("Constant", {}, {"b"}).set("value_int", std::int64_t{7});
  model.node("Constant", {}, {"c"}).set("value_floats", std::vector<float>{1, 2});
  model.node("Constant", {}, {"d"}).set("value_ints", Integers{3, 4});
  auto* tensor = model.node("Constant", {}, {"e"}).attribute("value", 4).mutable_t();
  tensor->set_data_type(7);
  tensor->add_int64_data(9);
  const Imported imported = model.read();
  EXPECT_EQ(operators(imported.graph), "Relu");
  std::map<std::string, std::pair<Shape, std::vector<double>>> found;
  for (const ir::Value& value : imported.graph.values)
    if (value.constant) found[value.name] = {value.constant->shape(), to_doubles(*value.constant)};
  EXPECT_EQ(found["a"], (std::pair<Shape, std::vector<double>>{{}, {2.5}}));
  EXPECT_EQ(found["b"], (std::pair<Shape, std::vector<double>>{{}, {7}}));
  EXPECT_EQ(found["c"], (std::pair<Shape, std::vector<double>>{{2}, {1, 2}}));
  EXPECT_EQ(found["d"], (std::pair<Shape, std::vector<double>>{{2}, {3, 4}}));
  EXPECT_EQ(found["e"], (std::pair<Shape, std::vector<double>>{{}, {9}}));
}

TEST(Onnx, GivesActivationsTheirDefaults) {
  const auto attribute = [](const char* op, const char* name, std::int64_t opset = 20) {
    OnnxModel model(opset);
    single(model, op);
    const Imported imported = model.read();
    return last(imported).real(name, -1);
  };
  EXPECT_FLOAT_EQ(attribute("LeakyRelu", "alpha"), 0.01f);
  EXPECT_FLOAT_EQ(attribute("Elu", "alpha"), 1.0f);
  EXPECT_FLOAT_EQ(attribute("HardSigmoid", "alpha"), 0.2f);
  EXPECT_FLOAT_EQ(attribute("HardSigmoid", "beta"), 0.5f);
  EXPECT_FLOAT_EQ(attribute("Selu", "gamma"), 1.0507009873554804934f);
  OnnxModel model;
  single(model, "LeakyRelu").set("alpha", 0.3f);
  EXPECT_FLOAT_EQ(last(model.read()).real("alpha", -1), 0.3f);
}

TEST(Onnx, TurnsOldClipBoundsIntoInputs) {
  OnnxModel model(7);
  single(model, "Clip").set("max", 6.0f);
  const Imported imported = model.read();
  EXPECT_FALSE(last(imported).has_input(1));
  EXPECT_THAT(to_doubles(*imported.graph.constant_input(last(imported), 2)), ElementsAre(6));
}

TEST(Onnx, KeepsAbsentInputsAbsent) {
  OnnxModel model(13);
  model.floats("high", {}, {6});
  single(model, "Clip", {"x", "", "high"});
  const Imported imported = model.read();
  EXPECT_EQ(last(imported).inputs.at(1), ir::kNoValue);
  EXPECT_TRUE(last(imported).has_input(2));
}

TEST(Onnx, FlattensForTheOldSoftmaxOnly) {
  OnnxModel old(11);
  single(old, "Softmax");
  const Imported flattened = old.read();
  EXPECT_EQ(operators(flattened.graph), "Shape Flatten Softmax Reshape");
  EXPECT_EQ(flattened.graph.nodes.at(1).integer("axis", -9), 1);
  EXPECT_EQ(flattened.graph.nodes.at(2).integer("axis", -9), 1);
  OnnxModel recent(13);
  single(recent, "Softmax");
  const Imported plain = recent.read();
  EXPECT_EQ(operators(plain.graph), "Softmax");
  EXPECT_EQ(last(plain).integer("axis", -9), -1);
}

TEST(Onnx, MovesAxesFromAttributeToInput) {
  for (const char* op : {"Squeeze", "Unsqueeze", "ReduceMean", "ReduceSum"}) {
    OnnxModel model(11);
    single(model, op).set("axes", Integers{0, -1});
    const Imported imported = model.read();
    EXPECT_EQ(constant_integers(imported, last(imported), 1), (Integers{0, -1})) << op;
    EXPECT_FALSE(last(imported).has("axes")) << op;
  }
  OnnxModel all(11);
  single(all, "Squeeze");
  EXPECT_FALSE(last(all.read()).has_input(1));
}

TEST(Onnx, MovesSplitSliceAndPadToInputs) {
  OnnxModel slice(9);
  single(slice, "Slice").set("starts", Integers{1}).set("ends", Integers{3}).set("axes", Integers{2});
  const Imported sliced = slice.read();
  EXPECT_EQ(constant_integers(sliced, last(sliced), 1), Integers{1});
  EXPECT_EQ(constant_integers(sliced, last(sliced), 2), Integers{3});
  EXPECT_EQ(constant_integers(sliced, last(sliced), 3), Integers{2});

  OnnxModel pad(10);
  single(pad, "Pad").set("pads", Integers{0, 0, 1, 1, 0, 0, 1, 1}).set("value", 2.0f).set("mode", "constant");
  const Imported padded = pad.read();
  EXPECT_EQ(constant_integers(padded, last(padded), 1), (Integers{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_THAT(to_doubles(*padded.graph.constant_input(last(padded), 2)), ElementsAre(2));

  OnnxModel split(11);
  split.input("x", DType::f32, {10}).output("a").output("b");
  split.node("Split", {"x"}, {"a", "b"}).set("split", Integers{4, 6});
  const Imported parts = split.read();
  EXPECT_EQ(constant_integers(parts, last(parts), 1), (Integers{4, 6}));
  EXPECT_EQ(last(parts).outputs.size(), 2u);
}

TEST(Onnx, MakesResizeOfItsForebears) {
  OnnxModel upsample7(7);
  single(upsample7, "Upsample").set("scales", std::vector<float>{1, 1, 2, 2}).set("mode", "linear");
  const Imported a = upsample7.read();
  EXPECT_EQ(last(a).op, "Resize");
  EXPECT_EQ(last(a).text("mode", ""), "linear");
  EXPECT_EQ(last(a).text("coordinate_transformation", ""), "asymmetric");
  EXPECT_THAT(to_doubles(*a.graph.constant_input(last(a), 2)), ElementsAre(1, 1, 2, 2));

  OnnxModel resize10(10);
  resize10.floats("s", {4}, {1, 1, 2, 2});
  single(resize10, "Resize", {"x", "s"});
  const Imported b = resize10.read();
  EXPECT_EQ(last(b).text("nearest_mode", ""), "floor");
  EXPECT_EQ(last(b).text("coordinate_transformation", ""), "asymmetric");
  EXPECT_TRUE(last(b).has_input(2));

  OnnxModel resize11(11);
  resize11.floats("none", {0}, {}).integers("sizes", {4}, {1, 4, 10, 12});
  single(resize11, "Resize", {"x", "none", "none", "sizes"})
      .set("coordinate_transformation_mode", "align_corners");
  const Imported c = resize11.read();
  EXPECT_FALSE(last(c).has_input(1));
  EXPECT_FALSE(last(c).has_input(2));
  EXPECT_TRUE(last(c).has_input(3));
  EXPECT_EQ(last(c).text("coordinate_transformation", ""), "align_corners");
  EXPECT_EQ(last(c).text("nearest_mode", ""), "round_prefer_floor");
}

TEST(Onnx, ReadsAlignCornersAsItsProducerMeansIt) {
  for (const char* producer : {"test", "pytorch"}) {
    OnnxModel model(11);
    model.proto.set_producer_name(producer);
    model.floats("none", {0}, {}).floats("scales", {4}, {1, 1, 1.7f, 1.7f});
    single(model, "Resize", {"x", "none", "scales"}).set("coordinate_transformation_mode", "align_corners");
    EXPECT_EQ(last(model.read()).text("coordinate_transformation", ""),
              std::string(producer) == "pytorch" ? "align_whole_corners" : "align_corners");
  }
}

TEST(Onnx, TranslatesPaddingRules) {
  OnnxModel model(11);
  model.floats("w", {2, 4, 3, 3}, std::vector<float>(72, 1));
  single(model, "Conv", {"x", "w"}).set("auto_pad", "SAME_LOWER").set("strides", Integers{2, 1});
  const Imported imported = model.read();
  EXPECT_EQ(last(imported).text("auto_pad", ""), "same_lower");
  EXPECT_EQ(last(imported).integers("strides"), (Integers{2, 1}));
  EXPECT_EQ(last(imported).integer("group", 0), 1);
}

TEST(Onnx, FoldsVariadicOperators) {
  OnnxModel model(13);
  model.input("a", DType::f32, {2})
      .input("b", DType::f32, {2})
      .input("c", DType::f32, {2})
      .output("s")
      .output("m");
  model.node("Sum", {"a", "b", "c"}, {"s"});
  model.node("Mean", {"a", "b", "c"}, {"m"});
  EXPECT_EQ(operators(model.read().graph), "Add Add Add Add Div");
}

TEST(Onnx, TracksTypesThroughTheGraph) {
  OnnxModel model(13);
  model.input("x", DType::f16, {2, 3}).output("y", DType::f16);
  model.node("Shape", {"x"}, {"s"});
  model.node("Cast", {"s"}, {"f"}).set("to", std::int64_t{10});
  model.node("Equal", {"x", "x"}, {"e"});
  model.node("Where", {"e", "x", "x"}, {"y"});
  const Imported imported = model.read();
  const auto dtype = [&](std::size_t i) {
    return imported.graph.value(imported.graph.nodes.at(i).outputs.at(0)).dtype;
  };
  EXPECT_EQ(dtype(0), DType::i64);
  EXPECT_EQ(dtype(1), DType::f16);
  EXPECT_EQ(dtype(2), DType::boolean);
  EXPECT_EQ(dtype(3), DType::f16);
  EXPECT_EQ(imported.graph.nodes.at(1).text("to", ""), "float16");
}

TEST(Onnx, DropsDropout) {
  OnnxModel model(12);
  model.floats("ratio", {}, {0.5f});
  single(model, "Dropout", {"x", "ratio"});
  EXPECT_EQ(operators(model.read().graph), "Identity");
}

/// Adds the function local::Twice(a) = Leaky(Leaky(a)) with the slope `alpha`, whose default is 0.5.
onnx::FunctionProto& add_function(OnnxModel& model) {
  model.proto.add_opset_import()->set_domain("local");
  auto* function = model.proto.add_functions();
  function->set_domain("local");
  function->set_name("Twice");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(16);
  auto* otherwise = function->add_attribute_proto();
  otherwise->set_name("slope");
  otherwise->set_type(1);
  otherwise->set_f(0.5f);
  const char* names[] = {"a", "middle", "b"};
  for (int i = 0; i < 2; ++i) {
    auto* node = function->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input(names[i]);
    node->add_output(names[i + 1]);
    auto* alpha = node->add_attribute();
    alpha->set_name("alpha");
    alpha->set_type(1);
    alpha->set_ref_attr_name("slope");
  }
  return *function;
}

TEST(Onnx, ReplacesCallsOfFunctionsByTheirBodies) {
  OnnxModel model(13);
  add_function(model);
  model.input("x", DType::f32, {2}).output("y");
  model.node("Twice", {"x"}, {"u"}).set("slope", 0.25f).proto.set_domain("local");
  model.node("Twice", {"u"}, {"y"}).proto.set_domain("local");
  const Imported imported = model.read();
  ASSERT_EQ(operators(imported.graph), "LeakyRelu LeakyRelu LeakyRelu LeakyRelu");
  EXPECT_FLOAT_EQ(imported.graph.nodes[0].real("alpha", 0), 0.25f);
  EXPECT_FLOAT_EQ(imported.graph.nodes[3].real("alpha", 0), 0.5f);
  EXPECT_EQ(imported.graph.value(imported.graph.outputs[0]).name, "y");
}

TEST(Onnx, RefusesFunctionsThatCallThemselves) {
  OnnxModel model(13);
  auto* node = add_function(model).add_node();
  node->set_op_type("Twice");
  node->set_domain("local");
  node->add_input("b");
  node->add_output("again");
  model.input("x", DType::f32, {2}).output("y");
  model.node("Twice", {"x"}, {"y"}).proto.set_domain("local");
  EXPECT_THAT(refusal(model.bytes()).message, HasSubstr("nested deeper"));
}

TEST(Onnx, RefusesFunctionsThatExpandToTooMuch) {
  // The name of the call stands in front of each name in the body.
  OnnxModel model(13);
  auto& function = add_function(model);
  for (int i = 0; i < 100; ++i) {
    auto* node = function.add_node();
    node->set_op_type("Relu");
    node->add_input("a");
    node->add_output("r" + std::to_string(i));
  }
  model.input("x", DType::f32, {2}).output(std::string(100'000, 'y'));
  model.node("Twice", {"x"}, {std::string(100'000, 'y')}).proto.set_domain("local");
  LoadLimits limits;
  limits.max_total_bytes = 10'000'000;
  const Refusal refused = refusal(model.bytes(), {}, limits);
  EXPECT_THAT(refused.message, HasSubstr("expand to more than 10000000 bytes"));
  EXPECT_EQ(refused.code, ErrorCode::limit);
}

TEST(Onnx, ListsEverythingThatIsMissing) {
  OnnxModel model(13);
  model.input("x", DType::f32, {2}).output("y");
  model.node("Foo", {"x"}, {"a"}, "first");
  model.node("Bar", {"a"}, {"b"}, "second").proto.set_domain("my.domain");
  model.node("Foo", {"b"}, {"c"});
  model.node("Relu", {"c"}, {"d"}).set("strange", std::int64_t{1});
  model.node("Neg", {"d"}, {"y"});
  const Imported imported = model.read();
  ASSERT_EQ(imported.missing.size(), 3u);
  EXPECT_EQ(imported.missing[0].op, "Foo (opset 13)");
  EXPECT_THAT(imported.missing[0].nodes, ElementsAre("first", "c"));
  EXPECT_EQ(imported.missing[1].op, "my.domain::Bar");
  EXPECT_THAT(imported.missing[2].reason, HasSubstr("'strange'"));
  const std::string message = missing_message(imported.missing);
  for (const char* part : {"Foo", "x2", "my.domain::Bar", "Relu", "'second'"})
    EXPECT_THAT(message, HasSubstr(part));
}

TEST(Onnx, TellsWhatProducesAnOutput) {
  OnnxModel model(13);
  model.input("x", DType::f32, {1, 1, 4, 4}).output("y", DType::f32, {1, 1, 4, 4});
  model.node("Sigmoid", {"x"}, {"s"});
  model.node("Identity", {"s"}, {"y"});
  const spec::Signature signature = signature_of(model.read().graph);
  EXPECT_EQ(signature.outputs.at(0).producer, "Sigmoid");
  EXPECT_EQ(signature.outputs.at(0).name, "y");
  EXPECT_EQ(signature.inputs.at(0).shape, (Shape{1, 1, 4, 4}));
}

}  // namespace

}  // namespace saccade::import
