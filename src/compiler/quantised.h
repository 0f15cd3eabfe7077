// What passes read out of quantised graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/edit.h"

namespace saccade::compiler {

bool is_byte(DType dtype);
/// Element `i` of a tensor of bytes.
int byte_at(const Tensor& tensor, std::int64_t i);
/// Whether 32 bits hold every sum of products with bytes, their zero points off, and bias, whatever the
/// picture. `zero` has one value or one a filter; it and `bias` may be absent.
bool sums_fit(const Tensor& weights, const Tensor* zero, const Tensor* bias);

/// Every element of a value is a whole number times `scale`.
struct Grid {
  float scale;
  const ir::Node* made;  ///< the DequantizeLinear itself where nothing lies between, else nullptr
};
/// The grid of a value that was dequantised from bytes by one scale, and since then only moved about.
std::optional<Grid> grid_of(const Edit& edit, ir::ValueId id);

/// The tensor behind a value that is a constant, or one that was dequantised, converted or rearranged.
std::optional<Tensor> known_tensor(const Edit& edit, ir::ValueId id);

/// Weights of 8 bits that a DequantizeLinear makes real.
struct Weights {
  Tensor stored;
  std::optional<Tensor> zero;  ///< absent: 0
  std::vector<float> scales;   ///< one, or one for each index of `axis`
  std::size_t axis = 0;
};
std::optional<Weights> weights_of(const Edit& edit, ir::ValueId id);
/// The same weights as f32, the zero point taken off.
Tensor whole_weights(const Edit& edit, ir::ValueId id, const Weights& weights);

/// Both scales per output channel, or one for all; rounded to single precision like those of integer kernels.
std::vector<double> joint_scales(const Weights& weights, float scale);
/// The bias in units of the products. What is within rounding of a whole number is one.
std::optional<Tensor> bias_in_units(const Tensor& bias, const std::vector<double>& joint,
                                    std::int64_t channels);

/// Scale and zero point of a QuantizeLinear or DequantizeLinear between f32 and bytes that has one of each.
struct Quantisation {
  float scale;
  int zero;
  DType dtype;  ///< of the bytes
  bool operator==(const Quantisation&) const = default;
};
std::optional<Quantisation> quantisation_of(const ir::Graph& graph, const ir::Node& node);

/// Whether targets have kernels that compute this QLinearConv from bytes to bytes: two-dimensional, dense or
/// depthwise, all but the picture constant, no sum beyond 32 bits.
bool convolves_bytes(const ir::Graph& graph, const ir::Node& node);

}  // namespace saccade::compiler
