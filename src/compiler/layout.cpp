#include "compiler/layout.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/edit.h"
#include "compiler/quantised.h"
#include "ops/inverted_residual.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

// Operators with pixels: they want the channels of a pixel together.
constexpr std::array<std::string_view, 14> kSpatial{"Conv",
                                                    "ConvTranspose",
                                                    "MaxPool",
                                                    "AveragePool",
                                                    "GlobalAveragePool",
                                                    "QLinearConv",
                                                    "Resize",
                                                    "DepthToSpace",
                                                    "SpaceToDepth",
                                                    "InstanceNormalization",
                                                    "InvertedResidual",
                                                    "GridSample",
                                                    "DeformConv",
                                                    "MaxUnpool"};
// Operators that work in any order, as long as input and output share it.
constexpr std::array<std::string_view, 13> kIndifferent{
    "ElementwiseChain",   "Concat", "Split", "Slice",       "Pad", "Softmax", "LogSoftmax", "Where", "Clip",
    "BatchNormalization", "ArgMax", "Cast",  "ResizeArgMax"};

template <std::size_t N>
bool one_of(std::string_view op, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

bool indifferent(const ir::Node& node) {
  if (one_of(node.op, kIndifferent) || node.op.starts_with("Reduce")) return true;
  const ops::OpDef* op = ops::find(node.op);
  return op != nullptr && (op->is(ops::kElementwiseUnary) || op->is(ops::kElementwiseBinary));
}

// Logical axes from outermost to innermost.
std::vector<std::size_t> order_of(std::size_t rank, Layout layout) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rank; ++i)
    if (layout == Layout::plain || rank < 3 || i != 1) order.push_back(i);
  if (order.size() < rank) order.push_back(1);
  return order;
}

bool elementwise(const ir::Node& node) {
  if (node.op == "ElementwiseChain" || node.op == "Clip") return true;
  const ops::OpDef* op = ops::find(node.op);
  return op != nullptr && (op->is(ops::kElementwiseUnary) || op->is(ops::kElementwiseBinary));
}

// What a Resize makes is large, so it should be made in the order in which it leaves: as planes, where all
// that becomes of it is outputs of the graph, by way of elementwise work at most.
void keep_planes(const ir::Graph& graph, std::vector<Layout>& layouts) {
  std::vector<std::vector<const ir::Node*>> users(graph.values.size());
  for (const ir::Node& node : graph.nodes)
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue) users[static_cast<std::size_t>(id)].push_back(&node);
  std::vector<bool> leaves(graph.values.size(), false);
  for (const ir::ValueId id : graph.outputs) leaves[static_cast<std::size_t>(id)] = true;
  for (const ir::Node& resize : graph.nodes) {
    if (resize.op != "Resize" || !is_picture(graph, resize.outputs[0])) continue;
    std::vector<ir::ValueId> made{resize.outputs[0]};
    const auto known = [&](ir::ValueId id) {
      return id == ir::kNoValue || graph.value(id).constant ||
             std::find(made.begin(), made.end(), id) != made.end();
    };
    bool stays = true;
    for (std::size_t i = 0; i < made.size() && stays; ++i) {
      const auto at = static_cast<std::size_t>(made[i]);
      stays = leaves[at] || !users[at].empty();
      for (const ir::Node* user : users[at]) {
        stays = stays && elementwise(*user) && std::all_of(user->inputs.begin(), user->inputs.end(), known);
        if (stays && !known(user->outputs[0])) made.push_back(user->outputs[0]);
      }
    }
    if (!stays) continue;
    for (const ir::ValueId id : made) layouts[static_cast<std::size_t>(id)] = Layout::plain;
  }
}

// Bytes that leave as real numbers change their order as bytes.
void make_real_last(const ir::Graph& graph, std::vector<Layout>& layouts) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const ir::Node& node : graph.nodes)
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue) ++uses[static_cast<std::size_t>(id)];
  for (const ir::Node& node : graph.nodes) {
    if (!elementwise(node) || node.outputs.size() != 1) continue;
    const ir::ValueId made = node.outputs[0];
    const bool leaves = std::find(graph.outputs.begin(), graph.outputs.end(), made) != graph.outputs.end();
    const bool bytes = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
      return id != ir::kNoValue && (graph.value(id).constant || is_byte(graph.value(id).dtype));
    });
    if (leaves && bytes && uses[static_cast<std::size_t>(made)] == 0 && graph.value(made).dtype == DType::f32)
      layouts[static_cast<std::size_t>(made)] = Layout::plain;
  }
}

}  // namespace

