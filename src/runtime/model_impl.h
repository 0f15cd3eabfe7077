// What a Model shares between its copies.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "saccade/model.h"

namespace saccade::runtime {

struct PlanImpl;

/// Plans made so far, newest first; a few, so that switching between two sizes does not compile each time.
struct PlanCache {
  std::mutex mutex;
  std::list<std::pair<std::string, std::shared_ptr<const PlanImpl>>> plans;
};

struct ModelImpl {
  std::filesystem::path path;
  std::string sha256;
  std::string format;  ///< "ONNX", "TFLite"
  std::string producer;
  ir::Graph graph;
  ModelSpec spec;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::pair<std::string, std::size_t>> foreign_ops;
  std::shared_ptr<PlanCache> cache = std::make_shared<PlanCache>();
};

/// A model around a graph that was made in memory (tests, tools). Checks it like a loaded one.
Model make_model(ir::Graph graph);

/// The concrete shape of each input under `options`. Throws Error(invalid_argument) for a name the model does
/// not have, Error(shape_mismatch) for a dimension that stays unknown.
std::vector<Shape> resolve_shapes(const ModelImpl& model, const CompileOptions& options);

/// The plan for `target`; from the cache where the same was asked for before.
std::shared_ptr<const PlanImpl> make_plan(const ModelImpl& model, const compiler::Target& target,
                                          const CompileOptions& options);

}  // namespace saccade::runtime
