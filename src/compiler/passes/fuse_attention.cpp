#include "compiler/passes/fuse_attention.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;
using Perm = std::vector<std::int64_t>;

// x of x * scalar, times which `scale` becomes; else `id` itself.
ValueId without_scale(const Edit& edit, ValueId id, float& scale) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> mul = edit.producer(id, "Mul");
  if (!mul) return id;
  const Node& node = graph.nodes[*mul];
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<float> factor = scalar_constant(graph, node.inputs[slot]);
    const Shape *in = known_shape(graph, node.inputs[1 - slot]), *out = known_shape(graph, id);
    if (!factor || in == nullptr || out == nullptr || *in != *out) continue;
    scale *= *factor;
    return node.inputs[1 - slot];
  }
  return id;
}

// (batch, heads, length, size) as what it was made from: a value and the order in which its dimensions come.
struct Source {
  ValueId id;
  Perm perm{0, 1, 2, 3};
};

Source source_of(const Edit& edit, ValueId id, bool last_swapped) {
  const ir::Graph& graph = edit.graph();
  Source source{id};
  if (last_swapped) source.perm = {0, 1, 3, 2};
  while (const std::optional<std::size_t> transpose = edit.producer(source.id, "Transpose")) {
    const Perm perm = graph.nodes[*transpose].integers("perm");
    if (perm.size() != 4) break;
    for (std::int64_t& axis : source.perm) axis = perm[static_cast<std::size_t>(axis)];
    source.id = graph.nodes[*transpose].inputs[0];
  }
  return source;
}

// Where (batch, heads, length, size) is a part of tokens (batch, length, width): from column `begin` on.
struct Part {
  ValueId grid = ir::kNoValue;  // a value of which a reshape to `tokens` is the tokens
  Shape tokens;
  std::int64_t begin = 0;
};

std::optional<Part> part_of(const Edit& edit, const Source& source) {
  const ir::Graph& graph = edit.graph();
  const Shape* shape = known_shape(graph, source.id);
  if (shape == nullptr || shape->size() != 4) return std::nullopt;
  if (source.perm == Perm{0, 2, 1, 3} && edit.producer(source.id, "Reshape"))
    return Part{source.id, {(*shape)[0], (*shape)[1], (*shape)[2] * (*shape)[3]}, 0};
  // One of several of (batch, length, count, heads, size), brought in front.
  if (source.perm != Perm{0, 1, 2, 3}) return std::nullopt;
  ValueId all = ir::kNoValue;
  std::int64_t which = 0;
  if (const std::optional<std::size_t> gather = edit.producer(source.id, "Gather")) {
    const Node& node = graph.nodes[*gather];
    const Shape* index_shape = known_shape(graph, node.inputs[1]);
    const std::optional<std::vector<std::int64_t>> index = integer_constant(graph, node.inputs[1]);
    if (node.integer("axis", 0) != 0 || !index || index->size() != 1 || index_shape == nullptr ||
        !index_shape->empty())
      return std::nullopt;
    all = node.inputs[0];
    which = (*index)[0];
  } else if (const std::optional<std::size_t> reshape = edit.producer(source.id, "Reshape")) {
    const ValueId part = graph.nodes[*reshape].inputs[0];
    const Shape* part_shape = known_shape(graph, part);
    const std::optional<std::size_t> split = edit.producer(part, "Split");
    if (!split || part_shape == nullptr || part_shape->size() != 5 || (*part_shape)[0] != 1 ||
        !std::equal(shape->begin(), shape->end(), part_shape->begin() + 1) ||
        graph.nodes[*split].integer("axis", 0) != 0)
      return std::nullopt;
    const Node& node = graph.nodes[*split];
    all = node.inputs[0];
    which = std::find(node.outputs.begin(), node.outputs.end(), part) - node.outputs.begin();
    const Shape* whole = known_shape(graph, all);
    if (whole == nullptr || (*whole)[0] != static_cast<std::int64_t>(node.outputs.size()))
      return std::nullopt;
    for (const ValueId each : node.outputs)
      if (const Shape* size = known_shape(graph, each); size == nullptr || (*size)[0] != 1)
        return std::nullopt;
  }
  const std::optional<std::size_t> transpose = edit.producer(all, "Transpose");
  if (!transpose || graph.nodes[*transpose].integers("perm") != Perm{2, 0, 3, 1, 4}) return std::nullopt;
  const ValueId grid = graph.nodes[*transpose].inputs[0];
  const Shape* dims = known_shape(graph, grid);
  if (dims == nullptr || !edit.producer(grid, "Reshape")) return std::nullopt;
  const std::int64_t count = (*dims)[2], width = (*dims)[3] * (*dims)[4];
  if (which < 0) which += count;
  if (which < 0 || which >= count) return std::nullopt;
  return Part{grid, {(*dims)[0], (*dims)[1], count * width}, which * width};
}

