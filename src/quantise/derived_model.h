// A recipe's network as a Model.
#pragma once

#include "quantise/decide.h"
#include "quantise/recipe.h"
#include "saccade/model.h"

namespace saccade::quantise {

/// `model` in bytes, for the shapes that `options` ask for. Its graph is made when somebody asks for it: with
/// a cached plan nobody does.
Model in_bytes(const Model& model, const CompileOptions& options, const Recipe& recipe);

/// A model and how it is compiled.
struct Decided {
  Model model;
  CompileOptions compile;
};
/// `model` as it was decided; what the decision does not speak of is as in `options`.
Decided as_decided(const Model& model, const CompileOptions& options, const Decision& decision);

}  // namespace saccade::quantise
