// A plan as an entry of the plan cache.
#pragma once

#include <memory>
#include <string>

#include "compiler/recipe.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"

namespace saccade::runtime {

/// Everything that a plan of `model` depends on; `options` is its key among the plans of one model.
std::string plan_key(const ModelImpl& model, const compiler::Target& target, const std::string& options);

/// nullptr where there is none, or none that fits; that one is removed.
std::shared_ptr<const PlanImpl> read_plan(const PlanCache& cache, const std::string& key,
                                          const ModelImpl& model, const compiler::Target& target,
                                          const compiler::Options& options);

void keep_plan(const PlanCache& cache, const std::string& key, const PlanImpl& plan,
               const compiler::Recipe& recipe);

}  // namespace saccade::runtime
