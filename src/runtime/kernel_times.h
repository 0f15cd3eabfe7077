// How long kernels took on this machine, for one model: measured once, remembered, kept in the plan cache.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "compiler/kernel_timer.h"
#include "runtime/model_impl.h"
#include "runtime/plan_cache.h"

namespace saccade::runtime {

/// Layers of one shape are measured once. What could not be measured, or not in time, never is: choices would
/// depend on when they are made.
class KernelTimes final : public compiler::KernelTimer {
 public:
  explicit KernelTimes(MeasureKernel measure);

  std::vector<double> times(const compiler::KernelQuery& query,
                            std::span<const compiler::KernelDesc* const> candidates) override;

  /// Grants the compilation that begins its share of time.
  void begin();
  /// From or to the model's cache, if it has one; `key` says what times depend on.
  void read(const PlanCache& cache, const std::string& key);
  void keep(const PlanCache& cache, const std::string& key);

 private:
  struct Known {
    std::set<std::string, std::less<>> never;  ///< kernels that could not be measured, or not in time
    std::map<std::string, double, std::less<>> ns;
  };

  std::optional<double> measured(const compiler::KernelQuery& query, const compiler::KernelDesc& kernel,
                                 double rival) const;
  void merge(const PlanCache& cache, const std::string& key);

  std::mutex mutex_;
  MeasureKernel measure_;
  double spent_ns_ = 0;
  bool was_read_ = false, changed_ = false;
  std::map<std::string, Known, std::less<>> known_;  // by what the query says
};

/// The times of a model on a target, made or read where they are asked for first. `measure` (may be nullptr)
/// takes the clock's place.
std::shared_ptr<KernelTimes> times_of(const ModelImpl& model, const compiler::Target& target,
                                      const MeasureKernel& measure);
/// Keeps what has been measured since.
void keep_times(const ModelImpl& model, const compiler::Target& target, KernelTimes& times);

}  // namespace saccade::runtime
