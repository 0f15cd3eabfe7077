#include "compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/copy_step.h"
#include "compiler/layout.h"
#include "fake_target.h"
#include "graph_maker.h"

namespace saccade::compiler {
namespace {

using testing::GraphMaker;
using Integers = std::vector<std::int64_t>;

CompiledGraph compiled(const ir::Graph& graph, const Target& target = testing::fake_target()) {
  Options options;
  for (const ir::ValueId id : graph.inputs) options.input_shapes.push_back(*graph.value(id).shape);
  return compile(graph, target, options);
}

std::size_t count_op(const CompiledGraph& graph, std::string_view op) {
  return static_cast<std::size_t>(
      std::count_if(graph.steps.begin(), graph.steps.end(), [&](const Step& step) { return step.op == op; }));
}

TEST(Layout, RelabelsWhatLiesInOrder) {
  const Shape picture{2, 3, 4, 5};
  const TensorDesc plain{true, DType::f32, Layout::plain, picture, dense_strides(picture, Layout::plain)};
  EXPECT_TRUE(as_layout(plain, Layout::plain));
  EXPECT_FALSE(as_layout(plain, Layout::channels_last));
  const Shape point{2, 7, 1, 1};
  const TensorDesc vector{true, DType::f32, Layout::plain, point, dense_strides(point, Layout::plain)};
  ASSERT_TRUE(as_layout(vector, Layout::channels_last));
  EXPECT_TRUE(as_layout(vector, Layout::channels_last)->dense());
  const Shape mask{2, 1, 4, 5};
  const TensorDesc gray{true, DType::f32, Layout::channels_last, mask,
                        dense_strides(mask, Layout::channels_last)};
  EXPECT_TRUE(as_layout(gray, Layout::plain));
}

TEST(Layout, KeepsThePitchOfASlice) {
  const Shape dims{2, 3, 4, 5};
  const TensorDesc slice{true, DType::f32, Layout::channels_last, dims,
                         pitched_strides(dims, Layout::channels_last, 10)};
  const std::optional<TensorDesc> same = as_layout(slice, Layout::channels_last);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->strides, (Integers{200, 1, 50, 10}));
  EXPECT_FALSE(same->dense());
  EXPECT_EQ(span_elements(*same), 200 + 150 + 40 + 2 + 1);
}

TEST(Compile, ChannelsLastModelRunsOnTheCallersBuffers) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 8, 4});
  auto y = m.node("Relu", {m.to_nhwc(m.conv(m.to_nchw(x), 4, 16, 1))});
  y = m.to_nhwc(m.conv(m.to_nchw(y), 16, 4, 3));
  const CompiledGraph graph = compiled(m.finish({y}));
  ASSERT_EQ(graph.steps.size(), 2u);
  EXPECT_EQ(graph.steps[0].src[0].space, Operand::Space::input);
  EXPECT_EQ(graph.steps[0].src[0].desc.layout, Layout::channels_last);
  EXPECT_EQ(graph.steps[1].dst[0].space, Operand::Space::output);
}

TEST(Compile, ChannelsFirstModelIsReorderedAtItsBoundariesOnly) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 8, 8});
  const CompiledGraph graph = compiled(m.finish({m.conv(m.conv(x, 4, 16), 16, 5)}));
  ASSERT_EQ(graph.steps.size(), 4u);
  EXPECT_EQ(graph.steps[0].op, "Reorder");
  EXPECT_EQ(graph.steps[3].op, "Reorder");
}

GraphMaker::Id enlarge(GraphMaker& m, GraphMaker::Id x) {
  return m.node("Resize", {x, ir::kNoValue, m.floats({4}, {1, 1, 2, 2}), ir::kNoValue},
                {{"mode", std::string("linear")}});
}

TEST(Layout, ResizedPicturesThatLeaveAreMadeAsPlanes) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 8, 8});
  const auto features = m.conv(x, 4, 5);
  const auto larger = enlarge(m, features), twice = enlarge(m, m.conv(x, 4, 3));
  const auto mask = m.node("Sigmoid", {twice});
  const ir::Graph graph = m.finish({larger, mask, twice});
  const std::vector<Layout> layouts = choose_layouts(graph);
  EXPECT_EQ(layouts[static_cast<std::size_t>(features)], Layout::channels_last);
  for (const auto id : {larger, twice, mask})
    EXPECT_EQ(layouts[static_cast<std::size_t>(id)], Layout::plain) << graph.value(id).name;
}

TEST(Layout, ResizedPicturesThatOthersReadKeepTheirPixelsTogether) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 8, 8});
  const auto larger = enlarge(m, m.conv(x, 4, 5));
  const auto read = m.conv(larger, 5, 3);
  const auto other = enlarge(m, m.conv(x, 4, 5));
  const auto sum = m.node("Add", {other, larger});
  const std::vector<Layout> layouts = choose_layouts(m.finish({larger, read, sum}));
  for (const auto id : {larger, other, sum})
    EXPECT_EQ(layouts[static_cast<std::size_t>(id)], Layout::channels_last) << id;
}

