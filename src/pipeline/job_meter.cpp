#include "pipeline/job_meter.h"

#include <algorithm>

#include "pipeline/video_sink.h"
#include "platform/cpu_use.h"
#include "platform/thread_pool.h"

namespace saccade::pipeline {

namespace {

double seconds_since(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
}

}  // namespace

void JobMeter::begin() { began_ = std::chrono::steady_clock::now(); }

void JobMeter::start_counting() {
  idle_before_ = platform::idle_cpu_seconds();
  cpu_before_ = trace::process_cpu_time();
  outside_before_ = cpu_outside_stages();
}

void JobMeter::stop(bool own_encoder) {
  Measurements& m = state_.measured;
  m.seconds = seconds_since(began_);
  const double idle = platform::idle_cpu_seconds();
  m.idle_cpus =
      idle_before_ >= 0 && idle >= idle_before_ && m.seconds > 0 ? (idle - idle_before_) / m.seconds : -1;
  if (m.seconds > 0)
    m.own_cpus = std::chrono::duration<double>(trace::process_cpu_time() - cpu_before_).count() / m.seconds;
  if (own_encoder) count_threads();
}

/// CPU time of threads that are not the stages' own.
void JobMeter::count_threads() {
  Measurements& m = state_.measured;
  if (trace::thread_run_delay().count() < 0) return;
  for (const platform::ThreadUse& thread : platform::thread_use()) {
    m.delays_known = true;
    if (thread.name == kEncoderThreads) m.encoder_cpu += thread.ran;
    if (thread.name == kDecoderThreads || thread.name.starts_with("av:")) m.decoder_cpu += thread.ran;
    if (thread.name == platform::kTeamThreads) m.helper_cpu += thread.ran;
  }
  outside_ = cpu_outside_stages();
  m.spin_cpu = std::max(0.0, outside_ - outside_before_ - m.encoder_cpu - m.decoder_cpu - m.helper_cpu);
}

void JobMeter::encoder_drained() {
  if (state_.measured.delays_known)
    state_.measured.encoder_cpu += std::max(0.0, cpu_outside_stages() - outside_);
}

double JobMeter::finish() {
  state_.report.start_seconds = std::chrono::duration<double>(began_ - state_.start).count();
  const double busy = seconds_since(began_);
  state_.measured.drain = std::max(0.0, busy - state_.measured.seconds);
  return busy;
}

double JobMeter::cpu_outside_stages() const {
  return std::chrono::duration<double>(trace::process_cpu_time()).count() - state_.clocks.cpu_in_stages();
}

}  // namespace saccade::pipeline
