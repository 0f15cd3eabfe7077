// Sound from one codec to another, for containers that cannot hold what the input has.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "media/ffmpeg.h"

struct AVChannelLayout;
struct SwrContext;
struct AVAudioFifo;

namespace saccade::media {

/// The codec that sound is converted to for a container that refuses the input's; AV_CODEC_ID_NONE if there
/// is none.
AVCodecID substitute_audio(const AVOutputFormat& container);

/// Decodes, resamples where the encoder asks for it, and encodes. Sound keeps its times; gaps stay gaps. Not
/// thread-safe.
class AudioConverter {
 public:
  /// Throws Error(unsupported | media).
  AudioConverter(const AVStream& source, AVCodecID target, bool global_header);
  ~AudioConverter();

  const AVCodecContext& encoder() const noexcept { return *encoder_; }
  /// Packets that `packet` completes, timestamps in the encoder's time base. Null: the rest. Damaged packets
  /// are passed over.
  std::vector<PacketPtr> convert(const AVPacket* packet);

 private:
  int open_encoder(AVCodecID target, const AVChannelLayout& layout, bool global_header);
  void take(const AVFrame* decoded);
  void encode_whole_frames(bool all, std::vector<PacketPtr>& packets);
  void send(const AVFrame* frame, std::vector<PacketPtr>& packets);

  struct SwrDeleter {
    void operator()(SwrContext* context) const noexcept;
  };
  struct FifoDeleter {
    void operator()(AVAudioFifo* fifo) const noexcept;
  };
  CodecPtr decoder_, encoder_;
  std::unique_ptr<SwrContext, SwrDeleter> resampler_;
  std::unique_ptr<AVAudioFifo, FifoDeleter> fifo_;
  std::int64_t next_pts_ = AV_NOPTS_VALUE;  ///< of the first sample in the fifo, in samples
};

}  // namespace saccade::media
