// What the pictures of a video become on their way, and what they are encoded as: decided before the first
// one is worked on.
#pragma once

#include "media/picture_filter.h"
#include "pipeline/frame_output.h"
#include "pipeline/frame_reader.h"
#include "pipeline/job_state.h"
#include "pipeline/journal.h"
#include "pipeline/processor.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

inline bool is_resumable(const JobOptions& options) noexcept { return options.resumable || options.resume; }

/// From decoded pictures to those that are written. Chooses the encoder for `result` if its container is
/// known; without one no video is written. `folder` (may be null): of a job that goes on. Adds notices.
PictureFlow plan_video(JobState& state, const media::VideoFormat& decoded, const AVFrame& first,
                       const OutputRequest& request, const WorkFolder* folder, ResultPlan& result);

/// Deinterlacing and tone mapping that are asked for, or that the plan made so far cannot do without.
media::PictureFilterOptions needed_filter(const JobOptions& options, const PictureFlow& flow,
                                          const OutputRequest& request, const ResultPlan& result);

/// What becomes of pictures that are interlaced where the first is not, or the other way round, by the
/// finished plan; `filtered`: a filter that does not deinterlace is at work.
FieldChange plan_field_change(const JobOptions& options, const PictureFlow& flow, const ResultPlan& result,
                              bool filtered);

}  // namespace saccade::pipeline
