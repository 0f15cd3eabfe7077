// Graph-wide inference, verification, and the table itself.
#include "ops/infer.h"

#include <algorithm>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

ir::ValueId add_input(ir::Graph& graph, const char* name, Shape shape) {
  ir::Value value;
  value.name = name;
  value.shape = std::move(shape);
  graph.inputs.push_back(graph.add_value(value));
  return graph.inputs.back();
}

/// y = Resize(x, sizes = Concat(Shape(x)[0:2], 2 * Shape(x)[2:])): the arithmetic that exporters write around
/// a resize.
ir::Graph doubling_graph(Shape shape) {
  ir::Graph g;
  const ir::ValueId x = add_input(g, "x", std::move(shape));
  const ir::ValueId dims = g.add_node({"shape", "Shape", {x}, {}, {}});
  const auto slice = [&](const char* name, std::int64_t from, std::int64_t to) {
    return g.add_node({name,
                       "Slice",
                       {dims, g.add_constant(std::string(name) + "_from", ints({from})),
                        g.add_constant(std::string(name) + "_to", ints({to}))},
                       {},
                       {}});
  };
  const ir::ValueId head = slice("head", 0, 2), tail = slice("tail", 2, 4);
  const ir::ValueId doubled = g.add_node({"double", "Mul", {tail, g.add_constant("two", ints({2}))}, {}, {}});
  const ir::ValueId sizes = g.add_node({"sizes", "Concat", {head, doubled}, {}, {{"axis", integer(0)}}});
  g.outputs = {
      g.add_node({"up", "Resize", {x, ir::kNoValue, ir::kNoValue, sizes}, {}, {{"mode", text("nearest")}}})};
  return g;
}

TEST(InferGraph, FoldsShapeArithmetic) {
  ir::Graph g = doubling_graph({1, 3, 5, 7});
  const std::size_t nodes = g.nodes.size();
  const auto known = infer_graph(g);
  EXPECT_EQ(g.nodes.size(), nodes);
  ASSERT_TRUE(g.value(g.outputs[0]).shape);
  EXPECT_EQ(*g.value(g.outputs[0]).shape, (Shape{1, 3, 10, 14}));
  const auto& sizes = known.at(static_cast<std::size_t>(g.nodes[4].outputs[0]));
  ASSERT_TRUE(sizes);
  expect_ints(*sizes, {4}, {1, 3, 10, 14});
  // Another shape: everything is inferred anew.
  g.value(g.inputs[0]).shape = Shape{2, 3, 4, 4};
  infer_graph(g);
  EXPECT_EQ(*g.value(g.outputs[0]).shape, (Shape{2, 3, 8, 8}));
}

TEST(InferGraph, UnknownInputsGiveUnknownShapes) {
  ir::Graph g = doubling_graph({1, 3, -1, 7});
  g.value(g.outputs[0]).shape = Shape{9};
  infer_graph(g);
  EXPECT_FALSE(g.value(g.outputs[0]).shape);
}

TEST(InferGraph, ShapesBehindUnknownDataAreUnknown) {
  ir::Graph g;
  const ir::ValueId x = add_input(g, "x", {2, 3});
  ir::Value target;
  target.name = "target";
  target.dtype = DType::i64;
  target.shape = Shape{2};
  g.inputs.push_back(g.add_value(target));
  const ir::ValueId y = g.add_node({"reshape", "Reshape", {x, g.inputs[1]}, {}, {}});
  const ir::ValueId z = g.add_node({"relu", "Relu", {y}, {}, {}});
  g.outputs = {z};
  infer_graph(g);
  EXPECT_FALSE(g.value(y).shape);
  EXPECT_FALSE(g.value(z).shape);
}

TEST(InferGraph, ErrorsNameTheNode) {
  ir::Graph g;
  const ir::ValueId x = add_input(g, "x", {2, 3});
  g.outputs = {g.add_node({"broken", "MatMul", {x, x}, {}, {}})};
  try {
    infer_graph(g);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(std::string(e.what()), "node 'broken' (MatMul): cannot multiply 2x3 by 2x3");
  }
}

TEST(Verify, ListsAllUnknownOperators) {
  ir::Graph g;
  const ir::ValueId x = add_input(g, "x", {2, 3});
  const ir::ValueId a = g.add_node({"a", "Frobnicate", {x}, {}, {}});
  const ir::ValueId b = g.add_node({"b", "Relu", {a}, {}, {}});
  const ir::ValueId c = g.add_node({"c", "Frobnicate", {b}, {}, {}});
  g.outputs = {g.add_node({"d", "Quux", {c}, {}, {}})};
  try {
    verify(g);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("Frobnicate (2), Quux (1)"), std::string::npos) << e.what();
  }
}

TEST(Table, IsSortedAndComplete) {
  const auto ops = all();
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end(),
                             [](const OpDef* a, const OpDef* b) { return a->name < b->name; }));
  for (const OpDef* op : ops) {
    SCOPED_TRACE(op->name);
    EXPECT_EQ(find(op->name), op);
    EXPECT_NE(op->infer, nullptr);
    if (op->is(kElementwiseUnary)) {
      EXPECT_EQ(op->min_inputs, 1);
    }
    if (op->is(kElementwiseBinary)) {
      EXPECT_EQ(op->min_inputs, 2);
    }
  }
  EXPECT_EQ(find("Nothing"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

TEST(MultiplyAdds, CountEachProduct) {
  const TensorType x{DType::f32, {1, 4, 8, 8}}, w{DType::f32, {6, 2, 3, 3}};
  const std::vector<TensorType> y{{DType::f32, {1, 6, 8, 8}}};
  const std::vector<const TensorType*> inputs{&x, &w};
  const ir::Node conv{"c", "Conv", {0, 1}, {2}, {}};
  EXPECT_EQ(find("Conv")->multiply_adds(conv, inputs, y), 6 * 64 * 2 * 9);
}

}  // namespace
}  // namespace saccade::ops
