// What becomes of every stream of an input in a given container: decided before the first frame.
#pragma once

#include <cstdint>
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
  int sample_rate = 0;  ///< for convert_audio; 0: that of the input, or the next that the codec has
};

struct StreamPlan {
  std::vector<StreamDecision> streams;  ///< by index in the input
  std::vector<std::string> notices;     ///< one for each stream that is converted or dropped
  /// Of the first picture, in the unit of the input's video; AV_NOPTS_VALUE: that of its first packet.
  std::int64_t video_start = AV_NOPTS_VALUE;
  /// Where subtitles end at the latest, in microseconds of the result.
  std::int64_t subtitle_end = INT64_MAX;
};

/// Whether the container has a way to store what this codec makes.
bool container_holds(const AVOutputFormat& container, AVCodecID codec);

/// MP4 and its relatives.
bool is_mov_family(const AVOutputFormat& container);

StreamPlan plan_streams(const Source& source, const AVOutputFormat& container);

}  // namespace saccade::media
