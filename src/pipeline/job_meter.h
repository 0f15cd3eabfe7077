// What a video job does with the machine's time while its stages run.
#pragma once

#include <chrono>

#include "pipeline/job_state.h"

namespace saccade::pipeline {

/// Fills in what `state.measured` says of time: the verdict on the job's bottleneck needs it.
class JobMeter {
 public:
  explicit JobMeter(JobState& state) : state_(state) {}

  /// The first picture is about to be worked on: time counts from here on.
  void begin();
  /// All that is slow to begin has begun: what the CPUs do counts from here on.
  void start_counting();
  /// The last picture has left the last stage. `own_encoder`: the encoder's threads are all still there.
  void stop(bool own_encoder);
  /// The encoder is drained, and nobody else is at work any more.
  void encoder_drained();
  /// The output is complete. Returns the seconds since the beginning.
  double finish();

  std::chrono::steady_clock::time_point began() const noexcept { return began_; }

 private:
  void count_threads();
  double cpu_outside_stages() const;

  JobState& state_;
  std::chrono::steady_clock::time_point began_;
  double idle_before_ = -1;                  ///< seconds of the CPUs
  std::chrono::nanoseconds cpu_before_{0};   ///< of the process
  double outside_before_ = 0, outside_ = 0;  ///< CPU seconds of the process that are no stage's
};

}  // namespace saccade::pipeline
