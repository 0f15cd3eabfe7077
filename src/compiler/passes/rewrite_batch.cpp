#include "compiler/passes/rewrite_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compiler/edit.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

using ops::TensorType;

// One walk over the graph for one batch size: types of values, and data of those that are known (shape
// arithmetic).
struct Walk {
  std::vector<std::optional<TensorType>> types;
  std::vector<std::optional<Tensor>> data;

  explicit Walk(const ir::Graph& graph) : types(graph.values.size()), data(graph.values.size()) {
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      if (const std::optional<Tensor>& constant = graph.values[i].constant)
        set(static_cast<ir::ValueId>(i), *constant);
  }
  void grow(const ir::Graph& graph) {
    types.resize(graph.values.size());
    data.resize(graph.values.size());
  }
  void set(ir::ValueId id, Tensor tensor) {
    const auto i = static_cast<std::size_t>(id);
    types[i] = TensorType{tensor.dtype(), tensor.shape()};
    data[i] = std::move(tensor);
  }
  const Shape& shape(ir::ValueId id) const { return types[static_cast<std::size_t>(id)]->shape; }
  bool known(ir::ValueId id) const {
    return id == ir::kNoValue || data[static_cast<std::size_t>(id)].has_value();
  }

  std::optional<std::vector<TensorType>> infer(const ir::Node& node) const {
    std::vector<const TensorType*> inputs;
    std::vector<const Tensor*> constants;
    for (const ir::ValueId id : node.inputs) {
      const auto i = static_cast<std::size_t>(id);
      inputs.push_back(id == ir::kNoValue ? nullptr : &*types[i]);
      constants.push_back(id == ir::kNoValue || !data[i] ? nullptr : &*data[i]);
    }
    return ops::infer_node(node, inputs, constants);
  }
  void evaluate(const ir::Node& node, const ir::Graph& graph) {
    std::vector<Tensor> stand_ins(node.inputs.size());
    std::vector<const Tensor*> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ir::ValueId id = node.inputs[k];
      const auto i = static_cast<std::size_t>(id);
      if (id != ir::kNoValue && !data[i])
        stand_ins[k] = Tensor::view(types[i]->dtype, types[i]->shape, nullptr, nullptr);
      inputs.push_back(id == ir::kNoValue ? nullptr : data[i] ? &*data[i] : &stand_ins[k]);
    }
    std::vector<Tensor> outputs = ops::evaluate_node(node, graph, inputs);
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k)
      if (node.outputs[k] != ir::kNoValue) set(node.outputs[k], std::move(outputs[k]));
  }
};

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

// Each sample by itself where operands have the result's dimensions, as operators on two elements.
constexpr std::array<std::string_view, 3> kBroadcasting{"Where", "PRelu", "Expand"};
// Each sample by itself, whatever the attributes (the shapes are compared afterwards in any case).
constexpr std::array<std::string_view, 19> kPerSample{"Conv",
                                                      "ConvTranspose",
                                                      "MaxPool",
                                                      "AveragePool",
                                                      "GlobalAveragePool",
                                                      "GlobalMaxPool",
                                                      "BatchNormalization",
                                                      "InstanceNormalization",
                                                      "GroupNormalization",
                                                      "DepthToSpace",
                                                      "SpaceToDepth",
                                                      "Clip",
                                                      "Cast",
                                                      "Identity",
                                                      "Resize",
                                                      "Reshape",
                                                      "Dropout",
                                                      "QuantizeLinear",
                                                      "DequantizeLinear"};
// Each sample by itself unless `axis` is the leading one.
constexpr std::array<std::string_view, 9> kAlongAxis{
    "Softmax", "LogSoftmax", "Concat", "Split", "ArgMax", "ArgMin", "Flatten", "TopK", "LayerNormalization"};
// Each sample by itself unless the list of axes (an input) holds the leading one.
constexpr std::array<std::string_view, 12> kOverAxes{
    "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",       "ReduceProd",   "ReduceL1",
    "ReduceL2",   "Squeeze",   "Unsqueeze", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};

