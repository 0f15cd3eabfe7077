// If, Loop and Scan.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

/// Makes small graphs: values are added as inputs, nodes give one value each.
class Inner {
 public:
  ir::ValueId input(DType dtype = DType::f32) {
    ir::Value value;
    value.name = "in" + std::to_string(graph.values.size());
    value.dtype = dtype;
    const ir::ValueId id = graph.add_value(std::move(value));
    graph.inputs.push_back(id);
    return id;
  }
  ir::ValueId node(const std::string& op, std::vector<ir::ValueId> inputs, ir::Attributes attributes = {}) {
    ir::Node made;
    made.name = op + std::to_string(graph.nodes.size());
    made.op = op;
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    return graph.add_node(std::move(made));
  }
  ir::Attribute done(std::vector<ir::ValueId> outputs) {
    graph.outputs = std::move(outputs);
    return std::make_shared<const ir::Graph>(graph);
  }
  ir::Graph graph;
};

Tensor flag(bool value) { return Tensor::of<bool>({}, {value}); }

ir::Attributes branches() {
  Inner then_graph, else_graph;
  const ir::ValueId a = then_graph.input(), b = else_graph.input();
  return {{"then_branch", then_graph.done({then_graph.node("Neg", {a})})},
          {"else_branch", else_graph.done({else_graph.node("Square", {b})})}};
}

TEST(If, RunsTheBranchThatTheConditionNames) {
  const Tensor x = floats({2}, {1, -3}), y = floats({3}, {1, 2, 3});
  expect_floats(run("If", {flag(true), x, y}, branches()), {2}, {-1, 3});
  expect_floats(run("If", {flag(false), x, y}, branches()), {3}, {1, 4, 9});
  expect_refused(ErrorCode::invalid_model, "one bool", "If", {floats({}, {1}), x, y}, branches());
}

/// s = s + x; gives s in each iteration, and goes on while the sum is below the limit.
ir::Attributes summing(float limit) {
  Inner body;
  body.input(DType::i64);
  body.input(DType::boolean);
  const ir::ValueId state = body.input(), x = body.input();
  const ir::ValueId sum = body.node("Add", {state, x});
  const ir::ValueId bound = body.graph.add_constant("limit", floats({}, {limit}));
  const ir::ValueId below = body.node("Less", {sum, bound});
  return {{"body", body.done({below, sum, sum})}, {"states", integer(1)}};
}

TEST(Loop, StopsAtTheTripCountOrTheCondition) {
  const Tensor start = floats({}, {0}), x = floats({}, {2});
  auto results = run_all("Loop", {ints({}, {3}), absent(), start, x}, summing(100), 2);
  expect_floats(results[0], {}, {6});
  expect_floats(results[1], {3}, {2, 4, 6});
  results = run_all("Loop", {absent(), flag(true), start, x}, summing(5), 2);
  expect_floats(results[0], {}, {6});
  results = run_all("Loop", {ints({}, {3}), flag(false), start, x}, summing(5), 2);
  expect_floats(results[0], {}, {0});
  expect_floats(results[1], {0}, {});
}

/// s = s + x, y = 2 s.
ir::Attributes scanning() {
  Inner body;
  const ir::ValueId state = body.input(), x = body.input();
  const ir::ValueId sum = body.node("Add", {state, x});
  const ir::ValueId twice = body.node("Add", {sum, sum});
  return {{"body", body.done({sum, twice})}, {"states", integer(1)}, {"sequences", integer(1)}};
}

TEST(Scan, WalksAlongAnyAxisInBothDirections) {
  const Tensor start = floats({2}, {0, 10}), x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  auto results = run_all("Scan", {start, x}, scanning(), 2);
  expect_floats(results[0], {2}, {9, 22});
  expect_floats(results[1], {3, 2}, {2, 24, 8, 32, 18, 44});
  ir::Attributes attributes = scanning();
  attributes["input_axes"] = list({1});
  attributes["input_directions"] = list({1});
  attributes["output_axes"] = list({1});
  attributes["output_directions"] = list({1});
  results = run_all("Scan", {start, floats({2, 3}, {1, 3, 5, 2, 4, 6})}, attributes, 2);
  expect_floats(results[0], {2}, {9, 22});
  expect_floats(results[1], {2, 3}, {18, 16, 10, 44, 40, 32});
}

TEST(Scan, BatchesAreScannedOnTheirOwn) {
  ir::Attributes attributes = scanning();
  attributes["batched"] = integer(1);
  const auto results =
      run_all("Scan", {floats({2, 1}, {0, 100}), floats({2, 2, 1}, {1, 2, 3, 4})}, attributes, 2);
  expect_floats(results[0], {2, 1}, {3, 107});
  expect_floats(results[1], {2, 2, 1}, {2, 6, 206, 214});
}

}  // namespace
}  // namespace saccade::ops
