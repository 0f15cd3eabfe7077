#include "media/subtitles.h"

#include <array>
#include <cstring>
#include <string>

namespace saccade::media {

namespace {

constexpr int kMaxTextBytes = 1 << 20;

CodecPtr allocate(const AVCodec* codec, const char* what, AVCodecID id) {
  if (codec == nullptr)
    throw Error(ErrorCode::unsupported, std::string("no subtitle ") + what + " for " + avcodec_get_name(id));
  CodecPtr context(avcodec_alloc_context3(codec));
  if (!context) throw Error(ErrorCode::limit, "out of memory for subtitles");
  return context;
}

struct Subtitle {
  AVSubtitle value{};
  ~Subtitle() { avsubtitle_free(&value); }
};

}  // namespace

SubtitleConverter::SubtitleConverter(const AVStream& source, AVCodecID target)
    : time_base_(source.time_base) {
  const AVCodecID id = source.codecpar->codec_id;
  const AVCodec* decoder = avcodec_find_decoder(id);
  decoder_ = allocate(decoder, "decoder", id);
  check(avcodec_parameters_to_context(decoder_.get(), source.codecpar), "subtitles");
  decoder_->pkt_timebase = source.time_base;
  check(avcodec_open2(decoder_.get(), decoder, nullptr), "cannot open the subtitle decoder");

  const AVCodec* encoder = avcodec_find_encoder(target);
  encoder_ = allocate(encoder, "encoder", target);
  encoder_->time_base = AVRational{1, 1000};
  if (decoder_->subtitle_header != nullptr) {  // styles; encoders insist on them
    const auto size = static_cast<std::size_t>(decoder_->subtitle_header_size);
    encoder_->subtitle_header = static_cast<std::uint8_t*>(av_mallocz(size + 1));
    if (encoder_->subtitle_header == nullptr) throw Error(ErrorCode::limit, "out of memory for subtitles");
    std::memcpy(encoder_->subtitle_header, decoder_->subtitle_header, size);
    encoder_->subtitle_header_size = decoder_->subtitle_header_size;
  }
  check(avcodec_open2(encoder_.get(), encoder, nullptr), "cannot open the subtitle encoder");
}

PacketPtr SubtitleConverter::convert(const AVPacket& packet) {
  Subtitle subtitle;
  int got = 0;
  const PacketPtr input = share(packet);
  if (avcodec_decode_subtitle2(decoder_.get(), &subtitle.value, &got, input.get()) < 0) {
    ++refused_;
    return nullptr;
  }
  if (got == 0) return nullptr;
  if (subtitle.value.num_rects == 0) return nullptr;
  // Encoders take times relative to pts; what was shown late is moved into pts itself.
  const std::int64_t start = subtitle.value.start_display_time;
  std::int64_t length = static_cast<std::int64_t>(subtitle.value.end_display_time) - start;
  if (subtitle.value.end_display_time == UINT32_MAX || length <= 0) {
    length = packet.duration > 0 ? av_rescale_q(packet.duration, time_base_, {1, 1000}) : 0;
  }
  if (subtitle.value.pts != AV_NOPTS_VALUE) subtitle.value.pts += start * (AV_TIME_BASE / 1000);
  subtitle.value.start_display_time = 0;
  subtitle.value.end_display_time = static_cast<std::uint32_t>(length);

  text_.resize(kMaxTextBytes);
  const int size = avcodec_encode_subtitle(encoder_.get(), text_.data(), kMaxTextBytes, &subtitle.value);
  if (size < 0) {
    ++refused_;
    return nullptr;
  }
  PacketPtr out = make_packet();
  check(av_new_packet(out.get(), size), "subtitles");
  if (size > 0) std::memcpy(out->data, text_.data(), static_cast<std::size_t>(size));
  out->pts = packet.pts == AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (out->pts != AV_NOPTS_VALUE) out->pts += av_rescale_q(start, {1, 1000}, time_base_);
  out->dts = out->pts;
  out->duration = packet.duration > 0 ? packet.duration : av_rescale_q(length, {1, 1000}, time_base_);
  return out;
}

}  // namespace saccade::media
