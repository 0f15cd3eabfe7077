// Sound from one codec to another, for containers that cannot hold what the input has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "media/stream_plan.h"

struct AVChannelLayout;
struct SwrContext;
struct AVAudioFifo;

namespace saccade::media {

/// The encoder that sound is converted with; null if there is none.
const AVCodec* sound_encoder(AVCodecID codec);

/// Decodes, resamples where the encoder asks for it, and encodes. Sound keeps its times. Not thread-safe.
class AudioConverter {
 public:
  /// From `begin` on (microseconds) samples follow each other without gaps: silence fills them. Unset: gaps
  /// stay gaps. Throws Error(unsupported | media).
  AudioConverter(const AVStream& source, const StreamDecision& target, bool global_header,
                 std::optional<std::int64_t> begin = {});
  ~AudioConverter();

  const AVCodecContext& encoder() const noexcept { return *encoder_; }
  /// Packets that `packet` completes, timestamps in the encoder's time base. Null: the rest. Damaged packets
  /// are passed over.
  std::vector<PacketPtr> convert(const AVPacket* packet);

 private:
  struct EncoderForm;
  int open_encoder(const AVCodec& encoder, const EncoderForm& form);
  void set_time(std::int64_t pts, std::vector<PacketPtr>& packets);
  void fill(std::int64_t samples, std::vector<PacketPtr>& packets);
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
  std::optional<std::int64_t> begin_;       ///< in samples
  std::int64_t skip_ = 0;                   ///< samples still to come that lie before it
  std::int64_t next_pts_ = AV_NOPTS_VALUE;  ///< of the first sample in the fifo, in samples
};

}  // namespace saccade::media
