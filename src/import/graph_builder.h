// Builds an ir::Graph: values, constants and nodes, with the dtype of every value known as it is made.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace saccade::import {

class GraphBuilder {
 public:
  ir::Graph graph;
  /// Values that hold four-bit integers.
  std::set<ir::ValueId> four_bit;

  DType dtype(ir::ValueId id) const { return graph.value(id).dtype; }
  const Tensor* constant_data(ir::ValueId id) const { return graph.constant(id); }

  /// A constant of rank 1, or a scalar.
  ir::ValueId integers(const std::string& name, const std::vector<std::int64_t>& values);
  ir::ValueId integer(const std::string& name, std::int64_t value);
  /// `values` in the type `dtype` (one of the float or integer types).
  ir::ValueId reals(const std::string& name, DType dtype, Shape shape, const std::vector<double>& values);

  /// Appends a node whose outputs are fresh values with the given names ("" for one that is not wanted).
  std::vector<ir::ValueId> emit(const std::string& node_name, std::string_view op,
                                std::vector<ir::ValueId> inputs, ir::Attributes attributes,
                                const std::vector<std::string>& output_names);
  /// The usual case: one output, named after the node.
  ir::ValueId emit_one(const std::string& name, std::string_view op, std::vector<ir::ValueId> inputs,
                       ir::Attributes attributes = {});
};

/// The dtype that output `index` of `node` has, from its inputs and attributes alone.
DType result_dtype(const ir::Graph& graph, const ir::Node& node, std::size_t index);

/// The dtype of that dtype_name(), or nullopt.
std::optional<DType> parse_dtype(std::string_view name);

/// Every element as double (exact up to 2^53); for small constants such as axes and scales.
std::vector<double> to_doubles(const Tensor& tensor);
/// Every element as int64; throws Error(invalid_model) for a tensor of floats.
std::vector<std::int64_t> to_integers(const Tensor& tensor);
/// The same values in another dtype; only the types that hold numbers.
Tensor cast_tensor(const Tensor& tensor, DType dtype);
/// `tensor` with its axes in the order `perm` (output axis i is input axis perm[i]).
Tensor transpose_tensor(const Tensor& tensor, const std::vector<std::int64_t>& perm);

}  // namespace saccade::import
