#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "cpu/target.h"
#include "import/onnx_model.h"
#include "saccade/error.h"
#include "verify/compare.h"
#include "verify/find_cases.h"
#include "verify/run_case.h"

namespace saccade::verify {
namespace {

namespace fs = std::filesystem;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            ("verify_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static void write_floats(const fs::path& path, const std::vector<float>& values,
                           const std::string& name = "") {
    onnx::TensorProto tensor;
    tensor.set_data_type(import::onnx_type(DType::f32));
    tensor.set_name(name);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const float v : values) tensor.add_float_data(v);
    write(path, tensor.SerializeAsString());
  }

  /// y = a - b on two elements.
  fs::path subtraction(const std::string& name, const std::vector<float>& expected) {
    import::OnnxModel model;
    model.input("a", DType::f32, {2}).input("b", DType::f32, {2});
    model.node("Sub", {"a", "b"}, {"y"});
    model.output("y", DType::f32, {2});
    const fs::path folder = root_ / name;
    write(folder / "model.onnx", model.bytes());
    write_floats(folder / "test_data_set_0/input_0.pb", {5, 7});
    write_floats(folder / "test_data_set_0/input_1.pb", {1, 2});
    write_floats(folder / "test_data_set_0/output_0.pb", expected);
    return folder;
  }

  static CaseOptions planned() {
    CaseOptions options;
    options.target = &cpu::target();
    return options;
  }

  fs::path root_;
};

TEST_F(VerifyTest, PassesWhereOutputsAgree) {
  const fs::path folder = subtraction("sub", {4, 5});
  EXPECT_EQ(run_case(folder, planned()).outcome, Outcome::passed);
  EXPECT_EQ(run_case(folder, {}).outcome, Outcome::passed);
}

TEST_F(VerifyTest, SaysWhichElementIsWrong) {
  const CaseResult result = run_case(subtraction("sub", {4, 6}), planned());
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_FALSE(result.unsupported);
  EXPECT_NE(result.reason.find("at [1] expected 6, got 5"), std::string::npos) << result.reason;
}

TEST_F(VerifyTest, ToleranceMayRelateToTheLargestValue) {
  CaseOptions options = planned();
  options.tolerance = {0, 0, 1e-2};
  EXPECT_EQ(run_case(subtraction("near", {3.951f, 5}), options).outcome, Outcome::passed);
  EXPECT_EQ(run_case(subtraction("far", {3.949f, 5}), options).outcome, Outcome::failed);
}

TEST_F(VerifyTest, EqualInputsGiveEqualBits) {
  const fs::path folder = subtraction("sub", {4, 5});
  for (const std::string set : {"test_data_set_1", "test_data_set_2"}) {
    write_floats(folder / set / "input_0.pb", {set.back() == '1' ? 6.0f : 5.0f, 7});
    write_floats(folder / set / "input_1.pb", {1, 2});
    write_floats(folder / set / "output_0.pb", {set.back() == '1' ? 5.0f : 4.0f, 5});
  }
  EXPECT_EQ(run_case(folder, planned()).outcome, Outcome::passed);
}

TEST_F(VerifyTest, TakesInputsByNameBeforeNumber) {
  const fs::path folder = subtraction("sub", {-4, -5});
  write_floats(folder / "test_data_set_0/input_0.pb", {5, 7}, "b");
  write_floats(folder / "test_data_set_0/input_1.pb", {1, 2}, "a");
  EXPECT_EQ(run_case(folder, planned()).outcome, Outcome::passed);
}

TEST_F(VerifyTest, EveryDataSetCounts) {
  const fs::path folder = subtraction("sub", {4, 5});
  write_floats(folder / "test_data_set_1/input_0.pb", {1, 1});
  write_floats(folder / "test_data_set_1/input_1.pb", {1, 1});
  write_floats(folder / "test_data_set_1/output_0.pb", {0, 3});
  const CaseResult result = run_case(folder, planned());
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.reason.find("test_data_set_1"), std::string::npos) << result.reason;
}

