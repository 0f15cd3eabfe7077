#include "compiler/passes/lower_to_bf16.h"

#include <algorithm>
#include <cmath>

#include "compiler/compile.h"
#include "compiler/pipeline.h"
#include "interpret/interpreter.h"
#include "passes_test.h"
#include "random_network.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;

Options narrow(std::vector<std::string> fp32_layers = {}) {
  Options options;
  options.precision = Precision::bf16;
  options.fp32_layers = std::move(fp32_layers);
  return options;
}

/// The graph after the pass alone, with types inferred anew.
ir::Graph lowered(ir::Graph graph, const Options& options = narrow()) {
  lower_to_bf16(graph, options);
  ops::verify(graph);
  ops::infer_graph(graph);
  dead_code(graph);
  return graph;
}

/// The type of what the first node of that operator returns.
DType result(const ir::Graph& graph, std::string_view op) {
  const ir::Node* node = testing::find(graph, op);
  EXPECT_NE(node, nullptr) << op;
  return node != nullptr ? graph.value(node->outputs[0]).dtype : DType::boolean;
}

/// What a node of that name reads as input `slot`.
DType read(const ir::Graph& graph, const std::string& name, std::size_t slot = 0) {
  for (const ir::Node& node : graph.nodes)
    if (node.name == name) return graph.value(node.inputs.at(slot)).dtype;
  ADD_FAILURE() << "no node " << name;
  return DType::boolean;
}

std::size_t narrow_values(const ir::Graph& graph) {
  std::size_t n = 0;
  for (const ir::Node& node : graph.nodes)
    for (const Id id : node.outputs) n += id != ir::kNoValue && graph.value(id).dtype == DType::bf16 ? 1 : 0;
  return n;
}

TEST(LowerToBf16, NothingUnlessAskedFor) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const ir::Graph g = m.finish({m.conv(m.conv(x, 3, 8), 8, 2)});
  for (const Precision precision : {Precision::fp32, Precision::int8}) {
    Options options = narrow();
    options.precision = precision;
    EXPECT_EQ(narrow_values(lowered(g, options)), 0u);
  }
}

TEST(LowerToBf16, BetweenLayersOnly) {
  GraphMaker m;
  const Id x = m.input("x", {2, 3, 8, 10});
  const Id first = m.conv(m.node("Relu", {x}), 3, 8), second = m.conv(first, 8, 6),
           last = m.conv(second, 6, 2);
  const ir::Graph g = lowered(m.finish({m.node("Softmax", {last}, {{"axis", std::int64_t{1}}})}));
  EXPECT_EQ(count(g, "Cast"), 0u);
  EXPECT_EQ(narrow_values(g), 2u);
  EXPECT_EQ(result(g, "Relu"), DType::f32);
  EXPECT_EQ(result(g, "Softmax"), DType::f32);
  for (const ir::Node& node : g.nodes) {
    if (node.op != "Conv") continue;
    EXPECT_EQ(g.value(node.inputs[1]).dtype, DType::f32) << "weights";
    EXPECT_EQ(g.value(node.inputs[2]).dtype, DType::f32) << "bias";
  }
}

TEST(LowerToBf16, ResidualsGatesAndBlocks) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 9, 7});
  const auto block = [&](Id from) {
    const Id wide = m.node("HardSwish", {m.conv(from, 8, 24, 1)});
    const Id apart = m.node("Relu", {m.conv(wide, 24, 24, 3, 1, 24)});
    return m.node("Add", {from, m.conv(apart, 24, 8, 1)});
  };
  const Id stem = m.conv(x, 3, 8, 3), one = block(stem), two = block(one);
  const Id gate = m.node("Sigmoid", {m.conv(m.node("GlobalAveragePool", {two}), 8, 8, 1)});
  const Id gated = m.conv(m.node("Mul", {two, gate}), 8, 8, 1);
  Options options = narrow();
  options.input_shapes = {{1, 3, 9, 7}};
  const ir::Graph g = optimise(m.finish({m.conv(m.node("Relu", {gated}), 8, 2)}), options);
  EXPECT_EQ(count(g, "InvertedResidual"), 2u);
  EXPECT_EQ(count(g, "Cast"), 0u);
  EXPECT_EQ(result(g, "InvertedResidual"), DType::bf16);
  EXPECT_EQ(result(g, "ReduceMean"), DType::f32);
  for (const ir::Node& node : g.nodes)
    if (node.op == "Conv" && node.has_input(4)) {
      EXPECT_EQ(g.value(node.inputs[4]).dtype, DType::f32) << "gate";
      EXPECT_EQ(g.value(node.inputs[0]).dtype, DType::bf16);
    }
}

