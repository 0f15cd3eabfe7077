// Plans of models with shapes that data decides.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/islands.h"
#include "runtime/plan.h"

namespace saccade::runtime {

struct ContextImpl;

/// Either small inputs decide the shapes (`shape_inputs` is not empty): then there is a plan for each of
/// their values, made when they first come; or larger data do: then `islands` run one after another, some
/// compiled, some by the interpreter.
struct DynamicPlan {
  ir::Graph graph;
  const compiler::Target* target = nullptr;
  compiler::Options options;  ///< with the shapes of all inputs

  std::vector<std::size_t> shape_inputs;
  mutable std::mutex mutex;
  /// By the bytes of the shape inputs, newest first.
  mutable std::list<std::pair<std::string, std::shared_ptr<const PlanImpl>>> bound;

  struct Part {
    compiler::Island island;
    std::shared_ptr<const PlanImpl> plan;  ///< nullptr: the interpreter runs it
  };
  std::vector<Part> parts;
};

/// One execution state of such a plan. Allocates as it runs.
class DynamicContext {
 public:
  DynamicContext(std::shared_ptr<const PlanImpl> plan, int threads);
  ~DynamicContext();

  std::vector<Tensor> run(std::span<const Tensor> inputs);

 private:
  std::vector<Tensor> run_bound(std::span<const Tensor> inputs);
  std::vector<Tensor> run_parts(std::span<const Tensor> inputs);
  /// The context of a plan that is part of this one; made when first needed, few are kept.
  ContextImpl& context_of(const std::shared_ptr<const PlanImpl>& plan, std::size_t keep);

  std::shared_ptr<const PlanImpl> plan_;
  int threads_;
  std::list<std::pair<std::shared_ptr<const PlanImpl>, std::unique_ptr<ContextImpl>>> contexts_;
};

/// A plan for a graph whose shapes are not all known once those of its inputs are. `plan` has its inputs;
/// `optimised` is the graph after the passes.
void make_dynamic(PlanImpl& plan, const ir::Graph& graph, const ir::Graph& optimised,
                  const compiler::Target& target, const compiler::Options& options);

}  // namespace saccade::runtime
