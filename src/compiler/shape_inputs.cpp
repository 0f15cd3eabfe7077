#include "compiler/shape_inputs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/infer.h"

namespace saccade::compiler {

namespace {

/// More elements than this are data, not a size.
constexpr std::int64_t kMostElements = 1024;

class Finder {
 public:
  explicit Finder(const ir::Graph& graph) : graph_(graph), known_(ops::infer_graph(graph_)), uses_(graph_) {}

  std::vector<std::size_t> find() {
    std::set<std::size_t> found;
    for (const ir::Node& node : graph_.nodes) {
      const std::optional<ir::ValueId> needed = needed_value(node);
      if (!needed) continue;
      sources_.clear();
      visited_.clear();
      if (trace(*needed)) found.insert(sources_.begin(), sources_.end());
    }
    return {found.begin(), found.end()};
  }

 private:
  /// The value whose data the node's shape rule asks for, where everything before it is known.
  std::optional<ir::ValueId> needed_value(const ir::Node& node) {
    const ops::OpDef* op = ops::find(node.op);
    if (op == nullptr || op->is(ops::kDataDependentShape)) return std::nullopt;
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<const ops::TensorType*> type_pointers(node.inputs.size(), nullptr);
    std::vector<const Tensor*> data(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kNoValue) continue;
      const ir::Value& value = graph_.value(node.inputs[i]);
      if (!value.shape) return std::nullopt;
      types[i] = {value.dtype, *value.shape};
      type_pointers[i] = &types[i];
      const std::optional<Tensor>& tensor = known_[static_cast<std::size_t>(node.inputs[i])];
      data[i] = tensor ? &*tensor : nullptr;
    }
    const std::optional<std::size_t> slot = ops::needed_input(node, type_pointers, data);
    if (!slot || !node.has_input(*slot)) return std::nullopt;
    return node.inputs[*slot];
  }

  /// Collects the graph inputs behind a value; false where one is too large.
  bool trace(ir::ValueId id) {
    if (known_[static_cast<std::size_t>(id)] || !visited_.insert(id).second) return true;
    const std::int64_t producer = uses_.producer(id);
    if (producer < 0) {
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
      const std::optional<Shape>& shape = graph_.value(id).shape;
      if (input == graph_.inputs.end() || !shape || element_count(*shape) > kMostElements) return false;
      sources_.insert(static_cast<std::size_t>(input - graph_.inputs.begin()));
      return true;
    }
    const ir::Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (ops::find(node.op)->is(ops::kNondeterministic)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ir::ValueId input) { return input == ir::kNoValue || trace(input); });
  }

  ir::Graph graph_;
  std::vector<std::optional<Tensor>> known_;
  ir::Uses uses_;
  std::set<std::size_t> sources_;
  std::set<ir::ValueId> visited_;
};

}  // namespace

std::vector<std::size_t> shape_inputs(const ir::Graph& graph) { return Finder(graph).find(); }

void bind_input(ir::Graph& graph, std::size_t position, const Tensor& data) {
  ir::Value& value = graph.value(graph.inputs.at(position));
  value.dtype = data.dtype();
  value.shape = data.shape();
  value.dim_names.clear();
  value.constant = data.clone();
  graph.inputs.erase(graph.inputs.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace saccade::compiler