TEST(LowerToBf16, CoarseLayersAreThoseThatMayBe) {
  GraphMaker m;
  Id x = m.input("x", {1, 3, 8, 8});
  x = m.conv(m.conv(m.conv(m.conv(x, 3, 8), 8, 8), 8, 8, 1), 8, 8, 3, 2);  // 3x3, 3x3, 1x1, 3x3 with stride 2
  const ir::Graph g = m.finish({m.conv(m.conv(m.conv(x, 8, 8, 3, 1, 8), 8, 8), 8, 2, 1)});
  std::vector<std::string> convolutions;
  for (const ir::Node& node : g.nodes)
    if (node.op == "Conv")
      convolutions.push_back(node.name.empty() ? g.value(node.outputs[0]).name : node.name);
  const auto marked = [&](const Options& options) {
    std::vector<bool> result;
    for (const ir::Node& node : lowered(g, options).nodes)
      if (node.op == "Conv") result.push_back(node.integer("coarse", 0) != 0);
    return result;
  };
  Options options = narrow();
  EXPECT_EQ(marked(options), (std::vector<bool>{false, false, false, false, false, false, false}));
  options.coarse = true;
  EXPECT_EQ(marked(options), (std::vector<bool>{true, true, false, false, false, true, false}));
  options.exact_layers = {convolutions[1]};
  EXPECT_EQ(marked(options), (std::vector<bool>{true, false, false, false, false, true, false}));
  options.fp32_layers = {convolutions[5]};
  EXPECT_EQ(marked(options), (std::vector<bool>{true, false, false, false, false, false, false}));
  options.precision = Precision::fp32;
  EXPECT_EQ(marked(options), (std::vector<bool>{false, false, false, false, false, false, false}));
}

TEST(LowerToBf16, MoversTakeOneType) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id a = m.conv(x, 3, 8), b = m.conv(x, 3, 4);
  const Id pooled = m.node(
      "MaxPool", {a},
      {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  const Id large = m.node("Resize", {pooled, ir::kNoValue, ir::kNoValue, m.integers({1, 8, 8, 8})},
                          {{"mode", std::string("linear")}});
  // The picture itself and a constant among them are converted.
  const Id all = m.node("Concat", {large, b, x, m.random({1, 2, 8, 8})}, {{"axis", std::int64_t{1}}});
  const ir::Graph g = lowered(m.finish({m.conv(all, 17, 2)}));
  EXPECT_EQ(result(g, "MaxPool"), DType::bf16);
  EXPECT_EQ(result(g, "Resize"), DType::bf16);
  EXPECT_EQ(result(g, "Concat"), DType::bf16);
  EXPECT_EQ(count(g, "Cast"), 2u);
}

TEST(LowerToBf16, PooledBranchIsConvertedWhileItIsSmall) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id features = m.conv(x, 3, 8);
  const Id pooled = m.conv(m.node("GlobalAveragePool", {features}), 8, 4, 1);
  const Id spread = m.node("Resize", {pooled, ir::kNoValue, ir::kNoValue, m.integers({1, 4, 8, 8})},
                           {{"mode", std::string("nearest")}});
  const Id all = m.node("Concat", {m.conv(features, 8, 4), spread}, {{"axis", std::int64_t{1}}});
  const ir::Graph g = lowered(m.finish({m.conv(all, 8, 2)}));
  ASSERT_EQ(count(g, "Cast"), 1u);
  EXPECT_EQ(*g.value(testing::find(g, "Cast")->inputs[0]).shape, (Shape{1, 4, 1, 1}));
  EXPECT_EQ(result(g, "Concat"), DType::bf16);
}

