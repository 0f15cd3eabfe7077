// Where finished pictures go: the last stage of a video.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "media/encoder.h"
#include "media/ffmpeg.h"
#include "media/stream_plan.h"
#include "media/video_format.h"
#include "platform/cpu_use.h"

namespace saccade::pipeline {

/// What threads of encoders and decoders are called.
inline constexpr char kEncoderThreads[] = "saccade-encode", kDecoderThreads[] = "saccade-decode";

/// What was decided about the result before the first picture.
struct ResultPlan {
  const AVOutputFormat* container = nullptr;
  media::StreamPlan streams;
  media::EncoderChoice choice;
  media::EncoderOptions encoder;
  media::VideoFormat format;  ///< of the pictures

  media::Encoder open_encoder() const {
    const platform::NamedThreads named(kEncoderThreads);
    return {choice, format, encoder, (container->flags & AVFMT_GLOBALHEADER) != 0};
  }
};

struct SinkResult {
  std::filesystem::path output;  ///< what was written; the partial file of an interrupted job
  std::int64_t bytes = 0;
  std::int64_t pictures = 0;  ///< in the result
};

/// One thread at a time. Throws Error(io | media).
class VideoSink {
 public:
  virtual ~VideoSink() = default;
  /// Pictures at the start of the video that an earlier run has finished: they are not wanted again.
  virtual std::int64_t pictures_before() const { return 0; }
  /// Whether these are all that there are.
  virtual bool complete() const { return false; }
  /// A packet of another stream, which lay before the next picture in the file.
  virtual void copy(media::PacketPtr packet) = 0;
  /// The next picture, its time above the last one's; its mask where the sink makes a second output of them.
  virtual void write(const AVFrame& picture, media::FramePtr mask) = 0;
  /// Nothing of other streams from this time of the result on (microseconds) is wanted.
  virtual void cut(std::int64_t microseconds) = 0;
  /// Drains and closes. `interrupted`: what there is becomes a partial file. Without finish() nothing of the
  /// result remains.
  virtual SinkResult finish(bool interrupted) = 0;
  /// For the user; complete after finish().
  virtual std::vector<std::string> notices() const { return {}; }
};

}  // namespace saccade::pipeline
