#include "quantise/recipe.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/infer.h"
#include "quantise/filters.h"
#include "quantise/selection.h"

namespace saccade::quantise {

namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

class Rewriter {
 public:
  Rewriter(const Graph& before, const Recipe& recipe)
      : before_(before), uses_(before), selection_(select(before, recipe.fp32_layers)), recipe_(recipe) {
    if (recipe.grids.size() != selection_.values.size()) ArchiveReader::fail();
    for (const Grid& grid : recipe.grids)
      if (!(grid.scale > 0) || !std::isfinite(grid.scale) || grid.zero < 0 || grid.zero > 255)
        ArchiveReader::fail();
    shift_.resize(before.nodes.size());
    for (const Recipe::Correction& correction : recipe.corrections) {
      if (correction.node >= before.nodes.size() || !selection_.convolves[correction.node])
        ArchiveReader::fail();
      const FilterShape shape = filter_shape(before, before.nodes[correction.node]);
      if (static_cast<std::int64_t>(correction.shift.size()) != shape.filters) ArchiveReader::fail();
      shift_[correction.node] = correction.shift;
    }
  }

  Graph run() {
    graph_ = before_;
    graph_.nodes.clear();
    real_.assign(before_.values.size(), ir::kNoValue);
    made_in_bytes_.assign(before_.values.size(), false);
    std::vector<std::optional<Grid>> grids(before_.values.size());
    for (std::size_t i = 0; i < selection_.values.size(); ++i) {
      const ValueId id = selection_.values[i];
      grids[static_cast<std::size_t>(id)] = recipe_.grids[i];
      if (uses_.producer(id) < 0) round(id, recipe_.grids[i], before_.value(id).name + ":bytes");
    }
    for (std::size_t i = 0; i < before_.nodes.size(); ++i) {
      Node node = before_.nodes[i];
      if (selection_.convolves[i]) make_filters(node, i);
      for (ValueId& id : node.inputs)
        if (id != ir::kNoValue && static_cast<std::size_t>(id) < real_.size())
          id = as_read(id, selection_.in_bytes[i]);
      graph_.nodes.push_back(std::move(node));
      for (const ValueId id : before_.nodes[i].outputs) {
        if (id == ir::kNoValue) continue;
        made_in_bytes_[static_cast<std::size_t>(id)] = selection_.in_bytes[i];
        if (const std::optional<Grid>& grid = grids[static_cast<std::size_t>(id)])
          round(id, *grid, rounding_name(i));
      }
    }
    for (ValueId& id : graph_.outputs) {
      const ValueId result = as_read(id, false);
      if (result != id) std::swap(graph_.value(id).name, graph_.value(result).name);
      id = result;
    }
    ops::verify(graph_);
    ops::infer_graph(graph_);
    return std::move(graph_);
  }

 private:
  /// What stands for a value where it is read. Who computes with floats takes what never was bytes as it is.
  ValueId as_read(ValueId id, bool in_bytes) const {
    const auto i = static_cast<std::size_t>(id);
    return real_[i] != ir::kNoValue && (in_bytes || made_in_bytes_[i]) ? real_[i] : id;
  }

  /// A convolution in bytes takes the name of its rounding, so that steps have the names of layers.
  std::string rounding_name(std::size_t index) const {
    const Node& node = before_.nodes[index];
    if (selection_.convolves[index]) return layer_name(before_, node);
    const std::int64_t made = uses_.producer(node.inputs[0]);
    if (made >= 0 && selection_.convolves[static_cast<std::size_t>(made)] &&
        bound_behind(before_, uses_, static_cast<std::size_t>(made)) == index)
      return layer_name(before_, before_.nodes[static_cast<std::size_t>(made)]);
    return layer_name(before_, node) + ":bytes";
  }