TEST(LowerToBf16, WhatIsFloatAnywayIsNotConvertedToBeMoved) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id features = m.conv(x, 3, 8), side = m.conv(features, 8, 2), other = m.conv(features, 8, 2);
  const Id sides = m.node("Concat", {side, other}, {{"axis", std::int64_t{1}}});
  const ir::Graph g = lowered(m.finish({m.conv(sides, 4, 1), side, other}));
  EXPECT_EQ(count(g, "Cast"), 0u);
  EXPECT_EQ(narrow_values(g), 1u);
}

TEST(LowerToBf16, OperatorsThatNeedFloatsGetThem) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id a = m.conv(x, 3, 8);
  const Id normal = m.node("InstanceNormalization", {a, m.random({8}), m.random({8})});
  const Id sum = m.node("Add", {m.conv(normal, 8, 8), m.conv(a, 8, 8)});
  const ir::Graph g = lowered(m.finish({m.conv(sum, 8, 2)}));
  EXPECT_EQ(read(g, testing::find(g, "InstanceNormalization")->name), DType::f32);
  EXPECT_EQ(count(g, "Cast"), 1u);  // `a` is read by a convolution too
  EXPECT_EQ(count(g, "ElementwiseChain"), 1u);
  EXPECT_EQ(result(g, "ElementwiseChain"), DType::bf16);
}

TEST(LowerToBf16, WhatOnlyFloatReadersReadStaysFloat) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id normal = m.node("InstanceNormalization", {m.conv(x, 3, 8), m.random({8}), m.random({8})});
  const ir::Graph g = lowered(m.finish({m.conv(normal, 8, 2)}));
  EXPECT_EQ(narrow_values(g), 0u);
  EXPECT_EQ(count(g, "Cast"), 0u);
}

// What is one token a picture is a gate, wherever the batch stands: bits must not depend on it.
TEST(LowerToBf16, TheBatchDecidesNothing) {
  std::vector<std::size_t> narrow_ones;
  for (const std::int64_t batch : {1, 3}) {
    GraphMaker m;
    const Id picture = m.conv(m.input("x", {batch, 3, 8, 8}), 3, 8);
    Id y = m.reshape(m.node("GlobalAveragePool", {picture}), {1, -1, 8});
    for (int layer = 0; layer < 3; ++layer)
      y = m.node("LayerNormalization",
                 {m.node("MatMul", {y, m.random({8, 8})}), m.random({8}), m.random({8})});
    narrow_ones.push_back(
        narrow_values(lowered(m.finish({m.node("MatMul", {y, m.random({8, 4})}), m.conv(picture, 8, 2)}))));
  }
  EXPECT_EQ(narrow_ones[0], narrow_ones[1]);
}

TEST(LowerToBf16, TokensStayNarrowFromLayerToLayer) {
  GraphMaker m;
  const auto tokens = [&](Id id) { return m.transpose(m.reshape(id, {1, 8, 64}), {0, 2, 1}); };
  const auto picture = [&](Id id) { return m.reshape(m.transpose(id, {0, 2, 1}), {1, 8, 8, 8}); };
  const Id x = m.conv(m.input("x", {1, 3, 8, 8}), 3, 8);
  const Id normal = picture(m.node("LayerNormalization", {tokens(x), m.random({8}), m.random({8})}));
  const Id heads = m.node("Attention",
                          {tokens(m.conv(normal, 8, 8, 1)), tokens(m.conv(normal, 8, 8, 1)),
                           tokens(m.conv(normal, 8, 8, 1)), m.random({64, 64})},
                          {{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}});
  const Id sum = m.node("Add", {x, m.conv(picture(heads), 8, 8, 1)});
  const ir::Graph g = lowered(m.finish({m.conv(sum, 8, 2)}));
  EXPECT_EQ(count(g, "Cast"), 0u);
  EXPECT_EQ(result(g, "LayerNormalization"), DType::bf16);
  EXPECT_EQ(result(g, "Attention"), DType::bf16);
  const ir::Node* attention = testing::find(g, "Attention");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read(g, attention->name, i), DType::bf16) << i;
  EXPECT_EQ(read(g, attention->name, 3), DType::f32) << "mask";
  EXPECT_EQ(read(g, testing::find(g, "LayerNormalization")->name, 1), DType::f32) << "scale";
}

