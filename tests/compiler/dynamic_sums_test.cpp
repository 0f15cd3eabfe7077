// Networks that quantise by the range of each picture: the same bits by arithmetic in single precision.
#include "compiler/passes/dynamic_sums.h"

#include <cstring>
#include <functional>

#include "interpret/interpreter.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

template <class T>
Id bytes(GraphMaker& m, const Shape& shape, const std::function<int(std::int64_t)>& value) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(value(static_cast<std::int64_t>(i)));
  return m.graph.add_constant("b" + std::to_string(m.graph.values.size()),
                              Tensor::of<T>(shape, std::span<const T>(values)));
}

int scattered(std::int64_t i) { return static_cast<int>(i * 37 % 255) - 127; }

Id quantise(GraphMaker& m, Id x) { return m.node("DynamicQuantizeLinear", {x}, {}, 3); }

Id as_floats(GraphMaker& m, Id x) {
  return m.node("Cast", {x}, {{"to", std::string(dtype_name(DType::f32))}});
}

Tensor picture(const Shape& shape, float low, float high) {
  Tensor x(DType::f32, shape);
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(low, high);
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = uniform(engine);
  return x;
}

void expect_same_bits(const ir::Graph& before, const ir::Graph& after, const Tensor& in) {
  const std::vector<Tensor> a = interpret::run(before, std::span(&in, 1)),
                            b = interpret::run(after, std::span(&in, 1));
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].dtype(), b[i].dtype());
    ASSERT_EQ(a[i].shape(), b[i].shape());
    EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()), 0) << "result " << i;
  }
}

// The pass for units of floats, and for units that multiply bf16.
void wide(ir::Graph& graph) { dynamic_sums(graph, {}); }
void narrow(ir::Graph& graph) {
  Options options;
  options.isa = Isa::avx512_bf16;
  dynamic_sums(graph, options);
}
constexpr auto kWays = {wide, narrow};

TEST(DynamicSums, QuantisesByTheRangeOfThePicture) {
  GraphMaker m;
  const Id y = quantise(m, m.input("x", {1, 3, 6, 7}));
  const ir::Graph before = m.finish({y, y + 1, y + 2});
  const ir::Graph g = apply(wide, before);
  EXPECT_EQ(count(g, "DynamicQuantizeLinear"), 0u);
  constexpr std::pair<float, float> kRanges[] = {
      {-1, 1},     {0.5f, 2},         {-3, -0.25f},    {0, 0},     {-1e-44f, 1e-44f},
      {0, 1e-42f}, {-1e-38f, 2e-38f}, {-1e30f, 1e37f}, {-0.1f, 90}};
  for (const auto& [low, high] : kRanges) expect_same_bits(before, g, picture({1, 3, 6, 7}, low, high));
}

TEST(DynamicSums, ConvolvesWholeNumbers) {
  for (const std::int64_t group : {1, 4})
    for (const bool points : {false, true}) {
      GraphMaker m;
      const Id q = quantise(m, m.input("x", {2, 4, 6, 7}));
      std::vector<Id> inputs{
          q, bytes<std::uint8_t>(m, {8, 4 / group, 3, 3}, [](std::int64_t i) { return scattered(i) + 127; }),
          q + 2};
      if (points)
        inputs.push_back(
            bytes<std::uint8_t>(m, {8}, [](std::int64_t i) { return 120 + static_cast<int>(i); }));
      const Id sums = m.node("ConvInteger", inputs,
                             {{"pads", Integers{1, 0, 1, 2}}, {"strides", Integers{1, 2}}, {"group", group}});
      const Id y = m.node("Mul", {as_floats(m, sums), m.node("Mul", {q + 1, m.scalar(0.01f)})});
      const ir::Graph before = m.finish({y, sums});
      for (const auto way : kWays) {
        const ir::Graph g = apply(way, before);
        EXPECT_EQ(count(g, "ConvInteger"), 0u);
        EXPECT_EQ(count(g, "Conv"), 1u);
        const bool stored = g.value(testing::find(g, "Conv")->inputs[0]).dtype == DType::bf16;
        EXPECT_EQ(stored, way == narrow && group == 1);
        expect_same_bits(before, g, picture({2, 4, 6, 7}, -2, 3));
      }
    }
}

