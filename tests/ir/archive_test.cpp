#include "ir/archive.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/dump.h"
#include "saccade/error.h"

namespace saccade::ir {
namespace {

Graph sample() {
  Graph inner;
  inner.name = "inner";
  inner.outputs = {inner.add_constant("one", Tensor::of<float>({1}, {1.0f}))};
  Graph graph;
  graph.name = "outer";
  Value x;
  x.name = "x";
  x.shape = Shape{-1, 3};
  x.dim_names = {"N", ""};
  graph.inputs = {graph.add_value(x)};
  Value unknown;
  unknown.name = "unknown";
  unknown.dtype = DType::i64;
  graph.inputs.push_back(graph.add_value(unknown));
  const ValueId w = graph.add_constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const ValueId empty = graph.add_constant("empty", Tensor(DType::u8, {0, 4}));
  Node node{"n", "If", {graph.inputs[0], kNoValue, w, empty}, {}, {}};
  node.attributes = {{"a", std::int64_t{-5}},
                     {"b", 0.25f},
                     {"c", std::string("text")},
                     {"d", std::vector<std::int64_t>{1, 2}},
                     {"e", std::vector<float>{}},
                     {"f", std::vector<std::string>{"p", ""}},
                     {"g", Tensor::of<std::int32_t>({3}, {7, 8, 9})},
                     {"h", std::make_shared<const Graph>(inner)}};
  graph.outputs = {graph.add_node(node, 2)};
  return graph;
}

Tensor nothing(ValueId, DType dtype, const Shape& shape) {
  if (element_count(shape) > 1000) throw Error(ErrorCode::limit, "too large");
  return Tensor::zeros(dtype, shape);
}

std::vector<std::byte> bytes_of(const Graph& graph, const std::function<bool(ValueId)>& with_data = nullptr) {
  ArchiveWriter out;
  write_graph(out, graph, with_data);
  return out.bytes();
}

TEST(GraphArchive, ReturnsTheGraph) {
  const Graph graph = sample();
  const std::vector<std::byte> bytes = bytes_of(graph);
  ArchiveReader in(bytes);
  const Graph back = read_graph(in, nothing);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(dump(back), dump(graph));
  EXPECT_EQ(bytes_of(back), bytes);  // also what the dump does not show
  EXPECT_EQ(back.values[0].dim_names[0], "N");
  EXPECT_FALSE(back.values[1].shape.has_value());
}

TEST(GraphArchive, LeavesDataOut) {
  const Graph graph = sample();
  const std::vector<std::byte> bytes = bytes_of(graph, [](ValueId id) { return id != 2; });
  EXPECT_EQ(bytes.size(), bytes_of(graph).size() - 16);
  std::vector<ValueId> asked;
  ArchiveReader in(bytes);
  const Graph back = read_graph(in, [&](ValueId id, DType dtype, const Shape& shape) {
    asked.push_back(id);
    EXPECT_EQ(dtype, DType::f32);
    EXPECT_EQ(shape, (Shape{2, 2}));
    return nothing(id, dtype, shape);
  });
  EXPECT_EQ(asked, std::vector<ValueId>{2});
  EXPECT_EQ(back.values[2].constant->data<float>()[3], 0.0f);
}

TEST(GraphArchive, RefusesDamage) {
  const std::vector<std::byte> whole = bytes_of(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ArchiveReader in{std::span(whole).first(size)};
    EXPECT_THROW(read_graph(in, nothing), Error) << size;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::byte> bytes = whole;
    for (int k = 0; k < 2; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    ArchiveReader in(bytes);
    try {
      read_graph(in, nothing);
    } catch (const Error&) {
      // Either is fine; nothing else may happen.
    }
  }
}

}  // namespace
}  // namespace saccade::ir
