// Runs shape rules over a graph, and checks nodes against their OpDefs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/budget.h"
#include "ops/op_def.h"

namespace saccade::ops {

/// ir::verify, and: every operator exists, arity and attribute names and kinds fit its OpDef. Recurses into
/// subgraphs. For unknown operators throws one Error(unsupported) that lists all of them with counts.
void verify(const ir::Graph& graph);

/// One node. Absent inputs are nullptr in both spans. Returns nullopt where an output shape depends on
/// unknown data. Here and below: without a budget, that of a graph's limits (or the default ones) holds for
/// the call.
std::optional<std::vector<TensorType>> infer_node(const ir::Node& node,
                                                  std::span<const TensorType* const> inputs,
                                                  std::span<const Tensor* const> constants,
                                                  Budget* budget = nullptr);

/// The input whose data a shape rule asks for and does not find; nullopt where it gets along without.
std::optional<std::size_t> needed_input(const ir::Node& node, std::span<const TensorType* const> inputs,
                                        std::span<const Tensor* const> constants);

/// Sets dtype and shape of every value from the (concrete) shapes of the graph's inputs; values behind
/// unknown data keep an unknown shape. Evaluates shape arithmetic on the way (small constant inputs), so that
/// Reshape and Resize targets are known, without changing nodes. Returns the data found that way (and the
/// constants), by value id. Throws Error(invalid_model | shape_mismatch | unsupported) naming the node.
std::vector<std::optional<Tensor>> infer_graph(ir::Graph& graph, Budget* budget = nullptr);

/// Evaluates one node with its reference kernel, after its shape rule accepted the inputs. Absent inputs are
/// nullptr. Throws Error(invalid_model | shape_mismatch | unsupported | limit) naming the node.
std::vector<Tensor> evaluate_node(const ir::Node& node, const ir::Graph& graph,
                                  std::span<const Tensor* const> inputs, Budget* budget = nullptr);

}  // namespace saccade::ops
