// What calibration decided: enough to quantise the same network again without pictures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/archive.h"
#include "ir/graph.h"
#include "quantise/equalise.h"
#include "quantise/range.h"

namespace saccade::quantise {

struct Recipe {
  std::vector<std::string> fp32_layers;  ///< as `select` takes them
  std::vector<Grid> grids;               ///< of Selection::values
  std::vector<Equalisation> equalisations;
  struct Correction {
    std::size_t node = 0;      ///< index of a convolution
    std::vector<float> shift;  ///< added to its bias, per filter
  };
  std::vector<Correction> corrections;
};

void write_recipe(ArchiveWriter& out, const Recipe& recipe);
/// Reads any bytes; throws Error(io) for what is no recipe.
Recipe read_recipe(ArchiveReader& in);

/// The quantised network: QuantizeLinear and DequantizeLinear around what runs in bytes, filters and biases
/// as integers. `prepared` is the graph that the recipe was made for; throws Error(io) where they do not fit.
ir::Graph apply(const ir::Graph& prepared, const Recipe& recipe);

}  // namespace saccade::quantise
