// Malformed and hostile ONNX files: one clear error each, never a crash, never a huge allocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "import/onnx_model.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

OnnxModel small_model() {
  OnnxModel model(13);
  model.input("x", DType::f32, {1, 2, 4, 4}).output("y", DType::f32, {1, 3, 4, 4});
  model.floats("w", {3, 2, 3, 3}, std::vector<float>(54, 0.5f)).integers("shape", {2}, {1, -1});
  model.node("Conv", {"x", "w"}, {"c"}, "conv").set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  model.node("Relu", {"c"}, {"y"}, "relu");
  return model;
}

void expect_refused(const OnnxModel& model, ErrorCode code, const std::string& part) {
  const Refusal refused = refusal(model.bytes());
  EXPECT_THAT(refused.message, HasSubstr(part));
  EXPECT_EQ(error_code_name(refused.code), std::string(error_code_name(code))) << refused.message;
}

TEST(OnnxErrors, RefusesEveryPrefix) {
  const std::string whole = small_model().bytes();
  EXPECT_EQ(refusal(whole).message, "");
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(refusal(whole.substr(0, n)).message, "") << n;
}

TEST(OnnxErrors, SurvivesChangedBytes) {
  const std::string whole = small_model().bytes();
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    for (unsigned k = 0; k < 1 + random() % 3; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    refused += refusal(bytes).message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

TEST(OnnxErrors, RefusesOtherFiles) {
  EXPECT_THAT(refusal("").message, HasSubstr("empty"));
  EXPECT_THAT(refusal("dummy").message, HasSubstr("not an ONNX file"));
  EXPECT_THAT(refusal("this is a text file\nwith lines\n").message, HasSubstr("not an ONNX file"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\n").message, HasSubstr("Git LFS"));
  EXPECT_THAT(refusal("PK\x03\x04....").message, HasSubstr("zip"));
  EXPECT_THAT(refusal("<!DOCTYPE html>").message, HasSubstr("markup"));
}

TEST(OnnxErrors, NamesTheFile) {
  EXPECT_THAT(refusal("dummy", "dir/model.onnx").message, HasSubstr("dir/model.onnx: "));
}

TEST(OnnxErrors, RefusesVersionsThatAreNotKnown) {
  expect_refused(OnnxModel(0), ErrorCode::invalid_model, "no operator set");
  expect_refused(OnnxModel(99), ErrorCode::unsupported, "99");
  OnnxModel negative(0);
  negative.proto.add_opset_import()->set_version(-3);
  expect_refused(negative, ErrorCode::invalid_model, "operator set -3");
  expect_refused(OnnxModel(13, 0), ErrorCode::invalid_model, "IR version");
  expect_refused(OnnxModel(13, 1000), ErrorCode::unsupported, "1000");
}

TEST(OnnxErrors, RefusesBrokenGraphs) {
  OnnxModel cycle;
  cycle.input("x", DType::f32, {1}).output("b");
  cycle.node("Add", {"x", "b"}, {"a"}, "first");
  cycle.node("Relu", {"a"}, {"b"}, "second");
  expect_refused(cycle, ErrorCode::invalid_model, "cycle");

  OnnxModel undefined;
  undefined.input("x", DType::f32, {1}).output("y");
  undefined.node("Add", {"x", "ghost"}, {"y"}, "adder");
  expect_refused(undefined, ErrorCode::invalid_model, "node 'adder' (Add) reads 'ghost'");

  OnnxModel twice;
  twice.input("x", DType::f32, {1}).output("y");
  twice.node("Relu", {"x"}, {"y"}, "first");
  twice.node("Neg", {"x"}, {"y"}, "second");
  expect_refused(twice, ErrorCode::invalid_model, "'y'");

  OnnxModel over;
  over.input("x", DType::f32, {1}).output("x");
  over.node("Relu", {"x"}, {"x"}, "self");
  expect_refused(over, ErrorCode::invalid_model, "'x'");

  OnnxModel initialisers;
  initialisers.input("x", DType::f32, {1}).output("y").floats("w", {1}, {1}).floats("w", {1}, {2});
  initialisers.node("Add", {"x", "w"}, {"y"});
  expect_refused(initialisers, ErrorCode::invalid_model, "two initialisers named 'w'");

  OnnxModel inputs;
  inputs.input("x", DType::f32, {1}).input("x", DType::f32, {1}).output("y");
  inputs.node("Relu", {"x"}, {"y"});
  expect_refused(inputs, ErrorCode::invalid_model, "two inputs named 'x'");

  OnnxModel no_output;
  no_output.input("x", DType::f32, {1}).output("never");
  no_output.node("Relu", {"x"}, {"y"});
  expect_refused(no_output, ErrorCode::invalid_model, "'never' is never computed");

  OnnxModel none;
  none.input("x", DType::f32, {1});
  none.node("Relu", {"x"}, {"y"});
  expect_refused(none, ErrorCode::invalid_model, "no outputs");
}

TEST(OnnxErrors, RefusesTensorsThatContradictThemselves) {
  const auto with = [](const Shape& shape, const std::string& data) {
    OnnxModel model;
    model.input("x", DType::f32, {1}).output("y");
    model.node("Relu", {"x"}, {"y"});
    model.initializer("w", 1, shape).set_raw_data(data);
    return model;
  };
  const std::string two_floats(8, '\0');
  EXPECT_EQ(refusal(with({2}, two_floats).bytes()).message, "");
  expect_refused(with({3}, two_floats), ErrorCode::invalid_model,
                 "initialiser 'w': raw_data holds 8 bytes, expected 12");
  expect_refused(with({-1}, two_floats), ErrorCode::invalid_model, "negative");
  expect_refused(with({1ll << 62, 1ll << 62}, two_floats), ErrorCode::invalid_model, "overflows");
  expect_refused(with({1ll << 31, 1ll << 31}, two_floats), ErrorCode::invalid_model, "overflows");
  expect_refused(with({1ll << 40}, two_floats), ErrorCode::limit, "bytes");
  expect_refused(with(Shape(100, 1), two_floats), ErrorCode::limit, "dimensions");

  OnnxModel typed;
  typed.input("x", DType::f32, {1}).output("y");
  typed.node("Relu", {"x"}, {"y"});
  typed.initializer("w", 1, {1000000000}).add_float_data(1);
  expect_refused(typed, ErrorCode::invalid_model, "float_data holds 1 values");
}

TEST(OnnxErrors, RefusesAttributesOfTheWrongKind) {
  OnnxModel model;
  model.input("x", DType::f32, {1}).output("y");
  model.node("LeakyRelu", {"x"}, {"y"}, "leak").set("alpha", "much");
  expect_refused(model, ErrorCode::invalid_model,
                 "node 'leak' (LeakyRelu): attribute 'alpha' is not a number");
}

TEST(OnnxErrors, KeepsToTheLimits) {
  OnnxModel model = small_model();
  LoadLimits limits;
  limits.max_nodes = 1;
  EXPECT_THAT(refusal(model.bytes(), {}, limits).message, HasSubstr("more than 1 nodes"));
  limits = {};
  limits.max_rank = 3;
  EXPECT_THAT(refusal(model.bytes(), {}, limits).message, HasSubstr("4 dimensions, at most 3"));
  limits = {};
  limits.max_tensor_bytes = 200;  // the weights have 216
  EXPECT_THAT(refusal(model.bytes(), {}, limits).message, HasSubstr("216 bytes, at most 200"));
  limits = {};
  limits.max_total_bytes = 220;  // and the shape 16
  EXPECT_THAT(refusal(model.bytes(), {}, limits).message, HasSubstr("more than 220 bytes"));
  limits.max_total_bytes = 232;
  EXPECT_EQ(refusal(model.bytes(), {}, limits).message, "");
  EXPECT_EQ(model.read({}, limits).graph.limits.max_total_bytes, 232);
}

/// A folder of its own for each test, with a model in it.
class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("saccade_external_" + std::to_string(::getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "model" / "sub");
    write(root_ / "secret.bin", std::string(8, 's'));
    write(root_ / "model" / "w.bin", std::string(4096, 'x') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  OnnxModel with(const std::string& location, const std::string& offset = "",
                 const std::string& length = "") {
    OnnxModel model;
    model.input("x", DType::f32, {2}).output("y");
    model.node("Add", {"x", "w"}, {"y"});
    auto& tensor = model.initializer("w", 1, {2});
    tensor.set_data_location(1);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return model;
  }

  Refusal refused(const OnnxModel& model) { return refusal(model.bytes(), root_ / "model" / "m.onnx"); }

  std::filesystem::path root_;
};

TEST_F(ExternalDataTest, ReadsBesideTheModel) {
  for (const char* location : {"w.bin", "./w.bin", "sub/../w.bin"}) {
    const Imported imported = with(location, "4096", "8").read(root_ / "model" / "m.onnx");
    const Tensor* w = imported.graph.constant_input(imported.graph.nodes.at(0), 1);
    ASSERT_NE(w, nullptr);
    EXPECT_THAT(w->values<float>(), ::testing::ElementsAre(1.0f, 2.0f));
  }
  // Not aligned for floats: copied.
  write(root_ / "model" / "odd.bin", std::string("x\0\0\x80\x3f\0\0\0\x40", 9));
  const Imported odd = with("odd.bin", "1").read(root_ / "model" / "m.onnx");
  EXPECT_FLOAT_EQ(odd.graph.constant_input(odd.graph.nodes.at(0), 1)->values<float>()[1], 2.0f);
}

TEST_F(ExternalDataTest, StaysInTheFolderOfTheModel) {
  EXPECT_THAT(refused(with("../secret.bin")).message, HasSubstr("outside the model's folder"));
  EXPECT_THAT(refused(with("sub/../../secret.bin")).message, HasSubstr("outside the model's folder"));
  EXPECT_THAT(refused(with((root_ / "secret.bin").string())).message, HasSubstr("relative"));
  std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  EXPECT_THAT(refused(with("link.bin")).message, HasSubstr("is a link"));
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_THAT(refused(with("up/secret.bin")).message, HasSubstr("is a link"));
  std::filesystem::create_symlink("w.bin", root_ / "model" / "inside.bin");
  EXPECT_EQ(refused(with("inside.bin")).message, "");
}

TEST_F(ExternalDataTest, ChecksOffsetAndLength) {
  EXPECT_THAT(refused(with("w.bin", "-1")).message, HasSubstr("'-1'"));
  EXPECT_THAT(refused(with("w.bin", "abc")).message, HasSubstr("'abc'"));
  EXPECT_THAT(refused(with("w.bin", "4097")).message, HasSubstr("has 4104 bytes"));
  EXPECT_THAT(refused(with("w.bin", "18446744073709551615")).message, HasSubstr("has 4104 bytes"));
  EXPECT_THAT(refused(with("w.bin", "0", "4")).message, HasSubstr("length 4, expected 8"));
  EXPECT_THAT(refused(with("")).message, HasSubstr("no usable location"));
}

TEST_F(ExternalDataTest, NamesTheMissingFile) {
  const Refusal missing = refused(with("gone.bin"));
  EXPECT_THAT(missing.message, AllOf(HasSubstr("gone.bin"), HasSubstr("initialiser 'w'")));
  EXPECT_EQ(missing.code, ErrorCode::not_found);
  EXPECT_THAT(refused(with("sub")).message, HasSubstr("directory"));
  ASSERT_EQ(::mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused(with("pipe")).message, HasSubstr("not a regular file"));
  std::filesystem::create_symlink("loop.bin", root_ / "model" / "loop.bin");
  EXPECT_THAT(refused(with("loop.bin")).message, HasSubstr("cannot be opened"));
  EXPECT_THAT(refusal(with("w.bin").bytes()).message, HasSubstr("needs the folder"));
}

}  // namespace

}  // namespace saccade::import