TEST(DynamicSums, AddsLongSumsInParts) {
  for (const std::int64_t length : {100, 518, 519, 3000, 40000}) {
    GraphMaker m;
    const Id q = quantise(m, m.input("x", {3, length}));
    const Id sums = m.node("MatMulInteger",
                           {q,
                            bytes<std::int8_t>(m, {length, 2},
                                               [](std::int64_t i) {
                                                 return i % 2 == 0 ? (i % 6 == 0 ? -127 : 127) : scattered(i);
                                               }),
                            q + 2});
    const ir::Graph before = m.finish({as_floats(m, sums)});
    const ir::Graph g = apply(wide, before);
    EXPECT_EQ(count(g, "MatMulInteger"), 0u);
    EXPECT_EQ(count(g, "MatMul") > 1, length > 518);
    expect_same_bits(before, g, picture({3, length}, -0.01f, 1));
    expect_same_bits(before, g, picture({3, length}, -1, 0.8f));
  }
}

TEST(DynamicSums, ConvolvesManyChannelsInParts) {
  GraphMaker m;
  const Id q = quantise(m, m.input("x", {1, 300, 4, 5}));
  const Id sums = m.node(
      "ConvInteger",
      {q, bytes<std::int8_t>(m, {3, 300, 3, 3}, [](std::int64_t i) { return 127 - static_cast<int>(i % 3); }),
       q + 2},
      {{"pads", Integers{1, 1, 1, 1}}});
  const ir::Graph before = m.finish({as_floats(m, sums)});
  for (const auto way : kWays) {
    const ir::Graph g = apply(way, before);
    EXPECT_EQ(count(g, "ConvInteger"), 0u);
    EXPECT_GT(count(g, "Conv"), 2u);
    expect_same_bits(before, g, picture({1, 300, 4, 5}, -1, 2));
  }
}

TEST(DynamicSums, ConvolvesTokensWhereItMultipliesBf16) {
  for (const Shape& shape : {Shape{2, 6, 5}, Shape{12, 5}, Shape{1, 5}}) {
    GraphMaker m;
    const Id q = quantise(m, m.input("x", shape));
    const Id w = bytes<std::int8_t>(m, {5, 7}, scattered);
    const ir::Graph before = m.finish({as_floats(m, m.node("MatMulInteger", {q, w, q + 2}))});
    const ir::Graph g = apply(narrow, before);
    EXPECT_EQ(count(g, "MatMulInteger"), 0u);
    EXPECT_EQ(count(g, "Conv"), shape[0] == 1 ? 0u : 1u);  // a vector is no picture
    expect_same_bits(before, g, picture(shape, -1, 2));
  }
}

TEST(DynamicSums, LeavesWhatIsNotExact) {
  for (const bool output : {false, true}) {
    GraphMaker m;
    const std::int64_t length = output ? 3000 : 70000;  // whole numbers of 25 bits, sums that may wrap
    const Id q = quantise(m, m.input("x", {1, length}));
    const Id w = bytes<std::int8_t>(m, {length, 1}, [](std::int64_t) { return 127; });
    const Id sums = m.node("MatMulInteger", {q, w, q + 2});
    const ir::Graph g = apply(wide, m.finish({output ? sums : as_floats(m, sums)}));
    EXPECT_EQ(count(g, "MatMulInteger"), 1u);
  }
  // Kernels may add what they multiply by 0 and 1 otherwise.
  GraphMaker m;
  const Id q = quantise(m, m.input("x", {1, 8, 6, 7}));
  const Id ones = bytes<std::int8_t>(m, {8, 8, 3, 3}, [](std::int64_t i) { return static_cast<int>(i % 2); });
  const ir::Graph g = apply(wide, m.finish({m.node("ConvInteger", {q, ones, q + 2})}));
  EXPECT_EQ(count(g, "ConvInteger"), 1u);
}

TEST(DynamicSums, MultipliesTwoPictures) {
  for (const std::int64_t length : {258, 259}) {
    GraphMaker m;
    const Id x = m.input("x", {2, 3, length});
    const Id a = quantise(m, x), b = quantise(m, m.transpose(x, {0, 2, 1}));
    const ir::Graph before = m.finish({as_floats(m, m.node("MatMulInteger", {a, b, a + 2, b + 2}))});
    const ir::Graph g = apply(wide, before);
    EXPECT_EQ(count(g, "MatMulInteger"), length > 258 ? 1u : 0u);
    expect_same_bits(before, g, picture({2, 3, length}, -1, 0.5f));
  }
}

TEST(DynamicSums, MakesBytesRealAgain) {
  GraphMaker m;
  const Id q = quantise(m, m.input("x", {2, 3, 7}));
  const Id turned = m.transpose(q, {0, 2, 1});
  const ir::Graph before = m.finish({m.node("DequantizeLinear", {turned, q + 1, q + 2})});
  const ir::Graph g = apply(wide, before);
  EXPECT_EQ(count(g, "DequantizeLinear"), 0u);
  expect_same_bits(before, g, picture({2, 3, 7}, -1, 0.5f));
}

}  // namespace
}  // namespace saccade::compiler