struct Match {
  Source q, k, v;
  ValueId mask = ir::kNoValue;
  float scale = 1;
  std::vector<std::size_t> inner;
};

std::optional<Match> match_at(const Edit& edit, const Node& product) {
  const ir::Graph& graph = edit.graph();
  Match match;
  const auto sole = [&](ValueId id, std::string_view op) {
    std::optional<std::size_t> node = edit.producer(id, op);
    if (node && !edit.uses().single(id)) node.reset();
    if (node) match.inner.push_back(*node);
    return node;
  };
  const std::optional<std::size_t> softmax = sole(product.inputs[0], "Softmax");
  const Shape* shape = known_shape(graph, product.inputs[0]);
  if (!softmax || shape == nullptr || (shape->size() != 4 && shape->size() != 3)) return std::nullopt;
  const std::int64_t axis = graph.nodes[*softmax].integer("axis", -1);
  if (axis != -1 && axis + 1 != static_cast<std::int64_t>(shape->size())) return std::nullopt;
  ValueId scores = graph.nodes[*softmax].inputs[0];
  if (const std::optional<std::size_t> add = sole(scores, "Add")) {
    const Node& node = graph.nodes[*add];
    for (std::size_t slot = 0; slot < 2 && match.mask == ir::kNoValue; ++slot) {
      const Shape *in = known_shape(graph, node.inputs[slot]),
                  *mask = known_shape(graph, node.inputs[1 - slot]);
      if (in == nullptr || mask == nullptr || *in != *shape || mask->empty() || mask->back() != shape->back())
        continue;
      // Of two of a size the product is the one that is made of products.
      if (*mask == *shape && !edit.producer(node.inputs[slot], "MatMul") &&
          !edit.producer(node.inputs[slot], "Mul"))
        continue;
      match.mask = node.inputs[1 - slot];
      scores = node.inputs[slot];
    }
    if (match.mask == ir::kNoValue) return std::nullopt;
  }
  if (const ValueId plain = without_scale(edit, scores, match.scale); plain != scores) {
    if (!sole(scores, "Mul")) return std::nullopt;
    scores = plain;
  }
  const std::optional<std::size_t> matmul = sole(scores, "MatMul");
  if (!matmul || graph.nodes[*matmul].text("activation", "none") != "none") return std::nullopt;
  const ValueId q = without_scale(edit, graph.nodes[*matmul].inputs[0], match.scale);
  const ValueId k = without_scale(edit, graph.nodes[*matmul].inputs[1], match.scale);
  match.q = source_of(edit, q, false);
  match.k = source_of(edit, k, true);
  match.v = source_of(edit, product.inputs[1], false);
  // Behind a transpose the scale may stand too.
  if (const ValueId plain = without_scale(edit, match.k.id, match.scale); plain != match.k.id) {
    Source before = source_of(edit, plain, false);
    for (std::int64_t& at : match.k.perm) at = before.perm[static_cast<std::size_t>(at)];
    match.k.id = before.id;
  }
  const Shape *qs = known_shape(graph, q), *ks = known_shape(graph, k),
              *vs = known_shape(graph, product.inputs[1]);
  if (qs == nullptr || ks == nullptr || vs == nullptr || qs->size() != shape->size() ||
      ks->size() != shape->size() || vs->size() != shape->size() || graph.value(q).dtype != DType::f32)
    return std::nullopt;
  for (std::size_t i = 0; i + 2 < shape->size(); ++i)
    if ((*qs)[i] != (*ks)[i] || (*qs)[i] != (*vs)[i]) return std::nullopt;
  return match;
}

