// What a run of a graph may still ask for.
#pragma once

#include <cstdint>
#include <span>

#include "ops/op_def.h"
#include "saccade/limits.h"

namespace saccade::ops {

/// Work of a node whatever its size: finding its kernel, allocating its results.
inline constexpr std::int64_t kNodeWork = 1000;

/// Elements that the node reads and writes and the multiply-adds that it computes, or an estimate, and
/// kNodeWork. The most that the type holds where it is more.
std::int64_t node_work(const ir::Node& node, std::span<const TensorType* const> inputs,
                       std::span<const TensorType> outputs);

/// Keeps account of one run against the limits. Every function throws Error(limit) where one is exceeded. Not
/// thread-safe.
class Budget {
 public:
  explicit Budget(const LoadLimits& limits) : limits_(limits) {}

  const LoadLimits& limits() const { return limits_; }

  /// Rank and bytes of one tensor.
  void check(const TensorType& type) const;
  /// Whether results of these types can be held besides what is held.
  void check_room(std::span<const TensorType> types) const;
  void hold(const Tensor& tensor);
  void release(const Tensor& tensor) { held_ -= static_cast<std::int64_t>(tensor.bytes()); }
  void spend(std::int64_t work);
  /// Before iteration `i` (from 0) of a loop.
  void check_iteration(std::int64_t i) const;

 private:
  LoadLimits limits_;
  std::int64_t spent_ = 0;
  std::int64_t held_ = 0;
};

}  // namespace saccade::ops