TEST(LowerToBf16, ProductsOfWhatIsNarrow) {
  GraphMaker m;
  const Id x = m.conv(m.input("x", {1, 3, 8, 8}), 3, 8), y = m.conv(x, 8, 8);
  const Id product = m.node("MatMul", {x, y});
  const Id scores = m.node("Softmax", {m.node("MatMul", {product, m.random({8, 8})})});
  const ir::Graph g = lowered(m.finish({m.conv(m.node("MatMul", {scores, x}), 8, 2)}));
  EXPECT_EQ(count(g, "Cast"), 0u);
  EXPECT_EQ(result(g, "MatMul"), DType::bf16);
  EXPECT_EQ(read(g, testing::find(g, "MatMul")->name, 1), DType::bf16);
  EXPECT_EQ(read(g, testing::find(g, "Softmax")->name), DType::f32);
  std::vector<DType> results;
  for (const ir::Node& node : g.nodes)
    if (node.op == "MatMul") results.push_back(g.value(node.outputs[0]).dtype);
  EXPECT_EQ(results, (std::vector<DType>{DType::bf16, DType::f32, DType::bf16}));
}

TEST(LowerToBf16, AttentionIsNarrowWhoeverReadsIt) {
  for (const bool floats : {false, true}) {
    GraphMaker m;
    const Id x = m.conv(m.input("x", {1, 3, 8, 8}), 3, 8);
    // Keys and values that are in fp32 are more than half of what would be converted.
    const auto side = [&](Id id) { return floats ? m.node("Softmax", {id}) : id; };
    const Id y = m.node("Attention", {m.conv(x, 8, 8), side(m.conv(x, 8, 8)), side(m.conv(x, 8, 8))});
    const ir::Graph g = lowered(m.finish({m.conv(m.node("Softmax", {y}), 8, 2)}));
    EXPECT_EQ(result(g, "Attention"), floats ? DType::f32 : DType::bf16);
    EXPECT_EQ(count(g, "Cast"), floats ? 0u : 1u);
  }
}

// What attention keeps of keys and values is what the network returns.
TEST(LowerToBf16, AttentionThatKeepsItsKeysStaysFloat) {
  GraphMaker m;
  const Id x = m.conv(m.input("x", {1, 3, 8, 8}), 3, 8);
  const Id y = m.conv(x, 8, 8, 1);
  const Id first = m.node("Attention", {y, y, y}, {}, 2), second = first + 1;
  const ir::Graph g = lowered(m.finish({m.conv(first, 8, 2), second}));
  EXPECT_EQ(result(g, "Attention"), DType::f32);
}

TEST(LowerToBf16, LayersThatShallStay) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const Id a = m.conv(x, 3, 8), b = m.conv(a, 8, 8), c = m.conv(b, 8, 8), d = m.conv(c, 8, 2);
  const ir::Graph whole = m.finish({d});
  const std::string kept = whole.nodes[1].name;
  const ir::Graph g = lowered(whole, narrow({kept}));
  EXPECT_EQ(read(g, kept), DType::f32);
  for (const ir::Node& node : g.nodes) {
    if (node.name == kept) {
      EXPECT_EQ(g.value(node.outputs[0]).dtype, DType::f32);
    }
  }
  EXPECT_EQ(read(g, whole.nodes[3].name), DType::bf16);
  EXPECT_EQ(narrow_values(lowered(whole, narrow({whole.nodes[0].name, kept, whole.nodes[2].name}))), 0u);
}

/// Layers that read bf16.
std::size_t narrow_layers(const ir::Graph& graph) {
  std::size_t n = 0;
  for (const ir::Node& node : graph.nodes)
    n += (node.op == "Conv" || node.op == "InvertedResidual") &&
                 graph.value(node.inputs[0]).dtype == DType::bf16
             ? 1
             : 0;
  return n;
}

