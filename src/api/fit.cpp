#include "saccade/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "platform/machine.h"
#include "saccade/error.h"

namespace saccade {

namespace {

struct Sizes {
  std::int64_t batch = 1, weights = 0, context = 0;
};

/// Nothing where the model's batch cannot be that.
std::optional<Sizes> sizes_of(const Model& model, const FitOptions& options, std::int64_t batch) {
  CompileOptions compile = options.compile;
  compile.batch = batch;
  compile.max_memory = 0;
  try {
    const Plan plan = model.compile(compile);
    return Sizes{batch, plan.weight_bytes(),
                 plan.arena_bytes() + plan.thread_scratch_bytes() * std::max(1, options.threads)};
  } catch (const Error& error) {
    if (batch == 1) throw;
    if (error.code() == ErrorCode::limit || error.code() == ErrorCode::unsupported ||
        error.code() == ErrorCode::shape_mismatch)
      return std::nullopt;
    throw;
  }
}

std::int64_t contexts_within(const Sizes& sizes, std::int64_t bound) {
  if (sizes.weights > bound) return 0;
  return sizes.context <= 0 ? INT32_MAX : (bound - sizes.weights) / sizes.context;
}

}  // namespace

MemoryFit fit_memory(const Model& model, const FitOptions& options) {
  const std::int64_t bound = options.max_memory > 0
                                 ? options.max_memory
                                 : platform::cgroup_memory_limit().value_or(platform::machine_memory()) / 2;
  const std::int64_t wanted = std::max(1, options.max_contexts);
  std::optional<Sizes> best = sizes_of(model, options, 1);
  const std::int64_t contexts = std::min(wanted, contexts_within(*best, bound));
  if (contexts < 1)
    throw Error(
        ErrorCode::limit,
        fmt::format("{}: one context needs {} bytes for weights, activations and scratch, the bound is {}",
                    model.path().string(), best->weights + best->context, bound));
  // Doubled until it fits no more, then halved between.
  const auto fits = [&](std::int64_t batch) {
    const std::optional<Sizes> sizes = sizes_of(model, options, batch);
    if (!sizes || contexts_within(*sizes, bound) < contexts) return false;
    best = sizes;
    return true;
  };
  std::int64_t low = 1, high = 2;
  while (high <= options.max_batch && fits(high)) low = high, high *= 2;
  high = std::min(high, options.max_batch + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  MemoryFit fit;
  fit.batch = best->batch;
  fit.contexts = static_cast<int>(contexts);
  fit.weight_bytes = best->weights;
  fit.context_bytes = best->context;
  fit.total_bytes = best->weights + contexts * best->context;
  fit.max_memory = bound;
  return fit;
}

}  // namespace saccade
