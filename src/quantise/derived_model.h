// A recipe's network as a Model.
#pragma once

#include "quantise/recipe.h"
#include "saccade/model.h"

namespace saccade::quantise {

/// `model` in bytes, for the shapes that `options` ask for. Its graph is made when somebody asks for it: with
/// a cached plan nobody does.
Model in_bytes(const Model& model, const CompileOptions& options, const Recipe& recipe);

}  // namespace saccade::quantise