bool is_picture(const ir::Graph& graph, ir::ValueId id) {
  const Shape* shape = known_shape(graph, id);
  const DType dtype = graph.value(id).dtype;
  return shape != nullptr && shape->size() == 4 &&
         (dtype == DType::f32 || dtype == DType::bf16 || is_byte(dtype));
}

std::vector<Layout> choose_layouts(const ir::Graph& graph) {
  std::vector<Layout> layouts(graph.values.size(), Layout::plain);
  const auto mark = [&](ir::ValueId id) {
    if (id == ir::kNoValue || !is_picture(graph, id) ||
        layouts[static_cast<std::size_t>(id)] == Layout::channels_last)
      return false;
    layouts[static_cast<std::size_t>(id)] = Layout::channels_last;
    return true;
  };
  for (const ir::Node& node : graph.nodes) {
    if (!one_of(node.op, kSpatial)) continue;
    if (!node.inputs.empty()) mark(node.inputs[0]);
    if (node.op == "Conv" && node.has_input(3)) mark(node.inputs[3]);
    if (node.op == "InvertedResidual" && node.has_input(ops::kBlockResidual))
      mark(node.inputs[ops::kBlockResidual]);
    for (const ir::ValueId id : node.outputs) mark(id);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Node& node : graph.nodes) {
      if (!indifferent(node)) continue;
      const auto marked = [&](ir::ValueId id) {
        return id != ir::kNoValue && layouts[static_cast<std::size_t>(id)] == Layout::channels_last;
      };
      if (std::none_of(node.inputs.begin(), node.inputs.end(), marked) &&
          std::none_of(node.outputs.begin(), node.outputs.end(), marked))
        continue;
      for (const ir::ValueId id : node.inputs) changed = mark(id) || changed;
      for (const ir::ValueId id : node.outputs) changed = mark(id) || changed;
    }
  }
  keep_planes(graph, layouts);
  make_real_last(graph, layouts);
  return layouts;
}

std::vector<std::int64_t> pitched_strides(const Shape& dims, Layout layout, std::int64_t pitch) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  const std::vector<std::size_t> order = order_of(dims.size(), layout);
  std::int64_t stride = pitch;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (i + 1 == order.size()) continue;  // the innermost has stride 1
    strides[order[i]] = stride;
    stride *= std::max<std::int64_t>(dims[order[i]], 1);
  }
  return strides;
}

std::optional<TensorDesc> as_layout(const TensorDesc& desc, Layout layout) {
  const std::size_t rank = desc.rank();
  TensorDesc result = desc;
  result.layout = layout;
  if (rank == 0) return result;
  if (layout == Layout::channels_last && rank < 3) return std::nullopt;
  const std::vector<std::size_t> order = order_of(rank, layout);
  const std::int64_t inner = desc.dims[order.back()];
  std::int64_t pitch = std::max<std::int64_t>(inner, 1);
  // The next dimension that is longer than 1 tells the pitch.
  for (std::size_t i = order.size() - 1; i-- > 0;) {
    if (desc.dims[order[i]] <= 1) continue;
    pitch = desc.strides[order[i]];
    break;
  }
  if (pitch < inner) return std::nullopt;
  result.strides = pitched_strides(desc.dims, layout, pitch);
  for (std::size_t i = 0; i < rank; ++i)
    if (desc.dims[i] > 1 && result.strides[i] != desc.strides[i]) return std::nullopt;
  return result;
}

std::int64_t span_elements(const TensorDesc& desc) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < desc.rank(); ++i) {
    if (desc.dims[i] == 0) return 0;
    last += (desc.dims[i] - 1) * desc.strides[i];
  }
  return last + 1;
}

}  // namespace saccade::compiler
