// Which parts of a network run in bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/edit.h"
#include "compiler/kept_layers.h"
#include "ir/graph.h"

namespace saccade::quantise {

/// What is computed in bytes, for a graph that `prepare` returned.
struct Selection {
  std::vector<bool> in_bytes;  ///< per node: it takes bytes or gives them
  /// Per node: it is a convolution whose filters become bytes.
  std::vector<bool> convolves;
  /// Values that are rounded to bytes, in the order in which they are made.
  std::vector<ir::ValueId> values;
  /// Per entry of `values`: the first entry whose grid it shares, itself if none. What is joined or only
  /// enlarged needs no rounding on the way if all its parts lie on one grid.
  std::vector<std::size_t> grid_of;
  /// Per node, of a convolution in bytes: the entry of `values` whose bytes, perhaps moved, are its picture.
  std::vector<std::size_t> picture;
};

/// The graph in which calibration and rewriting take place: concrete shapes, normalisations folded, nothing
/// fused yet. `disabled` passes stay away as in a compilation. Throws Error(unsupported) where shapes depend
/// on data.
ir::Graph prepare(const ir::Graph& graph, const std::vector<Shape>& input_shapes,
                  const std::vector<std::string>& disabled = {});

/// Whether a graph holds quantised tensors already.
bool is_quantised(const ir::Graph& graph);

/// Convolutions that have kernels for bytes are chosen, but for: squeeze-excite gates (maps of one pixel),
/// the last ones before an output, those with fewer than kFewestFilters, and those named in `fp32_layers`;
/// with them what lies between: sums, products, activations, pools, enlargements, concatenations.
Selection select(const ir::Graph& prepared, const std::vector<std::string>& fp32_layers = {});

inline constexpr std::int64_t kFewestFilters = 8;

/// The name by which fp32_layers know a node.
using compiler::layer_name;

/// Names of the convolutions that select would choose.
std::vector<std::string> layers(const ir::Graph& prepared);

/// Of a transposed convolution whose windows lie side by side.
bool windows_side_by_side(const ir::Graph& graph, const ir::Node& node);

/// The value whose elements these are, behind operators that only move them or choose among them.
ir::ValueId moved_from(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId id);

/// A Relu or Clip that alone reads a convolution's result: it becomes a bound of the bytes.
std::optional<std::size_t> bound_behind(const ir::Graph& graph, const ir::Uses& uses, std::size_t conv);

}  // namespace saccade::quantise
