// A compiled model as the pipeline's network.
#pragma once

#include <memory>
#include <optional>

#include "compiler/target.h"
#include "pipeline/choose_precision.h"
#include "pipeline/network.h"
#include "saccade/model.h"

namespace saccade::pipeline {

struct NetworkOptions {
  std::optional<Isa> max_isa;
  std::int64_t max_memory = 0;  ///< as CompileOptions::max_memory
  bool tune = false;            ///< as CompileOptions::tune
  PrecisionOptions precision;
  std::optional<int> tile;    ///< inputs are tiles of that many pixels a side; 0: of a size that suits
  std::optional<int> window;  ///< inputs are windows of that many pixels a side; 0: of the spec's size
};

/// The network that a job runs of `model`, in the precision that was asked for, and how it is compiled for
/// one picture at a time; with `single`, the same in single precision. Throws as make_network.
struct NetworkChoice {
  ChosenModel chosen;
  Model single;                    ///< with real ends
  CompileOptions shapes;           ///< of `single`
  std::optional<TileRules> tiles;  ///< where tiles were asked for
};
NetworkChoice choose_network(const Model& model, const compiler::Target& target,
                             const NetworkOptions& options);

/// Compiles `model` for one picture at a time. Inputs whose size the model leaves open get that of its spec,
/// else kDefaultSide; those of tiles and windows the sizes asked for. Throws Error(unsupported |
/// shape_mismatch) for a model that is not "one picture in, one tensor out", for tiles of one that looks at
/// the whole picture, and for sizes that a model does not take.
std::unique_ptr<Network> make_network(const Model& model, const compiler::Target& target,
                                      const NetworkOptions& options);

}  // namespace saccade::pipeline