TEST(Compile, OneChannelNeedsNoReorder) {
  GraphMaker m;
  const auto x = m.input("x", {1, 1, 8, 8});
  const CompiledGraph graph = compiled(m.finish({m.conv(m.conv(x, 1, 16), 16, 1)}));
  EXPECT_EQ(graph.steps.size(), 2u);
}

TEST(Compile, PartsAreComputedInTheirConcatenation) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 7, 3});
  const auto nchw = m.to_nchw(x);
  const auto a = m.conv(nchw, 3, 4);
  const auto b = m.conv(nchw, 3, 5, 1);
  const auto inner = m.node("Concat", {a, b}, {{"axis", std::int64_t{1}}});
  const auto c = m.conv(inner, 9, 2);
  const auto outer = m.node("Concat", {c, inner}, {{"axis", std::int64_t{1}}});
  const CompiledGraph graph = compiled(m.finish({m.to_nhwc(m.conv(outer, 11, 3))}));
  EXPECT_EQ(graph.steps.size(), 4u);
  EXPECT_EQ(count_op(graph, "Concat") + count_op(graph, "Reorder"), 0u);
  EXPECT_EQ(graph.steps[0].dst[0].desc.strides[3], 11);
  EXPECT_EQ(graph.steps[2].src[0].desc.strides[3], 11);
  EXPECT_EQ(graph.steps[1].dst[0].offset - graph.steps[0].dst[0].offset, 4u * sizeof(float));
}

TEST(Compile, PartsThatCannotBeComputedInPlaceAreCopied) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 6, 7});
  const auto a = m.conv(x, 3, 4);
  const auto pool =
      m.node("MaxPool", {a}, {{"kernel_shape", Integers{1, 1}}});  // its kernel writes dense values only
  const auto y = m.node("Concat", {x, a, pool, a}, {{"axis", std::int64_t{1}}});
  const CompiledGraph graph = compiled(m.finish({m.conv(y, 15, 2)}));
  EXPECT_EQ(count_op(graph, "Concat"), 0u);
  // x, the pool's result and the second use of a; the graph's input and output; a for the pool, which reads
  // dense values only.
  EXPECT_EQ(count_op(graph, "Reorder"), 6u);
}

TEST(Compile, SlicesAndSplitsOfChannelsAreViews) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 7, 8});
  const auto nchw = m.to_nchw(x);
  const auto a = m.node("Slice", {nchw, m.integers({2}), m.integers({5}), m.integers({1})});
  const auto parts =
      m.node("Split", {nchw}, {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}}, 2);
  const auto y = m.conv(a, 3, 2);
  const auto z = m.node("Add", {parts, static_cast<ir::ValueId>(parts + 1)});
  const CompiledGraph graph = compiled(m.finish({m.to_nhwc(y), m.to_nhwc(z)}));
  ASSERT_EQ(graph.steps.size(), 2u);
  EXPECT_EQ(graph.steps[0].src[0].offset, 2 * sizeof(float));
  EXPECT_EQ(graph.steps[0].src[0].desc.strides[3], 8);
}

TEST(Compile, ResidualIsWrittenOver) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 7, 4});
  const auto a = m.conv(m.to_nchw(x), 4, 4);
  const auto b = m.conv(m.node("MaxPool", {a}, {{"kernel_shape", Integers{1, 1}}}), 4, 4);
  const auto c = m.node("Add", {b, a});
  const CompiledGraph graph =
      compiled(m.finish({m.to_nhwc(m.node("MaxPool", {c}, {{"kernel_shape", Integers{1, 1}}}))}));
  ASSERT_EQ(graph.steps.size(), 4u);
  ASSERT_EQ(graph.steps[2].src.size(), 4u);
  EXPECT_EQ(graph.steps[2].dst[0].offset, graph.steps[2].src[3].offset);
}

TEST(Compile, UnsupportedEpiloguesAreSplitOff) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const auto y = m.node("Relu", {m.node("Add", {m.conv(x, 4, 4), x})});
  const CompiledGraph graph = compiled(m.finish({y}), testing::modest_target());
  EXPECT_EQ(count_op(graph, "Conv"), 1u);
  EXPECT_EQ(count_op(graph, "ElementwiseChain"), 1u);
  EXPECT_TRUE(std::none_of(graph.steps.begin(), graph.steps.end(),
                           [](const Step& s) { return s.kernel->reference; }));
}

TEST(Compile, WithoutKernelsEverythingIsAReferenceStep) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const CompiledGraph graph =
      compiled(m.finish({m.conv(x, 4, 4), m.node("Softmax", {x})}), testing::empty_target());
  EXPECT_EQ(count_op(graph, "Conv"), 1u);
  for (const Step& step : graph.steps) EXPECT_TRUE(step.kernel->reference || step.kernel == &copy_kernel());
}