// Heads that are part of the batch: (batch * heads, length, size), tokens of one head each.
bool fuse_single_heads(Edit& edit, std::size_t index, const Match& match) {
  const std::string name = edit.graph().nodes[index].name;
  Node node{name, "Attention", {match.q.id, match.k.id, match.v.id}, {}, {{"scale", match.scale}}};
  node.attributes["q_num_heads"] = node.attributes["kv_num_heads"] = std::int64_t{1};
  node.inputs[1] = insert_transpose(edit, index, name + ":keys", match.k.id, {0, 2, 1});
  if (match.mask != ir::kNoValue) {
    const Shape mask = *known_shape(edit.graph(), match.mask);
    node.inputs.push_back(mask.size() < 3 ? match.mask
                                          : insert_reshape(edit, index, name + ":mask", match.mask,
                                                           {mask[0], 1, mask[1], mask[2]}));
  }
  edit.replace(index, edit.insert(index, std::move(node)));
  for (const std::size_t n : match.inner) edit.remove(n);
  return true;
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& product = graph.nodes[index];
  if (product.op != "MatMul" || product.text("activation", "none") != "none") return false;
  const std::optional<Match> match = match_at(edit, product);
  if (!match) return false;
  if (known_shape(graph, product.outputs[0])->size() == 3) return fuse_single_heads(edit, index, *match);
  const Shape result = *known_shape(graph, product.outputs[0]);
  const std::string name = product.name;
  std::vector<std::optional<Part>> parts;
  for (const Source* source : {&match->q, &match->k, &match->v}) parts.push_back(part_of(edit, *source));
  const bool packed =
      std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); });
  Node node{name, "Attention", {}, {}, {{"scale", match->scale}}};
  const std::int64_t heads = result[1];
  std::size_t at = 0;
  for (const Source* source : {&match->q, &match->k, &match->v}) {
    const std::string part_name = name + (at == 0 ? ":queries" : at == 1 ? ":keys" : ":values");
    ValueId id = source->id;
    if (packed) {
      const Part& part = *parts[at];
      id = insert_reshape(edit, index, part_name, part.grid, part.tokens);
      const std::int64_t width =
          heads * (at == 2 ? result[3]
                           : (*known_shape(graph, match->q.id))[static_cast<std::size_t>(match->q.perm[3])]);
      if (width != part.tokens.back())
        id = edit.insert(index, Node{part_name + ":part",
                                     "Slice",
                                     {id, add_integers(graph, part_name + ":begin", {part.begin}),
                                      add_integers(graph, part_name + ":end", {part.begin + width}),
                                      add_integers(graph, part_name + ":axis", {2})},
                                     {},
                                     {}});
    } else if (!std::is_sorted(source->perm.begin(), source->perm.end())) {
      id = insert_transpose(edit, index, part_name, id, source->perm);
    }
    node.inputs.push_back(id);
    ++at;
  }
  if (match->mask != ir::kNoValue) node.inputs.push_back(match->mask);
  if (packed) node.attributes["q_num_heads"] = node.attributes["kv_num_heads"] = heads;
  ValueId made = edit.insert(index, std::move(node));
  if (packed) {
    made = insert_reshape(edit, index, name + ":heads", made, {result[0], result[2], result[1], result[3]});
    made = insert_transpose(edit, index, name + ":turned", made, {0, 2, 1, 3});
  }
  edit.replace(index, made);
  for (const std::size_t n : match->inner) edit.remove(n);
  return true;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_attention(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
