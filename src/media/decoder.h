// Packets of one stream in, pictures out, each with its exact timestamp.
#pragma once

#include <cstdint>
#include <deque>

#include "media/ffmpeg.h"
#include "media/picture_memory.h"

namespace saccade::media {

struct DecoderOptions {
  int threads = 1;
  std::int64_t max_pixels = INT64_MAX;  ///< of a picture; larger ones count as damaged
};

/// Not thread-safe.
class Decoder {
 public:
  /// Throws Error(unsupported) if this build of FFmpeg lacks the decoder, Error(media) if it refuses the
  /// stream.
  explicit Decoder(const AVStream& stream, const DecoderOptions& options = {});

  /// Feeds a packet; null: no more will come. Damaged packets are counted, not thrown.
  void send(const AVPacket* packet);
  /// The next picture in display order, or null if another packet is needed (after send(nullptr): at the
  /// end). `pts` is set, in the stream's time base, and strictly increasing; `pkt_duration` is a guess where
  /// the file gives none.
  FramePtr receive();

  std::int64_t frames() const noexcept { return frames_; }
  std::int64_t damaged() const noexcept { return damaged_; }      ///< packets that could not be decoded
  std::int64_t concealed() const noexcept { return concealed_; }  ///< pictures with repaired errors
  std::int64_t retimed() const noexcept {
    return retimed_;
  }  ///< pictures whose missing or repeated time was replaced

 private:
  void set_time(AVFrame& frame);

  std::unique_ptr<DecoderMemory> memory_;  ///< of the pictures of a decoder without threads
  CodecPtr codec_;
  AVRational time_base_;
  std::int64_t frame_ticks_ = 1;  ///< duration of a frame by the nominal rate
  std::int64_t bump_ticks_ = 1;   ///< least distance given to a repeated timestamp: a millisecond or a tick
  std::int64_t last_pts_ = AV_NOPTS_VALUE, last_duration_ = 0;
  std::int64_t frames_ = 0, damaged_ = 0, concealed_ = 0, retimed_ = 0;
  std::deque<FramePtr> ready_;
  bool ended_ = false;
};

}  // namespace saccade::media
