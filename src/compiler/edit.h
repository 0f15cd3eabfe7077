// How passes change a graph: remember changes while walking a snapshot, then rebuild the node list once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

/// One sweep over a graph. `uses()` and node indices describe the graph as it was when the sweep began; every
/// node that a rewrite reads or changes is marked as touched, and a rewrite must not build on a node that is
/// already touched.
class Edit {
 public:
  explicit Edit(ir::Graph& graph);

  ir::Graph& graph() { return graph_; }
  const ir::Graph& graph() const { return graph_; }
  const ir::Uses& uses() const { return uses_; }

  /// Adds a node in front of node `position` and infers its output types at once. Returns the first output.
  ir::ValueId insert(std::size_t position, ir::Node node, std::size_t output_count = 1);
  /// The node disappears; its outputs must be redirected or unused.
  void remove(std::size_t node);
  /// Every use of `from`, also as a graph output, becomes a use of `to`.
  void redirect(ir::ValueId from, ir::ValueId to);
  /// Shorthand: redirect output 0 of the node to `to` and remove the node.
  void replace(std::size_t node, ir::ValueId to);
  /// Moves node `node` to directly before node `position` (later in the list), so that it may use values made
  /// in between.
  void move_before(std::size_t node, std::size_t position);

  /// For rewrites that change a node of the snapshot where it stands.
  void mark_changed() { changed_ = true; }
  void touch(std::size_t node) { touched_[node] = true; }
  bool touched(std::size_t node) const { return touched_[node]; }
  /// Index of the untouched node that makes `id`, if its operator is `op` (any if empty).
  std::optional<std::size_t> producer(ir::ValueId id, std::string_view op = {}) const;
  /// The only use of `id`, by an untouched node, and not a graph output.
  std::optional<ir::Uses::Use> only_use(ir::ValueId id) const;

  /// Applies everything. Returns whether the graph changed.
  bool commit();

 private:
  bool in_snapshot(ir::ValueId id) const {
    return id != ir::kNoValue && static_cast<std::size_t>(id) < values_;
  }

  ir::Graph& graph_;
  ir::Uses uses_;
  std::size_t count_;   // nodes in the snapshot
  std::size_t values_;  // values in the snapshot
  std::vector<bool> touched_, removed_;
  std::vector<std::vector<ir::Node>> before_;    // inserted in front of each node
  std::vector<std::vector<std::size_t>> moved_;  // nodes moved in front of each node
  std::vector<bool> moves_;
  std::vector<std::pair<ir::ValueId, ir::ValueId>> redirects_;
  bool changed_ = false;
};

/// Concrete shape of a value, or nullptr where the rank or a dimension is unknown.
const Shape* known_shape(const ir::Graph& graph, ir::ValueId id);
/// Whether the node adds two different values of one known shape.
bool adds_equal_shapes(const ir::Graph& graph, const ir::Node& node);
/// The f32 constant of one element behind an input, if it is one.
std::optional<float> scalar_constant(const ir::Graph& graph, ir::ValueId id);
/// Whether weights are whole numbers, and not only zeros and ones: those of a quantised network, whose sums
/// are to stay exact.
bool integer_weights(const Tensor& weights);
/// Values of an integer constant (i64 or i32), if it is one.
std::optional<std::vector<std::int64_t>> integer_constant(const ir::Graph& graph, ir::ValueId id);
/// If `id` is an f32 constant that, broadcast to `shape`, varies along `axis` only: its value per index of
/// that axis.
std::optional<std::vector<float>> per_axis_constant(const ir::Graph& graph, ir::ValueId id,
                                                    const Shape& shape, std::size_t axis);
/// Puts a Reshape to `shape`, or a Transpose, of x in front of node `position`. x is what they make where
/// that is what it is already.
ir::ValueId insert_reshape(Edit& edit, std::size_t position, const std::string& name, ir::ValueId x,
                           const Shape& shape);
ir::ValueId insert_transpose(Edit& edit, std::size_t position, const std::string& name, ir::ValueId x,
                             const std::vector<std::int64_t>& perm);
ir::ValueId add_integers(ir::Graph& graph, const std::string& name, const std::vector<std::int64_t>& values);
ir::ValueId add_floats(ir::Graph& graph, const std::string& name, Shape shape,
                       const std::vector<float>& values);

/// Infers types of `node`'s outputs from those of its inputs and stores them, where the inputs are known.
void infer_outputs(ir::Graph& graph, const ir::Node& node);

/// Drops values that nothing defines or uses any more, and renumbers the rest.
void compact(ir::Graph& graph);

}  // namespace saccade::compiler
