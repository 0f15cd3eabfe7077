// Fused activations over the vector vocabulary; included inside the namespace of each instruction set.

/// None, ReLU and clip are one clamp, done in registers: this is true for them.
[[gnu::always_inline]] inline bool is_clamp(const Epilogue& e) {
  return e.activation == Activation::none || e.activation == Activation::relu || e.activation == Activation::clip;
}
[[gnu::always_inline]] inline Vec lower_bound(const Epilogue& e) {
  if (e.activation == Activation::relu) return zero();
  return broadcast(e.activation == Activation::clip ? e.alpha : -__builtin_inff());
}
[[gnu::always_inline]] inline Vec upper_bound(const Epilogue& e) {
  return broadcast(e.activation == Activation::clip ? e.beta : __builtin_inff());
}
/// A NaN stays NaN; with crossed bounds the upper one wins.
[[gnu::always_inline]] inline Vec clamp(Vec low, Vec high, Vec x) { return min(high, max(low, x)); }

/// Any activation, one vector at a time.
[[gnu::always_inline]] inline Vec activate(const Epilogue& e, Vec x) {
  switch (e.activation) {
    case Activation::none: return x;
    case Activation::relu: return max(zero(), x);
    case Activation::clip: return clamp(broadcast(e.alpha), broadcast(e.beta), x);
    case Activation::leaky_relu: return select(less(x, zero()), x * broadcast(e.alpha), x);
    case Activation::sigmoid: return sigmoid(x);
    case Activation::hard_sigmoid: return hard_sigmoid(x, broadcast(e.alpha), broadcast(e.beta));
    case Activation::hard_swish: return hard_swish(x);
    case Activation::silu: return silu(x);
    case Activation::tanh: return tanh(x);
  }
  return x;
}
