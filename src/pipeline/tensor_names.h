// A model's inputs and outputs by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "saccade/model.h"
#include "saccade/model_spec.h"

namespace saccade::pipeline {

/// "image 1x3x256x256, size 2", for messages.
std::string list_names(const std::vector<TensorInfo>& tensors);

/// Which output of `model` holds the mask. Throws Error(invalid_argument) with the names that it has, for one
/// that it has not. `name`: of the model, for messages.
std::size_t output_number(const Model& model, const OutputSpec& spec, const std::string& name);

}  // namespace saccade::pipeline
