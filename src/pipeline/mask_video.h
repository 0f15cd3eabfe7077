// The masks of a video as a video of their own, beside the main output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "media/convert.h"
#include "media/source.h"
#include "pipeline/frame_output.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

/// What a video of masks will be: grey pictures with the times of the job's, without sound. Matroska and NUT
/// get lossless FFV1 (16 bits with `options.depth` 16), other containers what they usually hold.
struct MaskVideoPlan {
  ResultPlan result;
  media::VideoFormat masks;  ///< as they come
  std::string summary() const;
};
/// `frames` describes the pictures. Notices are added to `notices`. Throws like media::choose_encoder.
MaskVideoPlan plan_mask_video(const FrameOutputOptions& options, const media::Source& source,
                              const media::VideoFormat& frames, std::vector<std::string>& notices);

/// Masks to what is encoded. One thread at a time.
class MaskConverter {
 public:
  explicit MaskConverter(const MaskVideoPlan& plan);
  media::FramePtr run(media::FramePtr mask) const;

 private:
  std::unique_ptr<media::FrameConverter> converter_;  ///< null: nothing is to be done
  std::unique_ptr<media::FramePool> pool_;
};

std::unique_ptr<FrameOutput> make_mask_video(const FrameOutputOptions& options, MaskVideoPlan plan,
                                             const media::Source& source);

}  // namespace saccade::pipeline
