// Models whose shapes depend on data: a plan for each value of a small input, or compiled parts between parts
// that the interpreter runs.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/dynamic_plan.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"

namespace saccade {
namespace {

using testing::GraphMaker;

Tensor picture(const Shape& shape, float first) {
  Tensor t(DType::f32, shape);
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = first + static_cast<float>(i % 13) / 4 - static_cast<float>(i % 7);
  return t;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].dtype(), b[i].dtype());
    ASSERT_EQ(a[i].shape(), b[i].shape());
    if (a[i].dtype() != DType::f32) {
      EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()), 0);
      continue;
    }
    for (std::int64_t k = 0; k < a[i].count(); ++k)
      ASSERT_NEAR(a[i].data<float>()[k], b[i].data<float>()[k], 1e-4f) << i << ", " << k;
  }
}

/// A convolution, then an enlargement by a factor that is an input.
Model scaled_model() {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 6, 8}), scales = m.input("scales", {4});
  const auto y =
      m.node("Resize", {m.conv(x, 3, 4), ir::kNoValue, scales},
             {{"mode", std::string("linear")}, {"coordinate_transformation", std::string("half_pixel")}});
  m.graph.outputs = {m.node("Relu", {y})};
  return runtime::make_model(m.graph);
}

TEST(Dynamic, SmallInputsThatDecideShapesGetAPlanEach) {
  const Model model = scaled_model();
  const Plan plan = model.compile(cpu::target(), {});
  ASSERT_NE(plan.impl().dynamic, nullptr);
  EXPECT_EQ(plan.impl().dynamic->shape_inputs, (std::vector<std::size_t>{1}));
  Context context = plan.make_context({2});
  for (const float scale : {2.0f, 1.5f, 2.0f}) {
    const std::vector<Tensor> inputs{picture({1, 3, 6, 8}, scale),
                                     Tensor::of<float>({4}, {1, 1, scale, scale})};
    expect_same(context.run(inputs), model.interpret(inputs));
  }
  EXPECT_EQ(plan.impl().dynamic->bound.size(), 2u);
  for (const auto& [key, bound] : plan.impl().dynamic->bound) EXPECT_EQ(bound->dynamic, nullptr);
}

TEST(Dynamic, GivenOutputsMustHaveTheShapeThatComesOut) {
  const Model model = scaled_model();
  Context context = model.compile(cpu::target(), {}).make_context();
  const std::vector<Tensor> inputs{picture({1, 3, 6, 8}, 1), Tensor::of<float>({4}, {1, 1, 2, 2})};
  std::vector<Tensor> outputs{Tensor(DType::f32, {1, 4, 12, 16})};
  context.run(inputs, outputs);
  expect_same(outputs, model.interpret(inputs));
  outputs[0] = Tensor(DType::f32, {1, 4, 6, 8});
  EXPECT_THROW(context.run(inputs, outputs), Error);
}

TEST(Dynamic, LargeDataLeaveCompiledPartsAroundThem) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 20, 24});
  const auto y = m.node("Relu", {m.conv(x, 3, 2)});
  const auto found = m.node("NonZero", {y});
  const auto mean = m.node("ReduceMean", {y}, {{"keepdims", std::int64_t{0}}});
  m.graph.outputs = {found, mean,
                     m.node("Gather", {m.reshape(y, {-1}), m.node("Gather", {found, m.integers({3})})},
                            {{"axis", std::int64_t{0}}})};
  m.graph.value(found).dtype = DType::i64;
  for (const ir::Node& node : m.graph.nodes)
    if (node.op == "Gather" && node.inputs[0] == found) m.graph.value(node.outputs[0]).dtype = DType::i64;
  const Model model = runtime::make_model(m.graph);
  const Plan plan = model.compile(cpu::target(), {});
  ASSERT_NE(plan.impl().dynamic, nullptr);
  EXPECT_TRUE(plan.impl().dynamic->shape_inputs.empty());
  std::size_t steps = 0;
  for (const auto& part : plan.impl().dynamic->parts)
    if (part.plan != nullptr)
      for (const auto& step : part.plan->compiled.steps)
        steps += step.op == "Conv" && !step.kernel->reference;
  EXPECT_EQ(steps, 1u);
  Context context = plan.make_context();
  for (const float first : {0.0f, 3.0f, -2.0f}) {
    const std::vector<Tensor> inputs{picture({1, 3, 20, 24}, first)};
    const std::vector<Tensor> planned = context.run(inputs), reference = model.interpret(inputs);
    ASSERT_EQ(planned[0].shape(), reference[0].shape());
    expect_same({planned[0], planned[1]}, {reference[0], reference[1]});
  }
}

}  // namespace
}  // namespace saccade
