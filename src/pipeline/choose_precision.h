// Which precision a job's network runs in, decided on pictures and remembered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "compiler/target.h"
#include "pipeline/network.h"
#include "pipeline/sample_pictures.h"
#include "quantise/decide.h"
#include "quantise/recipe.h"
#include "saccade/model.h"

namespace saccade::pipeline {

struct PrecisionOptions {
  Precision asked = Precision::fp32;
  PictureSource pictures;        ///< that it is decided on
  std::filesystem::path labels;  ///< folder of their labels; empty: none
  quantise::Budget budget;
  std::optional<ResizeRule> resize;
  std::optional<float> threshold;  ///< of masks; unset: 0.5
  int threads = 1;                 ///< that may be used meanwhile
  int timing_threads = 1;          ///< that share one run of the network
  std::function<void(std::string_view)> progress;
};

/// A network and how it is to be compiled.
struct ChosenModel {
  Model model;
  CompileOptions options;
  PrecisionReport report;
  std::optional<quantise::Recipe> recipe = std::nullopt;  ///< that `model` in bytes was made by
};

/// `model` has real ends; `options` are those of its compilation in fp32, with all shapes. Takes the decision
/// from the model's cache where it was made before, of the same pictures. Throws as `quantise::decide` and
/// sample_pictures.
ChosenModel choose_precision(const Model& model, const ModelSpec& spec, const compiler::Target& target,
                             const CompileOptions& options, const PrecisionOptions& wanted);

/// How masks are read off an output of that kind. Throws as vision::output_layout.
quantise::LabelRule label_rule(const OutputSpec& spec, DType dtype, const Shape& shape, std::size_t index,
                               std::optional<float> threshold);

}  // namespace saccade::pipeline
