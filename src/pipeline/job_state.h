// What the video and the still form of a job share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "media/file_io.h"
#include "media/source.h"
#include "pipeline/background.h"
#include "pipeline/job.h"
#include "pipeline/network.h"
#include "pipeline/processor.h"

namespace saccade::pipeline {

struct JobState {
  const JobOptions& options;
  const JobCallbacks& callbacks;
  const Network& network;
  Isa isa = Isa::portable;
  int threads = 1;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::chrono::nanoseconds cpu_start = trace::process_cpu_time();
  StageClocks clocks;
  JobReport report;

  bool cancelled() const noexcept {
    return callbacks.cancel != nullptr && callbacks.cancel->load(std::memory_order_relaxed);
  }
  void notice(const std::string& text) { report.notices.push_back(text); }
  void notice(const std::vector<std::string>& texts) {
    report.notices.insert(report.notices.end(), texts.begin(), texts.end());
  }
};

/// Whether the options name a picture or video to put in place of the background.
bool has_background_file(const JobOptions& options);
/// Null if there is none.
std::unique_ptr<Background> open_background(const JobState& state, const vision::PictureSpec& work);

/// Fills in `input_summary` and `assumptions` from the first picture.
void describe_input(JobState& state, const media::Source& source, const media::VideoFormat& decoded);

void run_video(JobState& state, media::Source& source);
void run_still(JobState& state, media::Source& source);

}  // namespace saccade::pipeline
