// The memory of this process over time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/chrome_trace.h"
#include "trace/recorder.h"

namespace saccade::profile {

class MemorySampler {
 public:
  /// Samples in a thread of its own until stop(); `recorder` gives the time and must outlive it.
  explicit MemorySampler(const trace::Recorder& recorder);
  ~MemorySampler();
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

  void stop();
  /// Resident bytes; after stop().
  const std::vector<trace::Sample>& samples() const noexcept { return samples_; }

 private:
  void sample();

  const trace::Recorder& recorder_;
  std::vector<trace::Sample> samples_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace saccade::profile
