// The time that a job spends in each of its stages.
#pragma once

#include <string_view>

#include "trace/recorder.h"
#include "trace/stage_clock.h"

namespace saccade::pipeline {

struct StageClocks {
  trace::StageClock decode, convert, preprocess, infer, mask, composite, encode, write;
  // Parts of others: of decode, the time in which the input is read; of encode, the pictures that are made by
  // all threads at once.
  trace::StageClock read, prepare;
  // How long frames lay between stages, not what any thread did.
  trace::StageClock queued_for_process, queued_for_encode;

  /// Null: nothing is recorded. Set before the job's threads start.
  trace::Recorder* recorder = nullptr;
  trace::NameId copy_picture = 0, copy_mask = 0, copy_packet = 0;

  void attach(trace::Recorder& to);
  /// The stage that takes most time, where `workers` threads share those between decoder and encoder.
  std::string_view busiest(int workers) const noexcept;
  /// CPU seconds of threads in any stage.
  double cpu_in_stages() const noexcept;
  /// See StageClock::watch_delays().
  void watch_delays() noexcept;
};

}  // namespace saccade::pipeline
