#include "compiler/passes/threshold_logits.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

float sigmoid(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))); }

// Numbers of finite floats in ascending order, 0 for both zeros.
std::int64_t number_of(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits >= 0 ? bits : -(std::int64_t{bits} & 0x7FFFFFFF);
}
float float_of(std::int64_t number) {
  const auto bits = static_cast<std::uint32_t>(number < 0 ? -number : number);
  return std::bit_cast<float>(number < 0 ? bits | 0x80000000u : bits);
}

/// The first logit whose sigmoid is above `probability`, or is it, too, with `inclusive`. `probability` lies
/// between 0 and 1, so that there is one.
float first_logit(float probability, bool inclusive) {
  constexpr float kSaturated = 110.0f;  // the sigmoid is 1 there, and below the least float at its negative
  std::int64_t low = number_of(-kSaturated), high = number_of(kSaturated);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const float value = sigmoid(float_of(middle));
    (value > probability || (inclusive && value == probability) ? high : low) = middle;
  }
  return float_of(high);
}

struct Comparison {
  const char* op;
  const char* mirrored;   ///< of c and x
  bool inclusive;         ///< the logit sought is the first at which x >= c, else that at which x > c …
  const char* of_logits;  ///< … and this is what logits are asked about it
};

// x > c where x reaches the first logit above c, x < c where it lies before the first at or above it.
constexpr std::array<Comparison, 4> kComparisons{{
    {"Greater", "Less", false, "GreaterOrEqual"},
    {"GreaterOrEqual", "LessOrEqual", true, "GreaterOrEqual"},
    {"Less", "Greater", true, "Less"},
    {"LessOrEqual", "GreaterOrEqual", false, "Less"},
}};

const Comparison* comparison(const std::string& op, bool mirrored) {
  for (const Comparison& c : kComparisons)
    if (op == (mirrored ? c.mirrored : c.op)) return &c;
  return nullptr;
}

bool on_logits(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.inputs.size() != 2) return false;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const Comparison* wanted = comparison(node.op, slot == 1);
    if (wanted == nullptr) return false;
    const std::optional<float> probability = scalar_constant(graph, node.inputs[1 - slot]);
    const std::optional<std::size_t> source = edit.producer(node.inputs[slot], "Sigmoid");
    if (!probability || !(*probability > 0 && *probability < 1) || !source ||
        !edit.uses().single(node.inputs[slot]) || graph.value(node.inputs[slot]).dtype != DType::f32)
      continue;
    const Shape constant = graph.value(node.inputs[1 - slot]).constant->shape();
    Node made{node.name, wanted->of_logits, {graph.nodes[*source].inputs[0]}, {}, node.attributes};
    made.inputs.push_back(
        add_floats(graph, made.name + ":logit", constant, {first_logit(*probability, wanted->inclusive)}));
    edit.replace(index, edit.insert(index, std::move(made)));
    edit.remove(*source);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 1> kRules{on_logits};

}  // namespace

void threshold_logits(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
