// What a Model shares between its copies.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/target.h"
#include "ir/graph.h"
#include "saccade/model.h"

namespace saccade::runtime {

struct PlanImpl;

class PlanCache;
class KernelTimes;

/// Plans made so far, newest first; a few, so that switching between two sizes does not compile each time.
struct RecentPlans {
  std::mutex mutex;
  std::list<std::pair<std::string, std::shared_ptr<const PlanImpl>>> plans;
  std::map<std::string, std::shared_ptr<KernelTimes>> times;  ///< by target, of plans that were tuned
};

/// All limits, for keys of what depends on them.
std::string text_of(const LoadLimits& limits);

struct ModelImpl {
  std::filesystem::path path;
  std::string sha256;
  std::string format;  ///< "ONNX", "TFLite"
  std::string producer;
  LoadLimits limits;
  ModelSpec spec;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<bool> shapes_declared;  ///< per input: whether the model says at least its rank
  std::vector<std::pair<std::string, std::size_t>> foreign_ops;
  /// Tells graphs apart: hashes of all files that it was read from, and what was done to it since. Empty:
  /// nothing does, and its plans are not kept.
  std::string identity;
  bool needs_real_ends = false;            ///< with_real_ends returns another model
  std::shared_ptr<const PlanCache> cache;  ///< nullptr: none
  std::shared_ptr<RecentPlans> recent = std::make_shared<RecentPlans>();

  /// Reads the file if that has not been done yet. Thread-safe.
  const ir::Graph& graph() const;
  /// Whether that was done.
  bool graph_is_read() const {
    const std::lock_guard lock(mutex_);
    return graph_ != nullptr;
  }
  /// Of a model that was made of another: makes its graph.
  std::function<ir::Graph()> derive;

  void set_graph(ir::Graph graph) { graph_ = std::make_unique<const ir::Graph>(std::move(graph)); }

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const ir::Graph> graph_;
};

/// A model around a graph that was made in memory. Checks it like a loaded one. Who changes the graph of a
/// model with an identity hands on `cache`, and the identity with what was done added to it.
Model make_model(ir::Graph graph, std::string identity = "",
                 std::shared_ptr<const PlanCache> cache = nullptr);

/// A model made of another, for concrete shapes of its inputs: as many inputs and outputs, of the same names
/// and types. Its graph is made when it is first asked for. `identity` as of make_model.
Model derive_model(const Model& model, const std::vector<Shape>& input_shapes, std::string identity,
                   std::function<ir::Graph()> make);

/// The concrete shape of each input under `options`. Throws Error(invalid_argument) for a name the model does
/// not have, Error(shape_mismatch) for a dimension that stays unknown.
std::vector<Shape> resolve_shapes(const ModelImpl& model, const CompileOptions& options);

/// Nanoseconds of a kernel, as compiler::time_kernel.
using MeasureKernel = std::function<std::optional<double>(const compiler::KernelQuery&,
                                                          const compiler::KernelDesc&, double rival)>;

/// The plan for `target`; from the cache where the same was asked for before. `measure` (may be nullptr)
/// takes the place of the clock where `options.tune`.
std::shared_ptr<const PlanImpl> make_plan(const ModelImpl& model, const compiler::Target& target,
                                          const CompileOptions& options,
                                          const MeasureKernel& measure = nullptr);

}  // namespace saccade::runtime
