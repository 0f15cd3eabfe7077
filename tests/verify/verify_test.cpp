#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
