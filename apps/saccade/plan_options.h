// Options that every command that runs a model shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "saccade/isa.h"
#include "saccade/model.h"

namespace CLI {
class App;
}

namespace saccade::cli {

struct PlanOptions {
  std::vector<std::string> shapes;  ///< "NAME=1x3x512x512", or without NAME for the only input
  std::vector<std::string> disabled_passes;
  std::vector<std::string> limits;
  std::int64_t batch = 0;
  std::string max_memory;
  std::string precision = "fp32";
  bool tune = false;
};

/// Adds --shape, --batch, --disable-pass, --limit and --max-memory.
void add_plan_options(CLI::App& command, PlanOptions& options);

/// Adds --max-memory.
void add_memory_option(CLI::App& command, std::string& size);
/// Its bytes; 0 where it was not given. Throws UsageError for what is no size.
std::int64_t memory_bound(const std::string& size);

/// The model in bytes where --precision asks for int8, calibrated on those inputs; `options.precision` is
/// then fp32. For auto, what is fastest on them: `options` say how it is compiled, `report` (may be nullptr)
/// what was found.
Model in_precision(const Model& model, const std::vector<Tensor>& inputs, CompileOptions& options,
                   int threads, PrecisionReport* report = nullptr);

/// For Model::compile. Throws UsageError for a malformed shape.
CompileOptions compile_options(const Model& model, const PlanOptions& options);

/// Checks text of --isa. Throws UsageError for an unknown name and Error(unsupported) for more than this
/// machine has or SACCADE_MAX_ISA grants.
Isa usable_isa(const std::string& name);

}  // namespace saccade::cli