// An activation in its convolution, a batch norm in its weights, an addition and three convolutions in a
// block.
TEST(LowerToBf16, LayersThatBecamePartsOfOthersStayToo) {
  GraphMaker m;
  const auto relu = [&](Id id) { return m.node("Relu", {id}); };
  Id x = relu(m.conv(m.input("x", {1, 3, 16, 16}), 3, 16));
  x = relu(m.conv(x, 16, 16));
  const std::size_t first = m.graph.nodes.size();
  Id y = relu(m.conv(x, 16, 48, 1));
  y = m.conv(y, 48, 48, 3, 1, 48);
  y = relu(m.node("BatchNormalization",
                  {y, m.random({48}), m.random({48}), m.random({48}), m.random({48}, 1, 2)}));
  y = m.conv(y, 48, 16, 1);
  y = m.node("Add", {x, y});
  const std::size_t last = m.graph.nodes.size();
  y = relu(m.conv(y, 16, 16));
  y = m.node("HardSwish", {m.conv(y, 16, 16)});
  const ir::Graph whole = m.finish({m.conv(y, 16, 4)});
  const auto optimised = [&](std::vector<std::string> kept) {
    Options options = narrow(std::move(kept));
    options.input_shapes = {{1, 3, 16, 16}};
    return optimise(whole, options);
  };
  const ir::Graph none = optimised({});
  ASSERT_EQ(count(none, "InvertedResidual"), 1u);
  for (std::size_t n = first; n + 1 < whole.nodes.size(); ++n) {
    const ir::Graph g = optimised({whole.nodes[n].name});
    EXPECT_LT(narrow_layers(g), narrow_layers(none)) << whole.nodes[n].name;
    if (n < last) {
      EXPECT_EQ(g.value(testing::find(g, "InvertedResidual")->inputs[0]).dtype, DType::f32)
          << whole.nodes[n].name;
    }
  }
  EXPECT_EQ(narrow_layers(optimised({"no such layer"})), narrow_layers(none));
}

TEST(LowerToBf16, ModelsOfBf16StayAsTheyAre) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 8, 8});
  const auto cast = [&](Id id) { return m.node("Cast", {id}, {{"to", std::string("bfloat16")}}); };
  const Id y = m.node("Conv", {cast(x), cast(m.random({4, 3, 3, 3}))});
  const ir::Graph g = m.finish({m.node("Relu", {y})});
  EXPECT_EQ(narrow_values(lowered(g)), narrow_values(g));
}

/// Whole networks stay close: bf16 keeps eight bits, and errors add up along some twenty layers.
TEST(LowerToBf16, RandomNetworksStayClose) {
  std::size_t narrow_ones = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Graph graph = testing::random_network(seed, seed % 2 == 1, 2);
    Options options = narrow();
    options.input_shapes = {*graph.value(graph.inputs[0]).shape};
    const ir::Graph lower = optimise(graph, options);
    options.precision = Precision::fp32;
    const ir::Graph plain = optimise(graph, options);
    narrow_ones += narrow_values(lower);
    Tensor picture(DType::f32, options.input_shapes[0]);
    for (std::int64_t i = 0; i < picture.count(); ++i)
      picture.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 504.5f - 1.0f;
    const std::vector<Tensor> pictures{picture};
    const std::vector<Tensor> want = interpret::run(plain, pictures), got = interpret::run(lower, pictures);
    for (std::size_t o = 0; o < want.size(); ++o) {
      ASSERT_EQ(want[o].dtype(), got[o].dtype());
      ASSERT_EQ(want[o].shape(), got[o].shape());
      if (want[o].dtype() != DType::f32) continue;
      double largest = 1e-6, error = 0;
      for (std::int64_t i = 0; i < want[o].count(); ++i) {
        const double w = static_cast<double>(want[o].data<float>()[i]),
                     g = static_cast<double>(got[o].data<float>()[i]);
        largest = std::max(largest, std::fabs(w));
        error = std::max(error, std::fabs(g - w));
      }
      EXPECT_LE(error, 0.05 * largest) << "output " << o;
    }
  }
  EXPECT_GT(narrow_ones, 200u);
}

}  // namespace
}  // namespace saccade::compiler
