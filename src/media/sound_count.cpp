#include "media/sound_count.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace saccade::media {

namespace {

/// A jump of the clock that is more than rounding, as a part of a second.
constexpr int kJumpDivisor = 50;
/// Longer gaps are no gaps but a fault of the clock.
constexpr int kLongestGapSeconds = 600;
/// FFmpeg refuses to leave more pictures empty at once.
constexpr std::int64_t kMostEmpty = 50'000;

std::uint8_t silent_byte(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_PCM_U8:
      return 0x80;
    case AV_CODEC_ID_PCM_ALAW:
      return 0xd5;
    case AV_CODEC_ID_PCM_MULAW:
      return 0xff;
    default:
      return 0;
  }
}

/// Samples of a packet where the codec has always the same number; 0 if not.
int packet_samples(const AVCodecParameters& parameters) {
  return av_get_audio_frame_duration2(const_cast<AVCodecParameters*>(&parameters), 0);
}

}  // namespace

bool only_counts(const AVOutputFormat& container) {
  const std::string_view name = container.name;
  return name == "avi" || name.starts_with("mxf");
}

std::optional<std::int64_t> known_start(const Source& source, int stream) {
  const AVStream& of = *source.context().streams[stream];
  std::int64_t start = source.first_pts(stream);
  if (start == AV_NOPTS_VALUE) {
    if (of.start_time == AV_NOPTS_VALUE) return std::nullopt;
    start = of.start_time - source.range().start(of);
    if (source.range().moves()) start = std::max<std::int64_t>(start, 0);
  }
  return av_rescale_q(start, of.time_base, AV_TIME_BASE_Q);
}

bool starts_late(const Source& source, int stream) {
  const AVCodecParameters& parameters = *source.context().streams[stream]->codecpar;
  const auto start = known_start(source, stream);
  if (!start || parameters.sample_rate <= 0) return false;
  std::int64_t first = *start;
  for (unsigned i = 0; i < source.context().nb_streams; ++i) {
    const AVMediaType type = source.context().streams[i]->codecpar->codec_type;
    const bool video = static_cast<int>(i) == source.video_index();
    if (!video && type != AVMEDIA_TYPE_AUDIO) continue;
    first = std::min(first, known_start(source, static_cast<int>(i)).value_or(first));
  }
  const std::int64_t half = av_rescale(packet_samples(parameters), AV_TIME_BASE / 2, parameters.sample_rate);
  return *start - first > std::max<std::int64_t>(half, AV_TIME_BASE / 1000);
}

CountedStart::CountedStart(const Source& source, const StreamPlan& plan, std::optional<AVRational> unit) {
  const std::int64_t video = plan.video_start != AV_NOPTS_VALUE
                                 ? av_rescale_q(plan.video_start, source.video().time_base, AV_TIME_BASE_Q)
                                 : known_start(source, source.video_index()).value_or(0);
  std::int64_t first = video;
  for (std::size_t i = 0; i < plan.streams.size(); ++i) {
    const AVCodecParameters& parameters = *source.context().streams[i]->codecpar;
    const StreamAction action = plan.streams[i].action;
    if (parameters.codec_type != AVMEDIA_TYPE_AUDIO || action == StreamAction::drop) continue;
    first = std::min(first, known_start(source, static_cast<int>(i)).value_or(first));
  }
  origin = video;
  if (!unit) return;
  lead = av_rescale_q_rnd(video - first, AV_TIME_BASE_Q, *unit, AV_ROUND_DOWN);
  if (lead > kMostEmpty) lead = 0;
  origin -= av_rescale_q(lead, *unit, AV_TIME_BASE_Q);
}

SoundCount::SoundCount(const AVCodecParameters& parameters, AVRational unit, std::int64_t origin_microseconds)
    : parameters_(avcodec_parameters_alloc()), unit_(unit) {
  if (!parameters_) throw Error(ErrorCode::limit, "out of memory for sound");
  check(avcodec_parameters_copy(parameters_.get(), &parameters), "sound");
  origin_ = av_rescale_q(origin_microseconds, AV_TIME_BASE_Q, {1, parameters.sample_rate});
  const int bits = av_get_exact_bits_per_sample(parameters.codec_id);
  if (bits >= 8 && std::string_view(avcodec_get_name(parameters.codec_id)).starts_with("pcm_"))
    block_ = bits / 8 * parameters.ch_layout.nb_channels;
  silent_ = silent_byte(parameters.codec_id);
}

std::int64_t SoundCount::length(const AVPacket& packet) const {
  if (raw()) return packet.size / block_;
  if (const int samples = av_get_audio_frame_duration2(parameters_.get(), packet.size); samples > 0)
    return samples;
  return av_rescale_q(packet.duration, unit_, {1, parameters_->sample_rate});
}

void SoundCount::add_silence(std::int64_t samples, std::vector<PacketPtr>& packets) {
  while (samples > 0) {
    const std::int64_t now = std::min<std::int64_t>(samples, parameters_->sample_rate);
    PacketPtr packet = make_packet();
    check(av_new_packet(packet.get(), static_cast<int>(now * block_)), "sound");
    std::memset(packet->data, silent_, static_cast<std::size_t>(packet->size));
    packet->pts = packet->dts = count_;
    packet->duration = now;
    packet->flags |= AV_PKT_FLAG_KEY;
    packets.push_back(std::move(packet));
    count_ += now;
    samples -= now;
  }
}

std::vector<PacketPtr> SoundCount::place(PacketPtr packet) {
  std::vector<PacketPtr> packets;
  const int rate = parameters_->sample_rate;
  std::int64_t samples = length(*packet);
  const std::int64_t late = av_rescale_q(packet->dts, unit_, {1, rate}) - origin_ - early_ - count_;
  const bool first = count_ == 0, jump = std::abs(late) > rate / kJumpDivisor;
  if (raw()) {
    const bool sane = late < std::int64_t{rate} * kLongestGapSeconds;
    if (late > 0 && sane && (first || jump)) add_silence(late, packets);
    if (late < 0 && (first || jump)) {
      if (-late >= samples) return packets;
      packet->data += -late * block_;
      packet->size -= static_cast<int>(-late * block_);
      samples += late;
    }
    if (late > 0 && !sane) {
      ++gaps_;
      early_ += late;
    }
  } else {
    // Half a packet is what cannot be told by whole ones.
    if (late < -samples / 2 && (first || jump)) return packets;
    if (late > samples / 2 && (first || late > samples / 2 + rate / kJumpDivisor)) {
      ++gaps_;
      early_ += late;
    }
  }
  packet->pts = packet->dts = count_;
  packet->duration = samples;
  count_ += samples;
  packets.push_back(std::move(packet));
  return packets;
}

}  // namespace saccade::media