  void make_filters(Node& node, std::size_t index) {
    const std::string name = layer_name(before_, node);
    const float x_scale = recipe_.grids[selection_.picture[index]].scale;
    ByteFilters filters = byte_filters(before_, before_.nodes[index], x_scale, shift_[index]);
    std::vector<float> joint;
    for (const float scale : filters.scales) joint.push_back(x_scale * scale);
    const Shape count{static_cast<std::int64_t>(joint.size())};
    const std::int64_t axis = node.op == "ConvTranspose" ? 1 : 0;
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3), ir::kNoValue);
    node.inputs[1] = real(name + ":weights", std::move(filters.weights), filters.scales, axis);
    node.inputs[2] = real(name + ":bias", std::move(filters.bias), joint, 0);
  }

  ValueId real(const std::string& name, Tensor integers, const std::vector<float>& scales,
               std::int64_t axis) {
    const ValueId stored = graph_.add_constant(name, std::move(integers));
    const ValueId scale =
        compiler::add_floats(graph_, name + ":scale", {static_cast<std::int64_t>(scales.size())}, scales);
    return graph_.add_node({name + ":real", "DequantizeLinear", {stored, scale}, {}, {{"axis", axis}}});
  }

  void round(ValueId id, const Grid& grid, const std::string& name) {
    Tensor point(DType::u8, {});
    point.data<std::uint8_t>()[0] = static_cast<std::uint8_t>(grid.zero);
    const ValueId scale = compiler::add_floats(graph_, name + ":scale", {}, {grid.scale});
    const ValueId zero = graph_.add_constant(name + ":zero", std::move(point));
    const ValueId bytes = graph_.add_node({name, "QuantizeLinear", {id, scale, zero}, {}, {}});
    real_[static_cast<std::size_t>(id)] =
        graph_.add_node({name + ":real", "DequantizeLinear", {bytes, scale, zero}, {}, {}});
  }

  const Graph& before_;
  ir::Uses uses_;
  Selection selection_;
  const Recipe& recipe_;
  std::vector<std::vector<float>> shift_;  // per node
  Graph graph_;
  std::vector<ValueId> real_;  // per value: made real again, behind its rounding
  std::vector<bool> made_in_bytes_;
};

}  // namespace

void write_recipe(ArchiveWriter& out, const Recipe& recipe) {
  out.number(static_cast<std::uint64_t>(recipe.fp32_layers.size()));
  for (const std::string& name : recipe.fp32_layers) out.text(name);
  out.number(static_cast<std::uint64_t>(recipe.grids.size()));
  for (const Grid& grid : recipe.grids) {
    out.number(grid.scale);
    out.number(grid.zero);
  }
  out.number(static_cast<std::uint64_t>(recipe.equalisations.size()));
  for (const Equalisation& e : recipe.equalisations) {
    out.number(static_cast<std::uint64_t>(e.first));
    out.number(static_cast<std::uint64_t>(e.second));
    out.numbers(e.exponents);
  }
  out.number(static_cast<std::uint64_t>(recipe.corrections.size()));
  for (const Recipe::Correction& c : recipe.corrections) {
    out.number(static_cast<std::uint64_t>(c.node));
    out.numbers(c.shift);
  }
}

Recipe read_recipe(ArchiveReader& in) {
  constexpr std::size_t kLong = sizeof(std::uint64_t);
  Recipe recipe;
  recipe.fp32_layers.resize(in.count(kLong));
  for (std::string& name : recipe.fp32_layers) name = in.text();
  recipe.grids.resize(in.count(sizeof(float) + sizeof(std::int32_t)));
  for (Grid& grid : recipe.grids) {
    grid.scale = in.number<float>();
    grid.zero = in.number<std::int32_t>();
  }
  recipe.equalisations.resize(in.count(3 * kLong));
  for (Equalisation& e : recipe.equalisations) {
    e.first = in.number<std::uint64_t>();
    e.second = in.number<std::uint64_t>();
    e.exponents = in.numbers<std::int8_t>();
  }
  recipe.corrections.resize(in.count(2 * kLong));
  for (Recipe::Correction& c : recipe.corrections) {
    c.node = in.number<std::uint64_t>();
    c.shift = in.numbers<float>();
  }
  return recipe;
}

ir::Graph apply(const ir::Graph& prepared, const Recipe& recipe) {
  if (recipe.equalisations.empty()) return Rewriter(prepared, recipe).run();
  ir::Graph equalised = prepared;
  equalise(equalised, recipe.equalisations);
  return Rewriter(equalised, recipe).run();
}

}  // namespace saccade::quantise
