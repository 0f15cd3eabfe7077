// The masks of a video as a video of their own, beside the main output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "media/source.h"
#include "pipeline/frame_output.h"

namespace saccade::pipeline {

/// Grey pictures with the times of `frames`, without sound. Matroska and NUT get lossless FFV1 (16 bits with
/// `options.depth` 16), other containers what they usually hold. Notices are added to `notices`. Throws like
/// media::choose_encoder.
std::unique_ptr<FrameOutput> make_mask_video(const FrameOutputOptions& options, const std::string& format,
                                             const media::Source& source, const media::VideoFormat& frames,
                                             std::vector<std::string>& notices);

}  // namespace saccade::pipeline
