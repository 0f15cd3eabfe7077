// What fits into a bound of memory, told from planned sizes; and what to do when memory runs out all the
// same.
#pragma once

#include <cstdint>

#include "saccade/model.h"

namespace saccade {

struct FitOptions {
  CompileOptions compile;  ///< `batch` and `max_memory` are passed over
  std::int64_t max_memory =
      0;  ///< bytes of weights and all contexts together; 0: half of what the process may use
  std::int64_t max_batch = 64;  ///< no larger one is looked at
  int max_contexts = 1;         ///< that are wanted at most
  int threads = 1;              ///< of each context
};

struct MemoryFit {
  std::int64_t batch = 1;
  int contexts = 1;
  std::int64_t weight_bytes = 0;   ///< once
  std::int64_t context_bytes = 0;  ///< of each: arena and scratch of its threads
  std::int64_t total_bytes = 0;
  std::int64_t max_memory = 0;  ///< that it was fitted into
};

/// The most contexts, and for that many the largest batch, whose planned sizes keep the bound. Nothing is run
/// and no arena is taken: models are only compiled, for a few batches. A model whose batch cannot be changed
/// has that of its inputs. Throws Error(limit) where not even one context of batch 1 fits, with the bytes it
/// needs.
MemoryFit fit_memory(const Model& model, const FitOptions& options);

/// Pictures that may wait in a queue so that none waits longer than `latency` seconds at `fps` a second; at
/// least one. Throws Error(invalid_argument) unless both are positive numbers.
int queue_length(double fps, double latency);

/// How many pictures to take at once when memory may run out: halves after each failure, and grows back by a
/// step after a run of successes, which doubles with each failure. Not thread-safe.
class AdaptiveBatch {
 public:
  /// 1 <= most.
  explicit AdaptiveBatch(std::int64_t most);
  std::int64_t size() const noexcept { return size_; }
  /// Memory ran out for size(). False where it was 1 already: there is nothing left to give.
  bool failed() noexcept;
  /// A batch of size() went well.
  void succeeded() noexcept;

 private:
  std::int64_t most_, size_;
  std::int64_t patience_ = 4, good_ = 0;
};

}  // namespace saccade
