// The result of a job that was made in parts: their packets, and the other streams of the input, in one file.
#pragma once

#include <string>
#include <vector>

#include "media/file_io.h"
#include "pipeline/journal.h"
#include "pipeline/video_sink.h"
#include "saccade/job.h"

namespace saccade::pipeline {

enum class Ending : std::uint8_t { where_the_input_does, where_the_parts_do };

/// Fills `file` with one of the job's outputs, which is then ready to be committed. Its bytes depend on the
/// input and the parts alone, not on how the parts came about. `ending` and `cut` (microseconds) say where
/// other streams end. Returns what the user should know. Throws Error(io | media).
std::vector<std::string> join_segments(const JobOptions& options, const ResultPlan& plan,
                                       const AVCodecContext& encoder, const WorkFolder& folder,
                                       const std::vector<SegmentRecord>& segments, std::size_t output,
                                       Ending ending, std::int64_t cut, media::OutputFile& file);

}  // namespace saccade::pipeline
