// What becomes of a stream of sound in a container: copied, converted to what the container takes, or left
// out.
#pragma once

#include "media/source.h"
#include "media/stream_plan.h"

namespace saccade::media {

/// Copied where the container holds it as it is. Else converted to the codec that it takes with the most of
/// the channels, resampled where the container insists on a rate.
StreamDecision plan_sound(const Source& source, int stream, const AVOutputFormat& container);

/// Channels of sound converted to `codec`, where the input has `channels`: encoders may know fewer.
int converted_channels(AVCodecID codec, int channels);

/// How many streams of a kind the container holds at most, the video that is worked on among them.
int most_streams(const AVOutputFormat& container, AVMediaType type);

}  // namespace saccade::media
