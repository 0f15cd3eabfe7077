#include "compiler/passes/merge_pointwise.h"

#include <algorithm>
#include <array>

#include "compiler/pointwise.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

// The filters [out][in] of a convolution whose filters and bias are f32 constants.
const Tensor* filters_of(const ir::Graph& graph, const Node& node) {
  const Tensor* filters = graph.constant_input(node, 1);
  if (filters == nullptr || filters->dtype() != DType::f32 || node.integer("group", 1) != 1) return nullptr;
  if (node.has_input(2)) {
    const Tensor* bias = graph.constant_input(node, 2);
    if (bias == nullptr || bias->dtype() != DType::f32) return nullptr;
  }
  return integer_weights(*filters) ? nullptr : filters;
}

bool merge(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& second = graph.nodes[index];
  if (!is_pointwise(graph, second)) return false;
  const std::optional<std::size_t> before = edit.producer(second.inputs[0], "Conv");
  if (!before || !edit.uses().single(second.inputs[0])) return false;
  const Node& first = graph.nodes[*before];
  if (!is_plain_pointwise(graph, first)) return false;
  const Tensor *a = filters_of(graph, first), *b = filters_of(graph, second);
  if (a == nullptr || b == nullptr || second.has_input(4)) return false;
  const std::int64_t out = b->dim(0), middle = a->dim(0), in = a->dim(1);
  if (b->dim(1) != middle || out * in > middle * (in + out)) return false;

  std::vector<float> filters(static_cast<std::size_t>(out * in));
  std::vector<float> bias(static_cast<std::size_t>(out));
  const Tensor* a_bias = first.has_input(2) ? graph.constant_input(first, 2) : nullptr;
  const Tensor* b_bias = second.has_input(2) ? graph.constant_input(second, 2) : nullptr;
  std::vector<double> sums(static_cast<std::size_t>(in));
  for (std::int64_t o = 0; o < out; ++o) {
    const float* row = b->data<float>() + o * middle;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t m = 0; m < middle; ++m)
      for (std::int64_t i = 0; i < in; ++i)
        sums[static_cast<std::size_t>(i)] +=
            static_cast<double>(row[m]) * static_cast<double>(a->data<float>()[m * in + i]);
    for (std::int64_t i = 0; i < in; ++i)
      filters[static_cast<std::size_t>(o * in + i)] = static_cast<float>(sums[static_cast<std::size_t>(i)]);
    double sum = b_bias != nullptr ? static_cast<double>(b_bias->data<float>()[o]) : 0;
    for (std::int64_t m = 0; a_bias != nullptr && m < middle; ++m)
      sum += static_cast<double>(row[m]) * static_cast<double>(a_bias->data<float>()[m]);
    bias[static_cast<std::size_t>(o)] = static_cast<float>(sum);
  }
  Node merged = second;
  merged.inputs[0] = first.inputs[0];
  merged.inputs.resize(std::max<std::size_t>(merged.inputs.size(), 3), ir::kNoValue);
  merged.inputs[1] = add_floats(graph, second.name + ":merged", {out, in, 1, 1}, filters);
  if (a_bias != nullptr || b_bias != nullptr)
    merged.inputs[2] = add_floats(graph, second.name + ":merged_bias", {out}, bias);
  merged.outputs.clear();
  edit.replace(index, edit.insert(index, std::move(merged)));
  edit.remove(*before);
  return true;
}

constexpr std::array<Rule, 1> kRules{merge};

}  // namespace

void merge_pointwise(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
