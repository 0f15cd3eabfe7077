// Activations of fused epilogues. Plain: kernel units include this.
#pragma once

namespace saccade::cpu {

enum class Activation : int { none, relu, clip, leaky_relu, sigmoid, hard_sigmoid, hard_swish, silu, tanh };

/// y = activation(x); alpha, beta : bounds of clip; alpha: slope of leaky_relu; hard_sigmoid is max(0, min(1,
/// alpha x + beta)).
struct Epilogue {
  Activation activation = Activation::none;
  float alpha = 0;
  float beta = 0;
};

}  // namespace saccade::cpu
