// Plans within a bound on memory.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade {
namespace {

// 3x3 convolutions of many channels, which Winograd kernels run fastest, with four times the weights.
Model heavy() {
  testing::GraphMaker m;
  auto x = m.input("x", {1, 64, 24, 24});
  for (int i = 0; i < 3; ++i) x = m.node("Relu", {m.conv(x, 64, 64)});
  return runtime::make_model(m.finish({x}));
}

std::int64_t memory_of(const Plan& plan) {
  return plan.weight_bytes() + plan.arena_bytes() + plan.thread_scratch_bytes();
}

Plan compile(const Model& model, std::int64_t most) {
  CompileOptions options;
  options.max_memory = most;
  return model.compile(cpu::target(), options);
}

Tensor run(const Plan& plan) {
  Tensor x(DType::f32, plan.inputs()[0].shape);
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return plan.make_context().run(std::span(&x, 1))[0];
}

void expect_close(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (const float v : a.values<float>()) largest = std::max(largest, std::abs(v));
  ASSERT_EQ(a.shape(), b.shape());
  for (std::int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-4f * largest) << i;
}

TEST(MaxMemory, ChoosesSmallerKernels) {
  const Model model = heavy();
  const Plan free = compile(model, 0);
  const Tensor want = run(free);
  // Enough: nothing changes.
  EXPECT_EQ(memory_of(compile(model, memory_of(free))), memory_of(free));
  const Plan less = compile(model, memory_of(free) - 1);
  EXPECT_LT(memory_of(less), memory_of(free));
  EXPECT_LT(less.weight_bytes(), free.weight_bytes());
  expect_close(want, run(less));
}

TEST(MaxMemory, SaysTheSmallestNeed) {
  const Model model = heavy();
  std::int64_t least = 0;
  try {
    compile(model, 1000);
    FAIL() << "a thousand bytes are enough";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::limit);
    std::smatch found;
    const std::string message = e.what();
    ASSERT_TRUE(std::regex_search(message, found, std::regex("needs ([0-9]+) bytes"))) << message;
    EXPECT_NE(message.find("1000"), std::string::npos) << message;
    least = std::stoll(found[1]);
  }
  const Plan smallest = compile(model, least);
  EXPECT_EQ(memory_of(smallest), least);
  EXPECT_THROW(compile(model, least - 1), Error);
  expect_close(run(compile(model, 0)), run(smallest));
  EXPECT_THROW(compile(model, -1), Error);
}

}  // namespace
}  // namespace saccade
