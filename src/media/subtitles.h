// Text subtitles from one format to another, because containers differ in what they hold.
#pragma once

#include "media/ffmpeg.h"

namespace saccade::media {

class SubtitleConverter {
 public:
  /// Throws Error(unsupported | media).
  SubtitleConverter(const AVStream& source, AVCodecID target);
  const AVCodecContext& encoder() const noexcept { return *encoder_; }
  /// The converted packet (timestamps in the source's time base), or null if this one holds no text.
  PacketPtr convert(const AVPacket& packet);

 private:
  CodecPtr decoder_, encoder_;
  AVRational time_base_;
};

}  // namespace saccade::media
