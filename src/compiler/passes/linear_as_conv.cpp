#include "compiler/passes/linear_as_conv.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/edit.h"
#include "compiler/passes/dead_code.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;
using Perm = std::vector<std::int64_t>;

const Perm kToPicture{0, 3, 1, 2}, kToTokens{0, 2, 3, 1};

class Linears {
 public:
  explicit Linears(ir::Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes)
      if (!linear(node) && !elementwise(node)) emit(std::move(node));
  }

 private:
  void emit(Node node) {
    for (const ValueId id : node.outputs)
      if (id != ir::kNoValue) makers_[id] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(node));
  }

  ValueId emit_new(Node node) {
    const ValueId made = graph_.add_node(std::move(node));
    infer_outputs(graph_, graph_.nodes.back());
    makers_[made] = graph_.nodes.size() - 1;
    return made;
  }

  const Node* maker(ValueId id, std::string_view op) const {
    const auto found = makers_.find(id);
    if (found == makers_.end()) return nullptr;
    const Node& node = graph_.nodes[found->second];
    return node.op == op ? &node : nullptr;
  }

  ValueId turned(const std::string& name, ValueId id, const Perm& perm) {
    return emit_new({name, "Transpose", {id}, {}, {{"perm", perm}}});
  }

  /// Tokens of one image of the batch, which comes first.
  static std::int64_t tokens_of_image(const Shape& tokens) {
    return element_count(tokens) / (tokens.front() * tokens.back());
  }

  /// (N, H, W, channels) with the elements of tokens (N, ..., channels) in their order. The batch stays the
  /// batch: what is chosen for one image, and with it the bits of its results, must not depend on how many
  /// there are.
  static Shape grid_of(const Shape& tokens) {
    if (tokens.size() == 4) return tokens;
    // As near to a square as there is.
    const std::int64_t count = tokens_of_image(tokens);
    std::int64_t rows = 1;
    for (std::int64_t i = 2; i * i <= count; ++i)
      if (count % i == 0) rows = i;
    return {tokens.front(), rows, count / rows, tokens.back()};
  }

  /// The tokens as a picture, which is one already or becomes one of this grid.
  ValueId picture_of(ValueId id, const Shape& grid) {
    if (const auto found = pictures_.find(id);
        found != pictures_.end() && turned_shape(found->second) == grid)
      return found->second;
    const std::string name = graph_.value(id).name;
    ValueId tokens = id;
    // What was flattened from a grid of this shape is taken from there.
    const Node* reshape = maker(id, "Reshape");
    if (*known_shape(graph_, id) != grid) {
      const bool has_grid = reshape != nullptr && known_shape(graph_, reshape->inputs[0]) != nullptr &&
                            *known_shape(graph_, reshape->inputs[0]) == grid;
      tokens = has_grid ? reshape->inputs[0]
                        : emit_new({name + ":grid",
                                    "Reshape",
                                    {id, add_integers(graph_, name + ":grid_shape", grid)},
                                    {},
                                    {}});
    }
    return pictures_[id] = turned(name + ":picture", tokens, kToPicture);
  }

  Shape turned_shape(ValueId picture) const {
    const Shape& shape = *known_shape(graph_, picture);
    return {shape[0], shape[2], shape[3], shape[1]};
  }

  /// Where the tokens were flattened from a picture, its own grid.
  Shape grid_for(ValueId id) const {
    if (const auto found = pictures_.find(id); found != pictures_.end()) return turned_shape(found->second);
    const Shape& tokens = *known_shape(graph_, id);
    if (const Node* reshape = maker(id, "Reshape"); reshape != nullptr && tokens.size() != 4) {
      const Shape* from = known_shape(graph_, reshape->inputs[0]);
      if (from != nullptr && from->size() == 4 && from->back() == tokens.back()) return *from;
    }
    return grid_of(tokens);
  }

  /// Tokens `id`, made from what is now computed as a picture.
  void give(ValueId id, ValueId picture) {
    pictures_[id] = picture;
    const Shape shape = *known_shape(graph_, id);
    const std::string name = graph_.value(id).name;
    if (shape == turned_shape(picture)) {
      emit({name + ":tokens", "Transpose", {picture}, {id}, {{"perm", kToTokens}}});
      return;
    }
    const ValueId grid = turned(name + ":tokens", picture, kToTokens);
    emit({name, "Reshape", {grid, add_integers(graph_, name + ":shape", shape)}, {id}, {}});
  }

  /// The weights (in, out) as filters, made once for all layers that share them.
  ValueId filters_of(ValueId id) {
    if (const auto found = filters_.find(id); found != filters_.end()) return found->second;
    const Tensor weights = *graph_.constant(id);
    const std::int64_t in = weights.dim(0), out = weights.dim(1);
    std::vector<float> filters(static_cast<std::size_t>(in * out));
    for (std::int64_t i = 0; i < in; ++i)
      for (std::int64_t o = 0; o < out; ++o)
        filters[static_cast<std::size_t>(o * in + i)] = weights.data<float>()[i * out + o];
    return filters_[id] = add_floats(graph_, graph_.value(id).name, {out, in, 1, 1}, filters);
  }

  bool linear(const Node& node) {
    if (node.op != "MatMul" || node.text("activation", "none") != "none") return false;
    const Tensor* weights = graph_.constant_input(node, 1);
    const Shape* tokens = known_shape(graph_, node.inputs[0]);
    if (weights == nullptr || weights->dtype() != DType::f32 || weights->rank() != 2 ||
        integer_weights(*weights) || tokens == nullptr || tokens->size() < 3 ||
        graph_.constant(node.inputs[0]) != nullptr || known_shape(graph_, node.outputs[0]) == nullptr)
      return false;
    // A few vectors times a matrix wait for the matrix, whatever it is called; and where the batch does not
    // come first, it is that which is so short.
    constexpr std::int64_t kFewest = 12;
    if (element_count(*tokens) == 0 || tokens_of_image(*tokens) < kFewest || weights->count() == 0)
      return false;
    const ValueId x = picture_of(node.inputs[0], grid_for(node.inputs[0]));
    const ValueId w = filters_of(node.inputs[1]);
    give(node.outputs[0], emit_new({node.name, "Conv", {x, w}, {}, {}}));
    return true;
  }

  /// The operand of an elementwise node whose result has this shape and grid; nullopt where it is no part of
  /// either.
  std::optional<ValueId> operand(ValueId id, const Shape& shape, const Shape& grid) {
    if (id == ir::kNoValue || graph_.value(id).dtype != DType::f32) return std::nullopt;
    if (const std::optional<float> value = scalar_constant(graph_, id))
      return add_floats(graph_, graph_.value(id).name, {1, 1, 1, 1}, {*value});
    if (graph_.constant(id) != nullptr) {
      const std::optional<std::vector<float>> values = per_axis_constant(graph_, id, shape, shape.size() - 1);
      if (!values) return std::nullopt;
      return add_floats(graph_, graph_.value(id).name, {1, shape.back(), 1, 1}, *values);
    }
    const Shape* own = known_shape(graph_, id);
    if (own == nullptr || *own != shape) return std::nullopt;
    return picture_of(id, grid);
  }

  /// The picture that the tokens were made from, by a linear layer or by the model itself.
  std::optional<ValueId> known_picture(ValueId id) const {
    if (const auto found = pictures_.find(id); found != pictures_.end()) return found->second;
    ValueId grid = id;
    if (const Node* reshape = maker(id, "Reshape")) {
      const Shape* from = known_shape(graph_, reshape->inputs[0]);
      if (from == nullptr || from->size() != 4 || from->back() != known_shape(graph_, id)->back())
        return std::nullopt;
      grid = reshape->inputs[0];
    }
    const Node* turn = maker(grid, "Transpose");
    if (turn == nullptr || turn->integers("perm") != kToTokens) return std::nullopt;
    return turn->inputs[0];
  }

  bool elementwise(const Node& node) {
    const ops::OpDef* op = ops::find(node.op);
    if (op == nullptr || (!op->is(ops::kElementwiseUnary) && !op->is(ops::kElementwiseBinary)) ||
        graph_.value(node.outputs[0]).dtype != DType::f32)
      return false;
    const Shape* shape = known_shape(graph_, node.outputs[0]);
    if (shape == nullptr || shape->empty()) return false;
    std::optional<ValueId> picture;
    for (const ValueId id : node.inputs) {
      const Shape* own = id == ir::kNoValue ? nullptr : known_shape(graph_, id);
      if (picture || own == nullptr || *own != *shape) continue;
      picture = known_picture(id);
      if (picture) pictures_[id] = *picture;
    }
    if (!picture) return false;
    const Shape grid = turned_shape(*picture), result = *shape;
    Node made = node;
    for (ValueId& id : made.inputs) {
      const std::optional<ValueId> turned = operand(id, result, grid);
      if (!turned) return false;
      id = *turned;
    }
    made.outputs.clear();
    give(node.outputs[0], emit_new(std::move(made)));
    return true;
  }

  ir::Graph& graph_;
  std::map<ValueId, ValueId> pictures_;    // of tokens
  std::map<ValueId, ValueId> filters_;     // of weights
  std::map<ValueId, std::size_t> makers_;  // nodes so far
};

}  // namespace

void linear_as_conv(ir::Graph& graph) {
  Linears(graph).run();
  dead_code(graph);
}

}  // namespace saccade::compiler
