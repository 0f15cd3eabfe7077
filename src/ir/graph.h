// The intermediate representation: SSA values and nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "saccade/limits.h"
#include "saccade/tensor.h"

namespace saccade::ir {

class Graph;

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;  ///< an optional input that is absent

/// A typed attribute value. Enumerations are strings in snake_case ("round_prefer_floor").
using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, Tensor, std::shared_ptr<const Graph>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// What is known of a value. Dimensions that are unknown before the input shapes are given are -1.
struct Value {
  std::string name;
  DType dtype = DType::f32;
  std::optional<Shape> shape;          ///< nullopt: not even the rank is known
  std::vector<std::string> dim_names;  ///< symbols of unknown dimensions, "" where none; may be empty
  std::optional<Tensor> constant;      ///< set: the value is this tensor (weights, folded arithmetic)
};

struct Node {
  std::string name;              ///< as the model names it, for messages; may be empty
  std::string op;                ///< canonical operator, a key of the operator table ("Conv")
  std::vector<ValueId> inputs;   ///< kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  ///< kNoValue where an optional output is not wanted
  Attributes attributes;

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i] != kNoValue; }

  // Typed access with a default; throws Error(invalid_model) naming node and attribute if the type is
  // another.
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  float real(std::string_view key, float otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view key,
                                     const std::vector<std::int64_t>& otherwise = {}) const;
  std::vector<float> reals(std::string_view key, const std::vector<float>& otherwise = {}) const;
  const Tensor* tensor(std::string_view key) const;
  std::shared_ptr<const Graph> graph(std::string_view key) const;
  bool has(std::string_view key) const { return attributes.find(key) != attributes.end(); }
};

/// "node 'Conv_3' (Conv)"; names the first output where the node has no name of its own.
std::string describe(const Node& node, const Graph& graph);

/// A function from inputs to outputs. A plain value type: copies are deep except for constant data, which is
/// shared.
class Graph {
 public:
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  ///< in topological order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  LoadLimits limits;  ///< what compiling and running it may ask for; of graphs inside nodes not looked at

  ValueId add_value(Value value);
  ValueId add_constant(std::string value_name, Tensor tensor);
  /// Appends a node with `output_count` fresh outputs named after it; returns the first.
  ValueId add_node(Node node, std::size_t output_count = 1);

  Value& value(ValueId id) { return values.at(static_cast<std::size_t>(id)); }
  const Value& value(ValueId id) const { return values.at(static_cast<std::size_t>(id)); }
  /// The constant behind an input slot, or nullptr if absent or not constant.
  const Tensor* constant(ValueId id) const;
  const Tensor* constant_input(const Node& node, std::size_t slot) const;

  /// Makes every use of `from` (inputs of nodes, graph outputs) a use of `to`.
  void replace_uses(ValueId from, ValueId to);
};

/// Who uses and who makes each value; a snapshot, invalid after the graph changes.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  struct Use {
    std::size_t node;  ///< index into graph.nodes
    std::size_t slot;  ///< index into its inputs
  };
  const std::vector<Use>& of(ValueId id) const { return uses_.at(static_cast<std::size_t>(id)); }
  /// Index of the producing node, or -1 for inputs and constants.
  std::int64_t producer(ValueId id) const { return producers_.at(static_cast<std::size_t>(id)); }
  bool is_output(ValueId id) const { return outputs_.at(static_cast<std::size_t>(id)); }
  /// Exactly one node uses it, once, and it is not a graph output.
  bool single(ValueId id) const { return of(id).size() == 1 && !is_output(id); }

 private:
  std::vector<std::vector<Use>> uses_;
  std::vector<std::int64_t> producers_;
  std::vector<bool> outputs_;
};

}  // namespace saccade::ir