TEST_F(VerifyTest, MustFailWantsAnError) {
  const fs::path runs = subtraction("runs", {4, 5});
  write(runs / "must_fail.txt", "");
  EXPECT_EQ(run_case(runs, planned()).outcome, Outcome::failed);
  const fs::path broken = root_ / "broken";
  write(broken / "model.onnx", "dummy");
  write(broken / "must_fail.txt", "");
  EXPECT_EQ(run_case(broken, planned()).outcome, Outcome::passed);
}

TEST_F(VerifyTest, OnlyWhatIsOutOfScopeIsSkipped) {
  const auto unary = [&](const std::string& op, int type) {
    import::OnnxModel model;
    model.input("x", DType::f32, {2});
    model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    model.node(op, {"x"}, {"y"});
    model.output("y", DType::f32, {2});
    const fs::path folder = root_ / op;
    write(folder / "model.onnx", model.bytes());
    write_floats(folder / "test_data_set_0/input_0.pb", {5, 7});
    write_floats(folder / "test_data_set_0/output_0.pb", {5, 7});
    return run_case(folder, planned());
  };
  const CaseResult strings = unary("StringNormalizer", 8);
  EXPECT_EQ(strings.outcome, Outcome::skipped);
  EXPECT_EQ(strings.reason, "string tensors");
  const CaseResult unknown = unary("Frobnicate", 1);
  EXPECT_EQ(unknown.outcome, Outcome::failed);
  EXPECT_TRUE(unknown.unsupported);
  EXPECT_EQ(unknown.operators, std::vector<std::string>{"Frobnicate"});
}

TEST_F(VerifyTest, FindsCasesAtAnyDepth) {
  subtraction("a/deep/one", {4, 5});
  subtraction("b", {4, 5});
  EXPECT_EQ(find_cases(root_), (std::vector<fs::path>{root_ / "a/deep/one", root_ / "b"}));
  EXPECT_EQ(find_cases(root_ / "b"), std::vector<fs::path>{root_ / "b"});
  EXPECT_THROW(find_cases(root_ / "none"), Error);
}

TEST_F(VerifyTest, FoldersThatShouldBeCasesCount) {
  write_floats(root_ / "no_model/test_data_set_0/output_0.pb", {1});
  write(root_ / "must_fail_alone/must_fail.txt", "");
  fs::create_directories(root_ / "nothing/below");
  EXPECT_EQ(find_cases(root_), (std::vector<fs::path>{root_ / "must_fail_alone", root_ / "no_model"}));
  for (const fs::path& folder : find_cases(root_)) {
    const CaseResult result = run_case(folder, planned());
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.reason, "holds no model.onnx");
  }
}

TEST_F(VerifyTest, TheModelMayHaveAnotherNameIfItIsTheOnlyOne) {
  const fs::path folder = subtraction("sub", {4, 5});
  fs::rename(folder / "model.onnx", folder / "subtract.onnx");
  EXPECT_EQ(case_model(folder), folder / "subtract.onnx");
  EXPECT_EQ(run_case(folder, planned()).outcome, Outcome::passed);
  fs::copy(folder / "subtract.onnx", folder / "second.onnx");
  EXPECT_EQ(case_model(folder), fs::path());
  fs::copy(folder / "second.onnx", folder / "model.onnx");
  EXPECT_EQ(case_model(folder), folder / "model.onnx");
}

TEST_F(VerifyTest, LinksAreFollowedOnceAndNeverInCircles) {
  subtraction("real/one", {4, 5});
  fs::create_directory_symlink(root_ / "real", root_ / "real/one/up");
  fs::create_directory_symlink(root_ / "real/one", root_ / "again");
  EXPECT_EQ(find_cases(root_).size(), 1u);
  EXPECT_EQ(run_case(root_ / "again", planned()).outcome, Outcome::passed);
  EXPECT_EQ(find_cases(root_ / "again"), std::vector<fs::path>{root_ / "again"});
}

