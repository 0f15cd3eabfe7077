// Which files can say what colours are meant by their samples, and what display high dynamic range was made
// on.
#pragma once

#include <string>
#include <vector>

#include "media/encoder.h"
#include "media/ffmpeg.h"
#include "media/video_format.h"

namespace saccade::media {

/// What `format` says of its colours and pictures coded by `choice` into `container` cannot: for the user.
std::vector<std::string> lost_colour_tags(const AVOutputFormat& container, const EncoderChoice& choice,
                                          const VideoFormat& format);

}  // namespace saccade::media
