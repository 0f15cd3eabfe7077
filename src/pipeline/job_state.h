// What the video and the still form of a job share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "media/file_io.h"
#include "media/source.h"
#include "media/still.h"
#include "pipeline/background.h"
#include "pipeline/frame_output.h"
#include "pipeline/job.h"
#include "pipeline/measurements.h"
#include "pipeline/network.h"
#include "pipeline/processor.h"

namespace saccade::pipeline {

struct JobState {
  const JobOptions& options;
  const std::vector<std::filesystem::path> protect;  ///< what no output may be: files_to_protect(options)
  const JobCallbacks& callbacks;
  const Network& network;
  Isa isa = Isa::portable;
  int threads = 1;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::chrono::nanoseconds cpu_start = trace::process_cpu_time();
  StageClocks clocks;
  JobReport report;
  Measurements measured;
  std::string network_identity;  ///< of the network for parts of pictures; empty: `network` is run

  bool cancelled() const noexcept {
    return callbacks.cancel != nullptr && callbacks.cancel->load(std::memory_order_relaxed);
  }
  void notice(const std::string& text) { report.notices.push_back(text); }
  void notice(const std::vector<std::string>& texts) {
    report.notices.insert(report.notices.end(), texts.begin(), texts.end());
  }
};

/// Throws Error(invalid_argument) for bits of masks where there are none; `bare_masks`: the result is masks.
void require_masks_for_depth(const JobOptions& options, bool bare_masks);

/// Gives an output its name, and tells what the user should know of that.
void commit(JobState& state, FrameOutput& output);

media::SourceOptions source_options(const JobOptions& options, const std::atomic<bool>* cancel);
/// Whether the options name a picture or video to put in place of the background.
bool has_background_file(const JobOptions& options);
/// Null if there is none.
std::unique_ptr<Background> open_background(const JobState& state, const vision::PictureSpec& work);

/// Fills in `input_summary` and `assumptions` from the first picture.
void describe_input(JobState& state, const media::Source& source, const media::VideoFormat& decoded);

/// Says how pictures are divided, if they are, and notes what the result depends on.
void describe_parts(JobState& state, const Processor& processor);

/// How pictures of this format become a picture file: upright, full range.
PictureFlow plan_picture_files(JobState& state, const media::VideoFormat& decoded, media::StillKind kind);

/// The options of an output that is no stream of video.
FrameOutputOptions frame_output_options(const JobState& state, const std::filesystem::path& path,
                                        const OutputRequest& request, bool many);
/// Whether the main output consists of masks as they are, without an effect's picture.
bool writes_bare_masks(const JobOptions& options, const OutputRequest& request);
/// Bits of the masks that the processor is to hand out; 0: none are needed.
int mask_bits(const JobOptions& options, const OutputRequest& request);

void run_video(JobState& state, media::Source& source);
void run_still(JobState& state, media::Source& source);

}  // namespace saccade::pipeline
