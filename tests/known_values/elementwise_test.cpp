// Operators whose defaults, optional inputs or meaning by operator set are often confused.
#include <gtest/gtest.h>

#include <cmath>

#include "known_values/executors.h"

namespace saccade::known {
namespace {

OnnxModel unary(
    std::int64_t opset, const std::string& op, const Shape& in,
    const std::function<void(OnnxModel::Node&)>& attributes = [](OnnxModel::Node&) {}) {
  OnnxModel m(opset);
  m.input("x", DType::f32, in).output("y");
  OnnxModel::Node node = m.node(op, {"x"}, {"y"});
  attributes(node);
  return m;
}

TEST(KnownActivation, HardOnesHaveDefaultsOfTheirOwn) {
  // Long enough for vectors with a tail.
  std::vector<float> x, sigmoid, swish;
  for (int i = 0; i < 21; ++i) {
    x.push_back(i % 2 == 0 ? 1.0f : -1.0f);
    sigmoid.push_back(i % 2 == 0 ? 0.7f : 0.3f);
    swish.push_back(i % 2 == 0 ? 2 / 3.0f : -1 / 3.0f);
  }
  expect(unary(14, "HardSigmoid", {1, 21}), {floats({1, 21}, x)}, floats({1, 21}, sigmoid));
  expect(unary(14, "HardSwish", {1, 21}), {floats({1, 21}, x)}, floats({1, 21}, swish));
}

TEST(KnownActivation, HardSigmoidTimesItsArgumentIsNotHardSwish) {
  // A slope of 0.2 as HardSigmoid's default has it; only 1/6 makes HardSwish.
  OnnxModel m(14);
  m.input("x", DType::f32, {1, 2}).output("y");
  m.node("HardSigmoid", {"x"}, {"h"});
  m.node("Mul", {"x", "h"}, {"y"});
  expect(m, {floats({1, 2}, {1, -1})}, floats({1, 2}, {0.7f, -0.3f}));
}

TEST(KnownClip, AbsentBoundsAndCrossedBounds) {
  const auto clip = [](const std::string& low, const std::string& high) {
    OnnxModel m(13);
    m.input("x", DType::f32, {3})
        .output("y")
        .floats("six", {}, {6})
        .floats("five", {}, {5})
        .floats("one", {}, {1});
    m.node("Clip", {"x", low, high}, {"y"});
    return m;
  };
  const Tensor x = floats({3}, {-5, 3, 9});
  expect(clip("", "six"), {x}, floats({3}, {-5, 3, 6}));
  expect(clip("five", ""), {x}, floats({3}, {5, 5, 9}));
  expect(clip("five", "one"), {x}, floats({3}, {1, 1, 1}));
  expect(clip("", ""), {x}, x);
}

TEST(KnownSoftmax, FlattensBeforeOperatorSetThirteen) {
  const Tensor x = floats({1, 2, 2}, {0, 0, 0, std::log(5.0f)});
  const std::vector<float> old = {0.125f, 0.125f, 0.125f, 0.625f}, now = {0.5f, 0.5f, 1 / 6.0f, 5 / 6.0f};
  for (const std::int64_t opset : {7, 11, 12, 13, 17}) {
    SCOPED_TRACE(opset);
    std::vector<float> y = opset < 13 ? old : now;
    expect(unary(opset, "Softmax", {1, 2, 2}), {x}, floats({1, 2, 2}, y));
    for (float& v : y) v = std::log(v);
    expect(unary(opset, "LogSoftmax", {1, 2, 2}), {x}, floats({1, 2, 2}, y));
    expect(unary(opset, "Hardmax", {1, 2, 2}), {x},
           floats({1, 2, 2}, opset < 13 ? std::vector<float>{0, 0, 0, 1} : std::vector<float>{1, 0, 0, 1}));
  }
  // Channels of a picture: the old meaning spans the rest of the sample, the new one the axis alone.
  const Tensor picture = floats({1, 2, 1, 2}, {0, 0, 0, std::log(5.0f)});
  const auto axis_one = [](OnnxModel::Node& n) { n.set("axis", std::int64_t{1}); };
  expect(unary(11, "Softmax", {1, 2, 1, 2}, axis_one), {picture}, floats({1, 2, 1, 2}, old));
  expect(unary(13, "Softmax", {1, 2, 1, 2}, axis_one), {picture},
         floats({1, 2, 1, 2}, {0.5f, 1 / 6.0f, 0.5f, 5 / 6.0f}));
}

TEST(KnownAxes, MoveFromAttributeToInput) {
  const Tensor square = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto with_axes = [](const std::string& op, std::int64_t opset, std::int64_t first_as_input,
                            const Shape& in, std::int64_t axis) {
    OnnxModel m(opset);
    m.input("x", DType::f32, in).output("y");
    if (opset < first_as_input) {
      m.node(op, {"x"}, {"y"}).set("axes", Integers{axis});
    } else {
      m.integers("axes", {1}, {axis});
      m.node(op, {"x", "axes"}, {"y"});
    }
    return m;
  };
  for (const std::int64_t opset : {11, 13}) {
    SCOPED_TRACE(opset);
    expect(with_axes("Squeeze", opset, 13, {1, 1, 2, 2}, 1), {square}, square.reshaped({1, 2, 2}));
    expect(with_axes("Unsqueeze", opset, 13, {2, 2}, 1), {square.reshaped({2, 2})},
           square.reshaped({2, 1, 2}));
    expect(with_axes("ReduceSum", opset, 13, {1, 1, 2, 2}, 2), {square}, floats({1, 1, 1, 2}, {4, 6}));
  }
  for (const std::int64_t opset : {11, 13, 17, 18}) {
    SCOPED_TRACE(opset);
    expect(with_axes("ReduceMean", opset, 18, {1, 1, 2, 2}, 2), {square}, floats({1, 1, 1, 2}, {2, 3}));
    expect(with_axes("ReduceMax", opset, 18, {1, 1, 2, 2}, 3), {square}, floats({1, 1, 2, 1}, {2, 4}));
    expect(with_axes("ReduceL2", opset, 18, {1, 1, 2, 2}, 2), {square},
           floats({1, 1, 1, 2}, {std::sqrt(10.0f), std::sqrt(20.0f)}));
  }
}

TEST(KnownBatchNormalization, TrainingIsRefusedByName) {
  const auto model = [](std::int64_t opset, std::int64_t outputs) {
    OnnxModel m(opset);
    m.input("x", DType::f32, {1, 1, 2}).output("y").floats("one", {1}, {1}).floats("zero", {1}, {0});
    std::vector<std::string> names = {"y", "mean", "variance", "saved_mean", "saved_variance"};
    names.resize(static_cast<std::size_t>(outputs));
    OnnxModel::Node node = m.node("BatchNormalization", {"x", "one", "zero", "zero", "one"}, names, "norm");
    if (opset >= 14 && outputs > 1) node.set("training_mode", std::int64_t{1});
    return m;
  };
  const Tensor x = floats({1, 1, 2}, {1, 2});
  expect(model(15, 1), {x}, x, 1e-5);
  expect_refused(model(15, 3), {x}, "norm");
  expect_refused(model(15, 3), {x}, "training");
}

OnnxModel split(std::int64_t length, std::int64_t parts) {
  OnnxModel m(18);
  m.input("x", DType::f32, {length});
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < parts; ++i) names.push_back("y" + std::to_string(i));
  m.node("Split", {"x"}, names, "cut").set("num_outputs", parts);
  for (const std::string& name : names) m.output(name);
  return m;
}

TEST(KnownSplit, UnevenPartsAreRoundedUpAndTheRestIsLast) {
  const auto sizes = [](std::int64_t length, std::int64_t parts) {
    const Model model = imported(split(length, parts).bytes());
    std::vector<Integers> found;
    for (const Executor& executor : executors()) {
      Integers sizes_here;
      float next = 0;
      for (const Tensor& part : executor.run(model, {counting({length}, 0)})) {
        sizes_here.push_back(part.count());
        for (const float v : part.values<float>()) EXPECT_EQ(v, next++) << executor.name;
      }
      found.push_back(sizes_here);
      EXPECT_EQ(found.front(), sizes_here) << executor.name;
    }
    return found.front();
  };
  EXPECT_EQ(sizes(10, 3), (Integers{4, 4, 2}));
  EXPECT_EQ(sizes(10, 4), (Integers{3, 3, 3, 1}));
  expect_refused(split(5, 4), {counting({5}, 0)}, "cut");
}

OnnxModel slice(std::int64_t start, std::int64_t end, std::int64_t step) {
  OnnxModel m(13);
  m.input("x", DType::f32, {4}).output("y").integers("start", {1}, {start}).integers("end", {1}, {end});
  m.integers("axis", {1}, {0}).integers("step", {1}, {step});
  m.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  return m;
}

TEST(KnownSlice, BackwardsItsEndIsClampedToBeforeTheFirst) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min(),
                         kInt = std::numeric_limits<std::int32_t>::max();
  expect(slice(-1, kLeast, -1), {x}, floats({4}, {4, 3, 2, 1}));
  expect(slice(-1, -5, -1), {x}, floats({4}, {4, 3, 2, 1}));
  expect(slice(kMost, 0, -1), {x}, floats({3}, {4, 3, 2}));
  expect(slice(-1, kInt, -1), {x}, floats({0}, {}));
  expect(slice(-1, kMost, -1), {x}, floats({0}, {}));
  expect(slice(1, 100, 1), {x}, floats({3}, {2, 3, 4}));
}

TEST(KnownPad, NegativePadsCropAndReflectionNeedsRoom) {
  const auto pad = [](const Shape& in, const Integers& pads, const std::string& mode) {
    OnnxModel m(13);
    m.input("x", DType::f32, in).output("y").integers("pads", {static_cast<std::int64_t>(pads.size())}, pads);
    m.node("Pad", {"x", "pads"}, {"y"}, "border").set("mode", mode);
    return m;
  };
  expect(pad({3, 4}, {-1, 1, 0, -2}, "constant"), {counting({3, 4}, 0)}, floats({2, 3}, {0, 4, 5, 0, 8, 9}));
  expect(pad({3}, {2, 1}, "edge"), {floats({3}, {1, 2, 3})}, floats({6}, {1, 1, 1, 2, 3, 3}));
  expect(pad({3}, {2, 1}, "reflect"), {floats({3}, {1, 2, 3})}, floats({6}, {3, 2, 1, 2, 3, 2}));
  expect_refused(pad({2}, {2, 0}, "reflect"), {floats({2}, {1, 2})}, "border");
}

}  // namespace
}  // namespace saccade::known
