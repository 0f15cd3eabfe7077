#include "ops/activation.h"

namespace saccade::ops {

namespace {

struct Fusable {
  std::string_view text;
  std::string_view op;
};

constexpr Fusable kFusable[] = {{"relu", "Relu"},
                                {"clip", "Clip"},
                                {"leaky_relu", "LeakyRelu"},
                                {"sigmoid", "Sigmoid"},
                                {"hard_sigmoid", "HardSigmoid"},
                                {"hard_swish", "HardSwish"},
                                {"silu", "Silu"},
                                {"tanh", "Tanh"}};

}  // namespace

const OpDef* activation_operator(std::string_view text) noexcept {
  for (const Fusable& fusable : kFusable)
    if (fusable.text == text) return find(fusable.op);
  return nullptr;
}

std::string_view activation_text(std::string_view op) noexcept {
  for (const Fusable& fusable : kFusable)
    if (fusable.op == op) return fusable.text;
  return {};
}

Activation::Activation(const NodeView& context) {
  const std::string text = context.node().text("activation", "none");
  if (text == "none") return;
  const OpDef* op = activation_operator(text);
  if (op == nullptr) context.fail("activation '" + text + "' is not known");
  constexpr std::string_view kAttributes[] = {"activation_alpha", "activation_beta"};
  fn_ = op->scalar.fn;
  for (std::size_t i = 0; i < op->scalar.parameters.size(); ++i) {
    const double otherwise = op->scalar.parameters[i].otherwise;
    parameters_.push_back(context.node().has(kAttributes[i])
                              ? static_cast<double>(context.node().real(kAttributes[i], 0))
                              : otherwise);
  }
}

}  // namespace saccade::ops
