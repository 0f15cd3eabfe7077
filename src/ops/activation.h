// The activation fused into convolutions and matrix products (attributes activation, activation_alpha,
// activation_beta).
#pragma once

#include <string_view>
#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

/// The operator behind "relu", "clip", "leaky_relu", …; nullptr for "none" and for unknown names.
const OpDef* activation_operator(std::string_view text) noexcept;
/// The name under which an operator may be fused ("relu" for Relu); empty where it may not.
std::string_view activation_text(std::string_view op) noexcept;

/// y = f(x) of a node's fused activation, the identity where it has none.
class Activation {
 public:
  /// Throws Error(invalid_model) for an unknown activation.
  explicit Activation(const NodeView& context);
  double operator()(double x) const { return fn_ == nullptr ? x : fn_(&x, parameters_.data()); }

 private:
  double (*fn_)(const double*, const double*) = nullptr;
  std::vector<double> parameters_;
};

}  // namespace saccade::ops
