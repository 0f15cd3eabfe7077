// Whether a file can say that its samples use the full range (0 to 255 and not 16 to 235).
#pragma once

#include "media/encoder.h"
#include "media/ffmpeg.h"
#include "media/video_format.h"

namespace saccade::media {

/// Whether pictures of `format`, coded by `choice` into `container`, are read back as of full range: either
/// the codec writes it into its own stream, or the container beside it. RGB has no other range.
bool carries_full_range(const AVOutputFormat& container, const EncoderChoice& choice,
                        const VideoFormat& format);

}  // namespace saccade::media
