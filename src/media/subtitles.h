// Text subtitles from one format to another, because containers differ in what they hold.
#pragma once

#include <cstdint>
#include <vector>

#include "media/ffmpeg.h"

namespace saccade::media {

class SubtitleConverter {
 public:
  /// Throws Error(unsupported | media).
  SubtitleConverter(const AVStream& source, AVCodecID target);
  const AVCodecContext& encoder() const noexcept { return *encoder_; }
  /// The converted packet (timestamps in the source's time base), or null if this one holds no text, or none
  /// that can be converted.
  PacketPtr convert(const AVPacket& packet);
  /// Packets so far that could not be converted.
  std::int64_t refused() const noexcept { return refused_; }

 private:
  CodecPtr decoder_, encoder_;
  AVRational time_base_;
  std::vector<std::uint8_t> text_;
  std::int64_t refused_ = 0;
};

}  // namespace saccade::media