TEST(Compile, CountsMultiplyAdds) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const CompiledGraph graph = compiled(m.finish({m.conv(x, 4, 8)}));
  std::int64_t total = 0;
  for (const Step& step : graph.steps) total += step.multiply_adds;
  EXPECT_EQ(total, 6 * 7 * 8 * 4 * 9);
}

TEST(Compile, CountsMultiplyAddsWithoutPadding) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  // Taps three apart: of 6 rows the middle tap meets 6, the outer ones 3 each; of 7 columns 7 and 4 each.
  const auto far = m.node("Conv", {x, m.random({5, 4, 3, 3})},
                          {{"dilations", Integers{3, 3}}, {"pads", Integers{3, 3, 3, 3}}});
  const auto strided = m.node("Conv", {x, m.random({5, 4, 3, 3})},
                              {{"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}});
  const CompiledGraph graph = compiled(m.finish({m.conv(x, 4, 8), far, strided, m.conv(x, 4, 2, 1)}));
  std::vector<std::int64_t> needed;
  for (const Step& step : graph.steps) {
    if (step.op == "Conv") needed.push_back(step.needed_multiply_adds);
    EXPECT_LE(step.needed_multiply_adds, step.multiply_adds);
    EXPECT_LE(step.written_bytes, step.bytes);
  }
  EXPECT_THAT(needed, ::testing::UnorderedElementsAre(8 * 4 * (3 * 6 - 2) * (3 * 7 - 2), 5 * 4 * 12 * 15,
                                                      5 * 4 * (3 * 3 - 1) * (3 * 4 - 2), 2 * 4 * 42));
}

TEST(Compile, CountsBytesReadAndWritten) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const CompiledGraph graph = compiled(m.finish({m.node("Relu", {x})}));
  ASSERT_FALSE(graph.steps.empty());
  for (const Step& step : graph.steps) {  // the reorderings around it move as much
    EXPECT_EQ(step.written_bytes, 4 * 42 * 4);
    EXPECT_EQ(step.bytes, 2 * 4 * 42 * 4);
  }
}

TEST(Compile, InputsConstantsAndRepeatsMayBeOutputs) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const auto y = m.node("Relu", {x});
  const CompiledGraph graph = compiled(m.finish({x, y, y, m.node("Shape", {x}), m.reshape(y, {6})}));
  EXPECT_EQ(graph.outputs.size(), 5u);
  EXPECT_EQ(count_op(graph, "Reorder"), 4u);
}

TEST(CopyStep, AnyStrides) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const Shape& dims : {Shape{2, 3, 4, 5}, Shape{1, 1, 1, 1}, Shape{3, 1, 7, 1}, Shape{1, 300, 40, 50},
                              Shape{100000}, Shape{}}) {
      const TensorDesc from{true, dtype, Layout::plain, dims, dense_strides(dims, Layout::plain)};
      const std::int64_t pitch = (dims.size() == 4 ? dims[1] : dims.empty() ? 1 : dims.back()) + 3;
      const TensorDesc to{
          true, dtype, Layout::channels_last, dims,
          pitched_strides(dims, dims.size() == 4 ? Layout::channels_last : Layout::plain, pitch)};
      const std::size_t size = dtype_size(dtype);
      std::vector<std::byte> src(static_cast<std::size_t>(from.count()) * size);
      std::vector<std::byte> dst(static_cast<std::size_t>(span_elements(to)) * size, std::byte{0xee});
      for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(i * 31 % 251);
      const ir::Node node{"copy", "Reorder", {0}, {1}, {}};
      const KernelQuery query{node, {&from, 1}, {}, {&to, 1}, Precision::fp32};
      ASSERT_EQ(copy_kernel().can_run(query), nullptr);
      const PreparedKernel prepared = copy_kernel().prepare(query);
      const void* in = src.data();
      void* out = dst.data();
      for (std::int64_t t = 0; t < prepared.phase_tasks[0]; ++t)
        copy_kernel().fn({prepared.state.get(), &in, &out, nullptr, nullptr, 0, t, t + 1, nullptr});
      std::size_t wrong = 0;
      std::vector<std::int64_t> index(dims.size(), 0);
      for (std::int64_t i = 0; i < from.count(); ++i) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) offset += index[d] * to.strides[d];
        for (std::size_t b = 0; b < size; ++b)
          if (dst[static_cast<std::size_t>(offset) * size + b] != src[static_cast<std::size_t>(i) * size + b])
            ++wrong;
        for (std::size_t d = dims.size(); d-- > 0;) {
          if (++index[d] < dims[d]) break;
          index[d] = 0;
        }
      }
      EXPECT_EQ(wrong, 0u) << shape_string(dims) << " " << dtype_name(dtype);
    }
  }
}

}  // namespace
}  // namespace saccade::compiler
