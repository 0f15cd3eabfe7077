// From a model file to results: Model -> Plan -> Context.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "saccade/error.h"
#include "saccade/isa.h"
#include "saccade/limits.h"
#include "saccade/model_spec.h"
#include "saccade/plan_cache.h"
#include "saccade/precision.h"
#include "saccade/tensor.h"

namespace saccade {

class Profiler;

namespace ir {
class Graph;
}
namespace compiler {
class Target;
struct CompiledGraph;
}  // namespace compiler
namespace runtime {
struct ModelImpl;
struct PlanImpl;
struct ContextImpl;
}  // namespace runtime

/// An input or output as the model declares it; unknown dimensions are -1.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::string> dim_names;  ///< symbol of each unknown dimension, "" where it has none
};

struct CompileOptions {
  /// Concrete shapes by input name; inputs that are not named keep their declared shape, whose unknown
  /// leading dimension becomes 1. Any other unknown dimension is an Error(shape_mismatch) that names it.
  std::vector<std::pair<std::string, Shape>> input_shapes;
  /// If > 0, the leading dimension of every input is rewritten to it, also where the model fixes it, if the
  /// graph allows.
  std::int64_t batch = 0;
  /// Highest instruction set to use; further capped by SACCADE_MAX_ISA and by what the machine has.
  std::optional<Isa> max_isa;
  /// Names of optional compiler passes to leave out (see `saccade inspect --passes`).
  std::vector<std::string> disabled_passes;
  /// If > 0, packed weights, the arena and the scratch of one thread take at most so many bytes together:
  /// kernels with smaller weights are chosen, slower ones if need be. Error(limit) with the smallest possible
  /// number where even that is not enough. Activations grow with the batch, so that then kernels, and the
  /// last bits of results, may be others for another batch.
  std::int64_t max_memory = 0;
  /// Nothing but what is asked for here makes a network less precise. Error(unsupported) for one that this
  /// instruction set has no kernels for.
  Precision precision = Precision::fp32;
  /// Names of nodes (of what they return, where they have none) that stay in single precision all the same,
  /// with what they are computed together with.
  std::vector<std::string> fp32_layers;
  /// With bf16: 3x3 convolutions may also run on kernels that multiply in bfloat16 after Winograd's
  /// transforms, which is faster and errs several times as much as bf16 else does. For those who have
  /// measured what it does, as `auto` does.
  bool coarse = false;
  /// Names of nodes that run on no such kernel all the same.
  std::vector<std::string> exact_layers;
  /// Measures kernels on this machine while it compiles, and takes the fastest where several can do a layer
  /// at comparable cost. That takes seconds, about half a minute at most (an idle machine measures best); the
  /// model's plan cache keeps what was measured, and the plan. Last bits of results may differ from those
  /// without; they are the same for any number of threads, any batch, and wherever the same times are known.
  /// Layers are no less exact than without it. Plans for shapes that only a run tells are not measured.
  bool tune = false;
};

struct ContextOptions {
  /// Threads that share one execution (latency mode). 1 runs on the calling thread alone. Results do not
  /// depend on it.
  int threads = 1;
  /// Gets a span for each layer of each run; must outlive the context. Null: nothing is recorded, at no cost.
  Profiler* profiler = nullptr;
};

class Context;

/// A model compiled for concrete shapes. Immutable; copies share it; safe to use from many threads at once.
class Plan {
 public:
  /// Inputs and outputs in the model's order, with concrete shapes.
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  /// A new execution state: arena and worker threads. Contexts of one plan are independent.
  /// Throws Error(invalid_argument) for a bad number of threads, Error(limit) where memory or a thread is
  /// refused.
  Context make_context(const ContextOptions& options = {}) const;
  /// Bytes of one context's activation arena; bytes of packed weights shared by all contexts.
  std::int64_t arena_bytes() const;
  std::int64_t weight_bytes() const;
  /// The largest sum of activations that are needed at the same time, which no arena can be smaller than;
  /// bytes of scratch for each thread of a context.
  std::int64_t live_activation_bytes() const;
  std::int64_t thread_scratch_bytes() const;
  const runtime::PlanImpl& impl() const { return *impl_; }
  explicit Plan(std::shared_ptr<const runtime::PlanImpl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const runtime::PlanImpl> impl_;
};

/// One execution at a time: not thread-safe; use one context a thread. Steady state allocates nothing.
class Context {
 public:
  /// Reads `inputs` (dense, row-major, the plan's shapes and dtypes, the plan's order) and writes `outputs`
  /// (likewise, preallocated). Throws Error(shape_mismatch) naming tensor, expected and given shape.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// Allocating convenience form.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  runtime::ContextImpl& impl() { return *impl_; }
  explicit Context(std::unique_ptr<runtime::ContextImpl> impl);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

 private:
  std::unique_ptr<runtime::ContextImpl> impl_;
};

/// A loaded model. Immutable; copies share it; safe to use from many threads at once.
class Model {
 public:
  /// Reads ONNX or TFLite (told apart by content). Throws Error(not_found | io | invalid_model | unsupported
  /// | limit); for unsupported operators the message lists all of them.
  /// With a cache, and a file that has not changed since an earlier load, the file is read no sooner than
  /// something asks for its graph; `compile` then finds its plans there too.
  static Model load(const std::filesystem::path& path, const LoadLimits& limits = {},
                    const PlanCacheOptions& cache = {});

  const ModelSpec& spec() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::filesystem::path& path() const;
  /// Throws as `load` where that left it for later and the file is another one by now.
  const ir::Graph& graph() const;

  /// Compiles for this CPU. Throws Error(shape_mismatch | unsupported).
  Plan compile(const CompileOptions& options = {}) const;
  /// Compiles for a given backend (used by Saccade's own pipeline).
  Plan compile(const compiler::Target& target, const CompileOptions& options) const;
  /// Runs the plain reference executor: slow, the oracle of the tests. Inputs in the model's order, any
  /// admissible shapes.
  std::vector<Tensor> interpret(std::span<const Tensor> inputs) const;

  const runtime::ModelImpl& impl() const { return *impl_; }
  explicit Model(std::shared_ptr<const runtime::ModelImpl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const runtime::ModelImpl> impl_;
};

}  // namespace saccade
