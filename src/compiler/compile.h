// The compiler's entry point.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/compiled_graph.h"
#include "compiler/kernel_timer.h"
#include "compiler/recipe.h"
#include "compiler/target.h"
#include "ir/graph.h"

namespace saccade::compiler {

struct Options {
  /// Concrete shape per graph input (the graph's order).
  std::vector<Shape> input_shapes;
  Isa isa = Isa::portable;
  std::vector<std::string> disabled_passes;
  /// What single precision may become. fp32 and int8 leave the graph as it is: bytes are in it as
  /// QuantizeLinear and DequantizeLinear. Never `automatic`.
  Precision precision = Precision::fp32;
  /// Names of nodes that stay in single precision all the same.
  std::vector<std::string> fp32_layers;
  /// With bf16: convolutions are marked for kernels whose error is a multiple of that of others, but for
  /// those of these names.
  bool coarse = false;
  std::vector<std::string> exact_layers;
  /// Re-run the graph on random data with the interpreter after each pass and compare (slow; tests).
  bool check_passes = false;
  /// If > 0: bytes that packed weights, arena and the scratch of one thread may take together.
  std::int64_t max_memory = 0;
  /// Says how long kernels take, where choices are not left to predictions; nullptr: they are.
  std::shared_ptr<KernelTimer> timer = nullptr;
};

/// Throws Error(unsupported) for data-dependent shapes that do not fold, Error(shape_mismatch |
/// invalid_model).
CompiledGraph compile(const ir::Graph& graph, const Target& target, const Options& options);

/// Whether every shape in a graph that `optimise` returned is known.
bool shapes_known(const ir::Graph& graph);
/// As `compile`, for a graph that `optimise` returned. `recipe` (may be nullptr) gets what compile_recipe
/// needs.
CompiledGraph compile_optimised(const ir::Graph& graph, const Target& target, const Options& options,
                                Recipe* recipe = nullptr);

/// Repeats a compilation for the same target and options. The recipe may be anything that read_recipe
/// returned, its blocks hold any data: throws an Error where it could not have been made by
/// compile_optimised.
CompiledGraph compile_recipe(const Recipe& recipe, const Target& target, const Options& options);

/// `graph` with concrete input shapes, rewritten for another batch where they ask for it. Throws as
/// `compile`.
ir::Graph with_shapes(const ir::Graph& graph, const std::vector<Shape>& input_shapes);

/// `graph` after all passes, before any kernel is chosen. `report` (may be nullptr) gets one line a pass.
ir::Graph optimise(const ir::Graph& graph, const Options& options, std::string* report = nullptr);

/// The optional and required passes in order, for --disable-pass and documentation.
std::vector<std::string> pass_names();
/// Whether a pass cannot be switched off.
bool pass_is_required(std::string_view name);

}  // namespace saccade::compiler
