#include "compiler/passes/threshold_logits.h"

#include <cmath>

#include "interpret/interpreter.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;

constexpr const char* kComparisons[] = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"};

ir::Graph thresholded(GraphMaker& m, const char* op, float threshold, bool mirrored, const Shape& shape) {
  const auto p = m.node("Sigmoid", {m.input("x", shape)});
  const auto c = m.scalar(threshold);
  const auto outputs = {m.node(op, mirrored ? std::vector{c, p} : std::vector{p, c})};
  return m.finish(outputs);
}

/// Logits around those whose sigmoid is the threshold, float by float, and the odd ones.
std::vector<float> near_logit(float threshold, std::int64_t n) {
  std::vector<float> values = {NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f,  1000.0f, -1000.0f,
                               1e-40f, -1e-40f,  88.0f,     -88.0f, 104.0f, -104.0f, 17.5f};
  const double exact = std::log(static_cast<double>(threshold) / (1 - static_cast<double>(threshold)));
  auto v = static_cast<float>(exact);
  for (int i = 0; i < static_cast<int>(n) / 2; ++i) v = std::nextafter(v, -INFINITY);
  while (static_cast<std::int64_t>(values.size()) < n) {
    values.push_back(v);
    v = std::nextafter(v, INFINITY);
  }
  return values;
}

TEST(ThresholdLogits, EveryValueStaysOnItsSide) {
  const Shape shape{1, 1, 20, 30};
  for (const char* op : kComparisons) {
    for (const bool mirrored : {false, true}) {
      for (const float threshold : {0.5f, 0.1f, 0.9f, 0.3333333f, 1e-6f, 0.9999999f, 1e-38f}) {
        SCOPED_TRACE(::testing::Message() << op << " " << mirrored << " " << threshold);
        GraphMaker m;
        const ir::Graph before = thresholded(m, op, threshold, mirrored, shape);
        const ir::Graph after = apply(threshold_logits, before);
        EXPECT_EQ(count(after, "Sigmoid"), 0u);
        ASSERT_EQ(after.nodes.size(), 1u);
        const std::vector<float> values = near_logit(threshold, element_count(shape));
        const std::vector<Tensor> in = {Tensor::of<float>(shape, std::span(values))};
        const Tensor want = interpret::run(before, in).at(0), got = interpret::run(after, in).at(0);
        ASSERT_EQ(got.shape(), want.shape());
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(got.data<bool>()[i], want.data<bool>()[i]) << values[i];
      }
    }
  }
}

TEST(ThresholdLogits, LeavesProbabilitiesThatAreAskedFor) {
  GraphMaker m;
  const auto p = m.node("Sigmoid", {m.input("x", {1, 1, 4, 4})});
  const auto outputs = {m.node("Greater", {p, m.scalar(0.5f)}), p};
  EXPECT_EQ(count(apply(threshold_logits, m.finish(outputs)), "Sigmoid"), 1u);
}

TEST(ThresholdLogits, LeavesWhatIsNoThresholdBetweenZeroAndOne) {
  for (const float threshold : {0.0f, 1.0f, -1.0f, 2.0f, NAN}) {
    GraphMaker m;
    EXPECT_EQ(
        count(apply(threshold_logits, thresholded(m, "Greater", threshold, false, {1, 1, 3, 5})), "Sigmoid"),
        1u)
        << threshold;
  }
  GraphMaker m;  // a threshold for each column
  const auto p = m.node("Sigmoid", {m.input("x", {1, 1, 2, 2})});
  const auto outputs = {m.node("Greater", {p, m.floats({2}, {0.25f, 0.5f})})};
  EXPECT_EQ(count(apply(threshold_logits, m.finish(outputs)), "Sigmoid"), 1u);
  GraphMaker other;
  const auto t = other.node("Tanh", {other.input("x", {1, 1, 2, 2})});
  const auto ends = {other.node("Greater", {t, other.scalar(0.5f)})};
  EXPECT_EQ(count(apply(threshold_logits, other.finish(ends)), "Tanh"), 1u);
}

}  // namespace
}  // namespace saccade::compiler
