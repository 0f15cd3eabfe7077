// Inputs for a model that nobody knows.
#pragma once

#include <cstdint>
#include <vector>

#include "saccade/model.h"
#include "saccade/tensor.h"

namespace saccade::fuzz {

/// The shape of each input, with a small number in place of each unknown dimension. Throws Error(limit) where
/// the inputs are too large to run.
std::vector<Shape> input_shapes(const Model& model);

/// Values between -2 and 2, or small numbers that may be indices; the same for the same seed.
std::vector<Tensor> make_inputs(const Model& model, const std::vector<Shape>& shapes, std::uint32_t seed);

/// The same model and inputs, every large weight and every real input moved by a part in a million, up or
/// down.
ir::Graph nudged(const ir::Graph& graph, std::uint32_t seed);
std::vector<Tensor> nudged(const std::vector<Tensor>& inputs, std::uint32_t seed);

}  // namespace saccade::fuzz
