#include "cpu/epilogue.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace saccade::cpu {

namespace {

std::optional<Activation> parse(std::string_view name) {
  constexpr struct {
    std::string_view name;
    Activation activation;
  } kNames[] = {
      {"none", Activation::none},
      {"relu", Activation::relu},
      {"clip", Activation::clip},
      {"leaky_relu", Activation::leaky_relu},
      {"sigmoid", Activation::sigmoid},
      {"hard_sigmoid", Activation::hard_sigmoid},
      {"hard_swish", Activation::hard_swish},
      {"silu", Activation::silu},
      {"tanh", Activation::tanh},
  };
  for (const auto& entry : kNames)
    if (entry.name == name) return entry.activation;
  return std::nullopt;
}

}  // namespace

const char* check_epilogue(const ir::Node& node) {
  return parse(node.text("activation", "none")) ? nullptr : "unknown activation";
}

Epilogue read_epilogue(const ir::Node& node) {
  Epilogue epilogue;
  epilogue.activation = parse(node.text("activation", "none")).value_or(Activation::none);
  float alpha = 0, beta = 0;
  switch (epilogue.activation) {
    case Activation::clip:
      alpha = std::numeric_limits<float>::lowest();
      beta = std::numeric_limits<float>::max();
      break;
    case Activation::leaky_relu:
      alpha = 0.01f;
      break;
    case Activation::hard_sigmoid:
      alpha = 0.2f;
      beta = 0.5f;
      break;
    default:
      break;
  }
  epilogue.alpha = node.real("activation_alpha", alpha);
  epilogue.beta = node.real("activation_beta", beta);
  return epilogue;
}

}  // namespace saccade::cpu
