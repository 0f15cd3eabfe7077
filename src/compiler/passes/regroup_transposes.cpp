#include "compiler/passes/regroup_transposes.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;
using Perm = std::vector<std::int64_t>;

// Whether `order`, of which dimensions of length 1 do not count, is (0, 2, 1).
bool swaps_last(const Perm& order, const Shape& dims) {
  Perm left, expected;
  for (const std::int64_t axis : order)
    if (dims[static_cast<std::size_t>(axis)] != 1) left.push_back(axis);
  for (const std::int64_t axis : {0, 2, 1})
    if (dims[static_cast<std::size_t>(axis)] != 1) expected.push_back(axis);
  return left == expected;
}

// Whether `picture` is (N, C, H, W) and `flat` (N, C, HW).
bool flattens(const Shape* picture, const Shape* flat) {
  return picture != nullptr && flat != nullptr && picture->size() == 4 && flat->size() == 3 &&
         element_count(*flat) > 0 && (*picture)[0] == (*flat)[0] && (*picture)[1] == (*flat)[1] &&
         (*picture)[2] * (*picture)[3] == (*flat)[2];
}

// transpose(reshape(picture)) = reshape(transpose(picture))
bool flatten_last(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Transpose") return false;
  const std::optional<std::size_t> reshape = edit.producer(node.inputs[0], "Reshape");
  if (!reshape) return false;
  const ValueId picture = graph.nodes[*reshape].inputs[0];
  const Shape* flat = known_shape(graph, node.inputs[0]);
  const Shape* result = known_shape(graph, node.outputs[0]);
  const Perm perm = node.integers("perm");
  if (!flattens(known_shape(graph, picture), flat) || result == nullptr || perm.size() != 3 ||
      !swaps_last(perm, *flat))
    return false;
  const std::string name = node.name;
  const Shape shape = *result;
  const ValueId last = insert_transpose(edit, index, name, picture, {0, 2, 3, 1});
  edit.replace(index, insert_reshape(edit, index, name + ":flat", last, shape));
  return true;
}

// reshape(transpose(tokens)) = transpose(reshape(tokens))
bool picture_first(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Reshape") return false;
  const std::optional<std::size_t> transpose = edit.producer(node.inputs[0], "Transpose");
  if (!transpose) return false;
  const Node& turn = graph.nodes[*transpose];
  const Shape* flat = known_shape(graph, node.inputs[0]);
  const Shape* picture = known_shape(graph, node.outputs[0]);
  const Perm perm = turn.integers("perm");
  if (!flattens(picture, flat) || perm.size() != 3) return false;
  // Which dimension of the result each of the tokens' becomes.
  Perm becomes(3);
  for (std::size_t i = 0; i < 3; ++i)
    becomes[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  if (!swaps_last(becomes, *flat)) return false;
  const std::string name = node.name;
  const Shape grid{(*picture)[0], (*picture)[2], (*picture)[3], (*picture)[1]};
  const ValueId tokens = insert_reshape(edit, index, name + ":grid", turn.inputs[0], grid);
  edit.replace(index, insert_transpose(edit, index, name, tokens, {0, 3, 1, 2}));
  return true;
}

constexpr std::array<Rule, 2> kRules{flatten_last, picture_first};

}  // namespace

void regroup_transposes(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
