// Graphs inside nodes: what If, Loop and Scan share.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

/// Trait of operators that run graphs which they carry: their results may have other shapes than any rule can
/// tell, and f16 and bf16 are the business of the nodes inside.
inline constexpr Trait kRunsGraph = static_cast<Trait>(1u << 9);

/// The graph behind an attribute; fails where it has not `inputs` inputs.
const ir::Graph& subgraph(const NodeView& context, std::string_view attribute, std::size_t inputs);

/// Output types for given types (and data, nullptr where unknown) of the inputs; nullopt where one depends on
/// unknown data. `context`: the node around it, whose budget is spent.
std::optional<std::vector<TensorType>> infer_subgraph(const NodeView& context, const ir::Graph& graph,
                                                      std::span<const TensorType> types,
                                                      std::span<const Tensor* const> data = {});

/// Runs a graph with reference kernels.
std::vector<Tensor> run_subgraph(const NodeView& context, const ir::Graph& graph,
                                 std::span<const Tensor> inputs);

/// A known input of one element that is a bool.
bool condition(const NodeView& context, std::size_t input);

/// Throws Error(limit) where a loop may not go on to iteration `i` (from 0).
void check_iteration(const NodeView& context, std::int64_t i);

/// Results of iterations, put one after another along a new axis. The budget holds them as long as it lives.
class Stack {
 public:
  /// `type` is what one iteration gives, for a stack that stays empty.
  Stack(const NodeView& context, std::int64_t axis, TensorType type);
  ~Stack();
  Stack(Stack&&) = default;
  Stack& operator=(Stack&&) = delete;
  void push(Tensor part);
  /// Along the axis in the order of pushing, or reversed.
  Tensor join(bool reversed = false) const;

 private:
  const NodeView& context_;
  std::int64_t axis_;
  TensorType type_;
  std::vector<Tensor> parts_;
};

/// Slice `i` of a tensor along an axis, which is removed.
Tensor slice_of(const Tensor& tensor, std::size_t axis, std::int64_t i);

}  // namespace saccade::ops
