// The workers of a video, one for each picture that is worked on: fewer of them while memory runs out.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "pipeline/processor.h"
#include "saccade/fit.h"

namespace saccade::pipeline {

/// Thread-safe.
class WorkerPool {
 public:
  /// No more than `most` at a time, made when they are first needed, each with so many threads. `processor`
  /// must outlive it.
  WorkerPool(const Processor& processor, int most, int threads_each);

  /// Works with one that nobody else has, as soon as there is one. Where memory runs out (std::bad_alloc; or
  /// Error(limit) from making another worker) `work` is called again once there are fewer; later there may be
  /// more again. Throws Error(limit) where it runs out with one alone, and whatever else `work` throws.
  void run(const std::function<void(Worker&)>& work);

  bool ran_out() const;

 private:
  std::unique_ptr<Worker> take();
  void put_back(std::unique_ptr<Worker> worker);
  void run_short();

  const Processor& processor_;
  int threads_each_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Worker>> idle_;
  AdaptiveBatch at_once_;
  int busy_ = 0;
  bool ran_out_ = false;
};

}  // namespace saccade::pipeline