TEST_F(VerifyTest, TooFewAndTooManyFilesAreWrong) {
  const auto reason = [&](const std::string& name, const std::function<void(const fs::path&)>& change) {
    const fs::path folder = subtraction(name, {4, 5});
    change(folder / "test_data_set_0");
    const CaseResult result = run_case(folder, planned());
    EXPECT_EQ(result.outcome, Outcome::failed) << name;
    return result.reason;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(reason("a", [](const fs::path& set) { fs::remove(set / "input_1.pb"); }), "no tensor for input 'b'");
  has(reason("b", [](const fs::path& set) { fs::remove(set / "input_0.pb"); }),
      "input_1.pb but no input_0.pb");
  has(reason("c",
             [](const fs::path& set) {
               write_floats(set / "input_2.pb", {1, 2});
             }),
      "3 inputs, the model has 2");
  has(reason("d", [](const fs::path& set) { fs::remove(set / "output_0.pb"); }), "no output_0.pb");
  has(reason("e",
             [](const fs::path& set) {
               write_floats(set / "output_1.pb", {1, 2});
             }),
      "2 outputs, the model has 1");
  has(reason("f", [](const fs::path& set) { write_floats(set / "output_2.pb", {1, 2}); }), "no output_1.pb");
  has(reason("g", [](const fs::path& set) { write(set / "input_0.pb", ""); }), "is empty");
  has(reason("h",
             [](const fs::path& set) {
               write(set / "input_0.pb", std::string("\x08\x02\x10\x01\x22\x08\0\0", 8));
             }),
      "input_0.pb");
  has(reason("i", [](const fs::path& set) { write_floats(set / "input_0.pb", {1, 2, 3}); }), "3");
  has(reason("j",
             [](const fs::path& set) {
               onnx::TensorProto tensor;
               tensor.set_data_type(import::onnx_type(DType::f64));
               tensor.add_dims(2);
               for (const double v : {1.0, 2.0}) tensor.add_double_data(v);
               write(set / "input_0.pb", tensor.SerializeAsString());
             }),
      "float64");
}

TEST_F(VerifyTest, OutputsOfTwoBytesAreComparedToTheirPrecision) {
  import::OnnxModel model(13);
  model.input("x", DType::f32, {2}).output("y", DType::bf16, {2});
  model.node("Cast", {"x"}, {"y"}).set("to", std::int64_t{16});
  const fs::path folder = root_ / "cast";
  write(folder / "model.onnx", model.bytes());
  write_floats(folder / "test_data_set_0/input_0.pb", {0.8203125f, 1});
  const auto expect = [&](std::int32_t first, const Tolerance& tolerance) {
    onnx::TensorProto tensor;
    tensor.set_data_type(import::onnx_type(DType::bf16));
    tensor.add_dims(2);
    tensor.add_int32_data(first), tensor.add_int32_data(0x3f80);
    write(folder / "test_data_set_0/output_0.pb", tensor.SerializeAsString());
    CaseOptions options = planned();
    options.tolerance = tolerance;
    return run_case(folder, options).outcome;
  };
  EXPECT_EQ(expect(0x3f52, {}), Outcome::passed);
  EXPECT_EQ(expect(0x3f51, {}), Outcome::passed);  // one unit in the last place
  EXPECT_EQ(expect(0x3f51, {1e-3, 0}), Outcome::failed);
  EXPECT_EQ(expect(0x3f4f, {}), Outcome::failed);
}

TEST(Compare, KnowsEveryKindOfNumber) {
  const Tolerance tolerance{1e-3, 1e-6};
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto floats = [](std::initializer_list<float> v) {
    return Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v);
  };
  EXPECT_FALSE(difference(floats({nan, inf, 1000.5f}), floats({nan, inf, 1000}), tolerance));
  EXPECT_TRUE(difference(floats({1}), floats({nan}), tolerance));
  EXPECT_TRUE(difference(floats({inf}), floats({-inf}), tolerance));
  EXPECT_TRUE(difference(floats({1}), Tensor::of<float>({1, 1}, {1}), tolerance));
  EXPECT_TRUE(difference(floats({1}), Tensor::of<double>({1}, {1}), tolerance));
  const Tensor big = Tensor::of<std::int64_t>({1}, {std::int64_t{1} << 62});
  EXPECT_FALSE(difference(big, big, {0, 0}));
  const auto flag = [](bool v) { return Tensor::of<bool>({1}, {v}); };
  EXPECT_TRUE(difference(flag(true), flag(false), {10, 10}));
}

}  // namespace
}  // namespace saccade::verify