class Rewriter {
 public:
  Rewriter(ir::Graph& graph, const std::vector<Shape>& exported, const std::vector<Shape>& wanted)
      : graph_(graph), from_(graph), to_(graph), batched_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::ValueId id = graph.inputs[i];
      const auto v = static_cast<std::size_t>(id);
      from_.types[v] = TensorType{graph.value(id).dtype, exported[i]};
      to_.types[v] = TensorType{graph.value(id).dtype, wanted[i]};
      if (exported[i] == wanted[i]) continue;
      const std::int64_t a = exported[i][0];
      const std::int64_t b = wanted[i][0];
      if (numerator_ != 0 && numerator_ * a != denominator_ * b)
        throw Error(ErrorCode::shape_mismatch,
                    fmt::format("input '{}': batch {} does not fit those of the other inputs",
                                graph.value(id).name, b));
      numerator_ = b;
      denominator_ = a;
      batched_[v] = true;
    }
  }

  void run() {
    for (ir::Node& node : graph_.nodes) rewrite(node);
  }

 private:
  [[noreturn]] void refuse(const ir::Node& node, const std::string& why) const {
    throw Error(ErrorCode::unsupported,
                fmt::format("the model was exported for batch {} and cannot be compiled for batch {}: {} {}",
                            denominator_, numerator_, ir::describe(node, graph_), why));
  }

  // `shape` with its leading dimension scaled, or nullopt where that is no whole number.
  std::optional<Shape> scaled(const Shape& shape) const {
    if (shape.empty() || shape[0] * numerator_ % denominator_ != 0) return std::nullopt;
    Shape result = shape;
    result[0] = shape[0] * numerator_ / denominator_;
    return result;
  }

  bool batched(ir::ValueId id) const { return id != ir::kNoValue && batched_[static_cast<std::size_t>(id)]; }

  void rewrite(ir::Node& node) {
    const ops::OpDef& op = ops::get(node, graph_);
    const bool any_batched =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) { return batched(id); });
    const bool all_known =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) { return to_.known(id); });
    if (op.is(ops::kShapeArithmetic) || (all_known && !op.is(ops::kNondeterministic))) {
      from_.evaluate(node, graph_);
      to_.evaluate(node, graph_);
      return;
    }
    if (any_batched && !op.is(ops::kElementwiseUnary)) check(node, op);
    const std::optional<std::vector<TensorType>> before = from_.infer(node);
    if (!before) refuse(node, "has a shape that depends on data");
    if (any_batched) retarget(node, *before);
    std::optional<std::vector<TensorType>> after;
    try {
      after = to_.infer(node);
    } catch (const Error& e) {
      refuse(node, std::string("does not fit: ") + e.what());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNoValue) continue;
      const auto v = static_cast<std::size_t>(node.outputs[i]);
      from_.types[v] = (*before)[i];
      to_.types[v] = (*after)[i];
      const Shape& was = (*before)[i].shape;
      const Shape& is = (*after)[i].shape;
      if (is != was && op.is(ops::kNondeterministic)) refuse(node, "draws other numbers for other samples");
      if (is == scaled(was))
        batched_[v] = any_batched || is != was;
      else if (any_batched || is != was)
        refuse(node, fmt::format("turns from {} into {}, where samples would mix", shape_string(was),
                                 shape_string(is)));
    }
  }

  // Broadcasting aligns at the right: where an operand has fewer dimensions than the result, its batch lies
  // beside another dimension of the result, which may happen to be as long.
  void check_broadcast(const ir::Node& node) const {
    std::size_t rank = 0;
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue && node.op != "Expand") rank = std::max(rank, from_.shape(id).size());
    if (node.op == "Expand")
      rank = std::max(from_.shape(node.inputs[0]).size(),
                      static_cast<std::size_t>(element_count(from_.shape(node.inputs[1]))));
    for (const ir::ValueId id : node.inputs)
      if (batched(id) && from_.shape(id).size() != rank)
        refuse(node, "broadcasts the batch along another dimension");
  }

  // Throws unless the node treats each sample by itself.
  void check(const ir::Node& node, const ops::OpDef& op) const {
    if (op.is(ops::kElementwiseBinary) || is_one_of(node.op, kBroadcasting)) return check_broadcast(node);
    const bool parameters =
        std::any_of(node.inputs.begin() + 1, node.inputs.end(), [&](ir::ValueId id) { return batched(id); });
    if (is_one_of(node.op, kPerSample)) {
      if (parameters) refuse(node, "takes the batch as a parameter");
      return;
    }
    const ir::ValueId data = node.inputs[0];
    const auto rank = static_cast<std::int64_t>(from_.shape(data).size());
    const auto leading = [&](std::int64_t axis) { return axis == 0 || axis == -rank; };
    if (is_one_of(node.op, kAlongAxis)) {
      const std::int64_t otherwise = node.op == "Split" || node.op == "ArgMax" || node.op == "ArgMin" ? 0
                                     : node.op == "Flatten"                                           ? 1
                                                                                                      : -1;
      if (leading(node.integer("axis", otherwise))) refuse(node, "works along the batch");
      if (parameters && node.op != "Concat") refuse(node, "takes the batch as a parameter");
      return;
    }
    if (is_one_of(node.op, kOverAxes)) {
      const std::vector<std::int64_t> axes = integers(node, 1);
      if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
        refuse(node, "works over all axes, the batch among them");
      // Unsqueeze counts in the output's rank.
      const std::int64_t total =
          node.op == "Unsqueeze" ? rank + static_cast<std::int64_t>(axes.size()) : rank;
      for (const std::int64_t axis : axes)
        if (axis == 0 || axis == -total) refuse(node, "works over the batch");
      return;
    }
    if (node.op == "Transpose") {
      const std::vector<std::int64_t> perm = node.integers("perm");
      if (perm.empty() || perm[0] != 0) refuse(node, "moves the batch");
      return;
    }
    if (node.op == "Slice") {
      const std::vector<std::int64_t> starts = integers(node, 1);
      const std::vector<std::int64_t> axes = integers(node, 3);
      const std::vector<std::int64_t> steps = integers(node, 4);
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::int64_t axis = i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
        if (leading(axis) && (starts[i] != 0 || (i < steps.size() && steps[i] != 1)))
          refuse(node, "cuts the batch");
      }
      return;
    }
    if (node.op == "Pad") {
      const std::vector<std::int64_t> pads = integers(node, 1);
      const std::vector<std::int64_t> axes = integers(node, 3);
      for (std::size_t i = 0; i < pads.size() / 2; ++i)
        if (leading(i < axes.size() ? axes[i] : static_cast<std::int64_t>(i)) &&
            (pads[i] != 0 || pads[i + pads.size() / 2] != 0))
          refuse(node, "pads the batch");
      return;
    }
    if (node.op == "Tile") {
      const std::vector<std::int64_t> repeats = integers(node, 1);
      if (repeats.empty() || repeats[0] != 1) refuse(node, "repeats the batch");
      return;
    }
    if (node.op == "Gather") {
      if (batched(node.inputs[1]) || leading(node.integer("axis", 0))) refuse(node, "picks from the batch");
      return;
    }
    if (node.op == "CumSum") {
      const std::vector<std::int64_t> axis = integers(node, 1);
      if (axis.size() != 1 || leading(axis[0])) refuse(node, "works along the batch");
      return;
    }
    if (node.op == "Gemm") {
      if (!batched(data) || batched(node.inputs[1]) || node.integer("transA", 0) != 0)
        refuse(node, "multiplies over the batch");
      if (node.has_input(2) && batched(node.inputs[2]) && from_.shape(node.inputs[2]).size() != 2)
        refuse(node, "broadcasts the batch along another dimension");
      return;
    }
    if (node.op == "MatMul") {
      const std::size_t a = from_.shape(data).size();
      const std::size_t b = from_.shape(node.inputs[1]).size();
      const bool rows = batched(data) && !batched(node.inputs[1]) && a >= 2 && a >= b;
      const bool batches = batched(node.inputs[1]) && b >= 3 && (batched(data) ? a == b : a <= b);
      if (!rows && !batches) refuse(node, "multiplies over the batch");
      return;
    }
    refuse(node, "is not known to treat each sample by itself");
  }

  // Constants that spell out the exported batch.
  void retarget(ir::Node& node, const std::vector<TensorType>& before) {
    if ((node.op == "Reshape" || node.op == "Expand") && batched(node.inputs[0])) {
      // Rows of a row-major reshape stay together: the leading dimension of the result counts samples as the
      // input's does.
      const std::optional<Shape> target = scaled(before[0].shape);
      if (!target) refuse(node, "has no leading dimension that could be the batch");
      replace_input(node, 1, *target);
    } else if (node.op == "Resize" && node.has_input(3) && node.integers("axes").empty()) {
      std::vector<std::int64_t> sizes = integers(node, 3);
      if (!sizes.empty() && sizes[0] == from_.shape(node.inputs[0])[0]) {
        sizes[0] = to_.shape(node.inputs[0])[0];
        replace_input(node, 3, sizes);
      }
    }
  }

  void replace_input(ir::Node& node, std::size_t slot, const std::vector<std::int64_t>& values) {
    const Tensor* current = to_.data[static_cast<std::size_t>(node.inputs[slot])]
                                ? &*to_.data[static_cast<std::size_t>(node.inputs[slot])]
                                : nullptr;
    const std::int64_t* data =
        current != nullptr && current->dtype() == DType::i64 ? current->data<std::int64_t>() : nullptr;
    if (data != nullptr && std::equal(values.begin(), values.end(), data, data + current->count())) return;
    node.inputs[slot] = add_integers(graph_, node.name + ":batch", values);
    from_.grow(graph_);
    to_.grow(graph_);
    batched_.resize(graph_.values.size(), false);
    from_.set(node.inputs[slot], *graph_.constant(node.inputs[slot]));
    to_.set(node.inputs[slot], *graph_.constant(node.inputs[slot]));
  }

  // Known data of an integer input at the exported batch; empty where absent or unknown.
  std::vector<std::int64_t> integers(const ir::Node& node, std::size_t slot) const {
    if (!node.has_input(slot)) return {};
    const std::optional<Tensor>& tensor = from_.data[static_cast<std::size_t>(node.inputs[slot])];
    if (!tensor) refuse(node, "takes its axes or sizes from data");
    std::vector<std::int64_t> values;
    if (tensor->dtype() == DType::i64)
      for (const std::int64_t v : tensor->values<std::int64_t>()) values.push_back(v);
    else if (tensor->dtype() == DType::i32)
      for (const std::int32_t v : tensor->values<std::int32_t>()) values.push_back(v);
    return values;
  }

  ir::Graph& graph_;
  Walk from_, to_;
  std::vector<bool> batched_;
  std::int64_t numerator_ = 0, denominator_ = 1;
};

}  // namespace

void rewrite_batch(ir::Graph& graph, const std::vector<Shape>& exported, const std::vector<Shape>& wanted) {
  Rewriter(graph, exported, wanted).run();
}

}  // namespace saccade::compiler
