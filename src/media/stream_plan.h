// What becomes of every stream of an input in a given container: decided before the first frame.
#pragma once

#include <string>
#include <vector>

#include "media/ffmpeg.h"
#include "media/source.h"

namespace saccade::media {

enum class StreamAction : std::uint8_t {
  process,        ///< the video that is worked on
  copy,           ///< packet by packet, untouched
  convert_text,   ///< subtitles, from one text format to `codec`
  convert_audio,  ///< sound, to `codec`
  attach,         ///< a cover picture, kept as an attachment
  drop,           ///< the container cannot hold it
};

struct StreamDecision {
  StreamAction action = StreamAction::drop;
  AVCodecID codec = AV_CODEC_ID_NONE;  ///< for convert_text and convert_audio
};

struct StreamPlan {
  std::vector<StreamDecision> streams;  ///< by index in the input
  std::vector<std::string> notices;     ///< one for each stream that is converted or dropped
};

/// Whether the container has a way to store what this codec makes.
bool container_holds(const AVOutputFormat& container, AVCodecID codec);

/// MP4 and its relatives.
bool is_mov_family(const AVOutputFormat& container);

StreamPlan plan_streams(const Source& source, const AVOutputFormat& container);

}  // namespace saccade::media
