// What a model file may ask for.
#pragma once

#include <cstdint>

namespace saccade {

/// Bounds on what a model file may ask for, while it is read, compiled and run; exceeding one is
/// Error(limit). A model keeps the limits that it was loaded with. See docs/configuration.md.
struct LoadLimits {
  std::int64_t max_nodes = 1'000'000;
  std::int64_t max_rank = 16;
  std::int64_t max_tensor_bytes = std::int64_t{8} << 30;  ///< of one tensor, in the file or computed
  std::int64_t max_nesting = 64;                          ///< of graphs, function calls and messages
  /// Tensors held at one time: the constants of a file, a plan's weights and one context, one reference run.
  std::int64_t max_total_bytes = std::int64_t{64} << 30;
  std::int64_t max_iterations = 100'000'000;  ///< of one Loop or Scan
  /// Elements read and written and multiply-adds of one run, or of the constants that one pass folds.
  std::int64_t max_work = std::int64_t{1} << 62;
};

}  // namespace saccade
