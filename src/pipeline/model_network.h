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
  PrecisionOptions precision;
};

/// The network that a job runs of `model`, in the precision that was asked for, and how it is compiled for
/// one picture at a time; with `single`, the same in single precision. Throws as make_network.
struct NetworkChoice {
  ChosenModel chosen;
  Model single;           ///< with real ends
  CompileOptions shapes;  ///< of `single`
};
NetworkChoice choose_network(const Model& model, const compiler::Target& target,
                             const NetworkOptions& options);

/// Compiles `model` for one picture at a time. Inputs whose size the model leaves open get that of its spec,
/// else kDefaultSide. Throws Error(unsupported | shape_mismatch) for a model that is not "one picture in, one
/// tensor out".
std::unique_ptr<Network> make_network(const Model& model, const compiler::Target& target,
                                      const NetworkOptions& options);

}  // namespace saccade::pipeline
