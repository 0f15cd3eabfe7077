// What a model may ask for when it is compiled and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"

namespace saccade {
namespace {

using testing::GraphMaker;

/// The message of the Error(limit) that `body` throws; "" if it throws none.
std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit) << error.what();
    return error.what();
  }
  return "";
}

std::string reference_refusal(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  return refusal([&] { runtime::make_model(graph).interpret(inputs); });
}

std::string planned_refusal(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  return refusal([&] { runtime::make_model(graph).compile(cpu::target(), {}).make_context().run(inputs); });
}

void expect_both_refuse(const ir::Graph& graph, const std::vector<Tensor>& inputs, const std::string& part) {
  EXPECT_THAT(reference_refusal(graph, inputs), ::testing::HasSubstr(part));
  EXPECT_THAT(planned_refusal(graph, inputs), ::testing::HasSubstr(part));
}

void expect_both_run(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  EXPECT_EQ(reference_refusal(graph, inputs), "");
  EXPECT_EQ(planned_refusal(graph, inputs), "");
}

/// x repeated `times` times, and made one number again: 4 KB become large on the way.
ir::Graph repeated(std::int64_t times, bool constant) {
  GraphMaker m;
  const auto x = m.input("x", {1024});
  const auto wide = m.node("Tile", {constant ? m.random({1024}) : x, m.integers({times})});
  m.graph.outputs = {m.node("Add", {m.node("ReduceSum", {wide}, {{"keepdims", std::int64_t{0}}}), x})};
  return m.graph;
}

TEST(Limits, OfOneTensor) {
  const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {1024})};
  for (const bool constant : {false, true}) {
    ir::Graph graph = repeated(1000, constant);
    expect_both_run(graph, inputs);
    graph.limits.max_tensor_bytes = 1'000'000;
    expect_both_refuse(graph, inputs, "4096000 bytes, at most 1000000");
  }
  // What could not even be allocated.
  expect_both_refuse(repeated(std::int64_t{1} << 50, false), inputs, "bytes");
}

TEST(Limits, OfRank) {
  GraphMaker m;
  const auto x = m.input("x", {3});
  m.graph.outputs = {m.node("Unsqueeze", {x, m.integers({0, 1, 2, 3, 4})})};
  const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {3})};
  expect_both_run(m.graph, inputs);
  m.graph.limits.max_rank = 5;
  expect_both_refuse(m.graph, inputs, "6 dimensions, at most 5");
}

TEST(Limits, OfAllTensorsAtOneTime) {
  GraphMaker m;
  const auto x = m.input("x", {1024});
  std::vector<ir::ValueId> kept;
  for (int i = 0; i < 8; ++i) kept.push_back(m.node("Mul", {x, m.random({1024})}));
  m.graph.outputs = {m.node("Concat", kept, {{"axis", std::int64_t{0}}})};
  const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {1024})};
  m.graph.limits.max_total_bytes = 100'000;
  expect_both_run(m.graph, inputs);
  m.graph.limits.max_total_bytes = 30'000;
  expect_both_refuse(m.graph, inputs, "30000");
}

TEST(Limits, AreKeptByOneAfterTheOther) {
  // Values that are freed make room: a hundred of 256 KB, one after the other, in 1.2 MB.
  GraphMaker m;
  auto x = m.input("x", {65536});
  for (int i = 0; i < 100; ++i) x = m.node(i % 2 == 0 ? "Sin" : "Neg", {x});
  m.graph.outputs = {x};
  m.graph.limits.max_total_bytes = 1'200'000;
  expect_both_run(m.graph, {Tensor::zeros(DType::f32, {65536})});
}

TEST(Limits, OfWork) {
  GraphMaker m;
  const auto a = m.input("a", {64, 64}), b = m.input("b", {64, 64});
  m.graph.outputs = {m.node("MatMul", {a, b})};
  const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {64, 64}), Tensor::zeros(DType::f32, {64, 64})};
  m.graph.limits.max_work = 300'000;
  expect_both_run(m.graph, inputs);
  m.graph.limits.max_work = 250'000;
  expect_both_refuse(m.graph, inputs, "250000");
}

/// Adds 1 to the state `trips` times (an input of the graph), in `depth` loops inside each other that run
/// once.
ir::Graph counting(int depth) {
  std::shared_ptr<const ir::Graph> body;
  for (int level = 0; level < depth; ++level) {
    GraphMaker m;
    const auto i = m.input("i", {}, DType::i64), go = m.input("go", {}, DType::boolean), s = m.input("s", {});
    static_cast<void>(i);
    const auto once = m.graph.add_constant("once", Tensor::of<std::int64_t>({}, {1}));
    const auto next = body == nullptr
                          ? m.node("Add", {s, m.scalar(1)})
                          : m.node("Loop", {once, go, s}, {{"body", body}, {"states", std::int64_t{1}}});
    m.graph.outputs = {m.node("Identity", {go}), next};
    body = std::make_shared<const ir::Graph>(m.graph);
  }
  GraphMaker m;
  const auto trips = m.input("trips", {}, DType::i64);
  const auto go = m.graph.add_constant("go", Tensor::of<bool>({}, {true}));
  m.graph.outputs = {m.node("Loop", {trips, go, m.scalar(0)}, {{"body", body}, {"states", std::int64_t{1}}})};
  return m.graph;
}

TEST(Limits, OfIterations) {
  ir::Graph graph = counting(1);
  const std::vector<Tensor> inputs{Tensor::of<std::int64_t>({}, {1000})};
  expect_both_run(graph, inputs);
  graph.limits.max_iterations = 999;
  expect_both_refuse(graph, inputs, "more than 999 iterations");
  graph.limits = {};
  graph.limits.max_work = 100'000;
  expect_both_refuse(graph, inputs, "100000");
}

TEST(Limits, LoopsInsideEachOtherTakeNoLongerThanTheyRun) {
  const ir::Graph graph = counting(40);
  const std::vector<Tensor> inputs{Tensor::of<std::int64_t>({}, {2})};
  expect_both_run(graph, inputs);
  EXPECT_EQ(*runtime::make_model(graph).interpret(inputs)[0].data<float>(), 2.0f);
}

TEST(Limits, AreKeptWhileAModelIsLoadedToo) {
  // A loop of constants, which inference would run to know its result.
  GraphMaker body;
  body.input("i", {}, DType::i64);
  const auto go = body.input("go", {}, DType::boolean), s = body.input("s", {});
  body.graph.outputs = {body.node("Identity", {go}), body.node("Add", {s, body.scalar(1)})};
  GraphMaker m;
  const auto x = m.input("x", {});
  const auto trips = m.graph.add_constant("trips", Tensor::of<std::int64_t>({}, {std::int64_t{1} << 40}));
  const auto on = m.graph.add_constant("on", Tensor::of<bool>({}, {true}));
  const auto sum =
      m.node("Loop", {trips, on, m.scalar(0)},
             {{"body", std::make_shared<const ir::Graph>(body.graph)}, {"states", std::int64_t{1}}});
  m.graph.outputs = {m.node("Add", {sum, x})};
  m.graph.limits.max_iterations = 1000;
  expect_both_refuse(m.graph, {Tensor::zeros(DType::f32, {})}, "more than 1000 iterations");
}

}  // namespace
}  // namespace saccade
