// What a Plan shares between its copies, and the order in which its steps run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "saccade/model.h"

namespace saccade::runtime {

/// One phase of one step. Threads share its tasks.
struct Phase {
  std::size_t step = 0;
  int phase = 0;
  std::int64_t tasks = 0;
  /// All threads meet behind it. Not needed between phases of one task each: thread 0 runs both.
  bool barrier = true;
  /// Steps whose first phase follows this one: each task of theirs runs behind the same task of this one.
  std::vector<std::size_t> followers = {};
};

struct DynamicPlan;

struct PlanImpl {
  compiler::CompiledGraph compiled;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Phase> phases;
  Isa isa = Isa::portable;
  Precision precision = Precision::fp32;
  /// Set where shapes depend on data: `compiled` and `phases` are empty then, and the shapes of `outputs` may
  /// hold -1 or be empty.
  std::shared_ptr<const DynamicPlan> dynamic;
};

/// A plan for `graph` and the concrete shapes of its inputs. Throws as compiler::compile.
/// `recipe` (may be nullptr) gets what repeats it; nothing where shapes depend on data.
std::shared_ptr<const PlanImpl> plan_graph(const ir::Graph& graph, const compiler::Target& target,
                                           const compiler::Options& options,
                                           std::optional<compiler::Recipe>* recipe = nullptr);

/// Throws Error(unsupported) for a precision that `isa` has no kernels for, Error(invalid_argument) for one
/// that is to be decided on pictures.
void check_precision(Precision precision, Isa isa);

std::vector<Phase> phases_of(const compiler::CompiledGraph& compiled);

}  // namespace saccade::runtime
