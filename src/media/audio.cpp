#include "media/audio.h"

extern "C" {
#include <libavutil/audio_fifo.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "media/stream_plan.h"

namespace saccade::media {

namespace {

constexpr int kDefaultFrameSamples = 1024;
constexpr std::int64_t kBitRatePerChannel = 96'000;
constexpr int kUsualRate = 48000;  // where an encoder takes none like the input's
/// A jump of the input's clock that is more than rounding.
constexpr int kGapDivisor = 20;

int choose_rate(const AVCodec& codec, int wanted) {
  if (codec.supported_samplerates == nullptr) return wanted;
  int best = 0;
  for (const int* rate = codec.supported_samplerates; *rate != 0; ++rate) {
    // The lowest that loses nothing, else the highest.
    const bool better =
        best == 0 || (*rate >= wanted ? best < wanted || *rate < best : *rate > best && best < wanted);
    if (better) best = *rate;
  }
  return best;
}

AVSampleFormat choose_format(const AVCodec& codec, AVSampleFormat wanted) {
  if (codec.sample_fmts == nullptr) return wanted;
  for (const AVSampleFormat* f = codec.sample_fmts; *f != AV_SAMPLE_FMT_NONE; ++f) {
    if (*f == wanted) return wanted;
  }
  return codec.sample_fmts[0];
}

/// Whether every channel has a place of its own or nearly so: a side and a back are the same to a room, and
/// one in the middle of the back is both of its corners.
bool has_place_for(std::uint64_t layout, std::uint64_t wanted) {
  constexpr std::uint64_t kBack = AV_CH_BACK_LEFT | AV_CH_BACK_RIGHT;
  constexpr std::uint64_t kSide = AV_CH_SIDE_LEFT | AV_CH_SIDE_RIGHT;
  const bool around = (layout & kBack) == kBack || (layout & kSide) == kSide;
  std::uint64_t missing = wanted & ~layout;
  if (around && ((wanted & kBack) == 0 || (wanted & kSide) == 0)) missing &= ~(kBack | kSide);
  if (around) missing &= ~std::uint64_t{AV_CH_BACK_CENTER};
  return missing == 0;
}

/// Encoders take some layouts only, and say so when they are opened. In order: the smallest with a place for
/// every channel, the largest that is usual, stereo.
std::vector<std::uint64_t> other_layouts(const AVChannelLayout& wanted) {
  constexpr std::uint64_t kUsual[] = {
      AV_CH_LAYOUT_MONO,         AV_CH_LAYOUT_STEREO,       AV_CH_LAYOUT_SURROUND, AV_CH_LAYOUT_QUAD,
      AV_CH_LAYOUT_5POINT0_BACK, AV_CH_LAYOUT_5POINT1_BACK, AV_CH_LAYOUT_6POINT1,  AV_CH_LAYOUT_7POINT1};
  std::vector<std::uint64_t> layouts;
  for (const std::uint64_t layout : kUsual) {
    if (wanted.order == AV_CHANNEL_ORDER_NATIVE && has_place_for(layout, wanted.u.mask))
      layouts.push_back(layout);
  }
  if (wanted.nb_channels > 6) layouts.push_back(AV_CH_LAYOUT_5POINT1_BACK);
  layouts.push_back(AV_CH_LAYOUT_STEREO);
  return layouts;
}

}  // namespace

const AVCodec* sound_encoder(AVCodecID codec) {
  // FFmpeg's own Opus encoder is experimental.
  if (codec == AV_CODEC_ID_OPUS) return avcodec_find_encoder_by_name("libopus");
  return avcodec_find_encoder(codec);
}

void AudioConverter::SwrDeleter::operator()(SwrContext* context) const noexcept { swr_free(&context); }
void AudioConverter::FifoDeleter::operator()(AVAudioFifo* fifo) const noexcept { av_audio_fifo_free(fifo); }

/// What is asked of an encoder; it may refuse.
struct AudioConverter::EncoderForm {
  const AVChannelLayout& layout;
  int rate;
  std::int64_t bit_rate;  ///< of a channel; 0: the encoder's default
  bool global_header;
};

AudioConverter::AudioConverter(const AVStream& source, const StreamDecision& target, bool global_header,
                               std::optional<std::int64_t> begin) {
  const std::string name = avcodec_get_name(source.codecpar->codec_id);
  const AVCodec* decoder = avcodec_find_decoder(source.codecpar->codec_id);
  const AVCodec* encoder = sound_encoder(target.codec);
  if (decoder == nullptr || encoder == nullptr) {
    throw Error(ErrorCode::unsupported,
                "cannot convert " + name + " sound to " + avcodec_get_name(target.codec));
  }
  decoder_.reset(avcodec_alloc_context3(decoder));
  if (!decoder_) throw Error(ErrorCode::limit, "out of memory for sound");
  check(avcodec_parameters_to_context(decoder_.get(), source.codecpar), "sound");
  decoder_->pkt_timebase = source.time_base;
  check(avcodec_open2(decoder_.get(), decoder, nullptr), "cannot open the " + name + " decoder");
  if (decoder_->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
    av_channel_layout_default(&decoder_->ch_layout, decoder_->ch_layout.nb_channels);
  }

  std::vector<AVChannelLayout> layouts{decoder_->ch_layout};
  for (const std::uint64_t mask : other_layouts(decoder_->ch_layout))
    check(av_channel_layout_from_mask(&layouts.emplace_back(), mask), "sound");
  const int rate =
      target.sample_rate != 0 ? target.sample_rate : choose_rate(*encoder, decoder_->sample_rate);
  int code = -1;
  for (const AVChannelLayout& layout : layouts) {
    // At low sample rates encoders take low bit rates only.
    for (const std::int64_t bit_rate : {kBitRatePerChannel, kBitRatePerChannel / 3, std::int64_t{0}}) {
      if (code < 0) code = open_encoder(*encoder, {layout, rate, bit_rate, global_header});
    }
    if (code < 0 && target.sample_rate == 0)
      code = open_encoder(*encoder,
                          {layout, choose_rate(*encoder, kUsualRate), kBitRatePerChannel, global_header});
    if (code >= 0) break;
  }
  check(code, std::string("cannot open the sound encoder ") + encoder->name);
  (void)take_log();  // of layouts that were refused

  // What an encoder puts before the first sample is what the result begins with.
  if (begin) begin_ = av_rescale_q(*begin, AV_TIME_BASE_Q, encoder_->time_base) + encoder_->initial_padding;

  SwrContext* raw = nullptr;
  check(swr_alloc_set_opts2(&raw, &encoder_->ch_layout, encoder_->sample_fmt, encoder_->sample_rate,
                            &decoder_->ch_layout, decoder_->sample_fmt, decoder_->sample_rate, 0, nullptr),
        "sound conversion");
  resampler_.reset(raw);
  check(swr_init(raw), "sound conversion");
  fifo_.reset(
      av_audio_fifo_alloc(encoder_->sample_fmt, encoder_->ch_layout.nb_channels, kDefaultFrameSamples));
  if (!fifo_) throw Error(ErrorCode::limit, "out of memory for sound");
}

AudioConverter::~AudioConverter() = default;

/// FFmpeg's code; `encoder_` is usable where that is no error.
int AudioConverter::open_encoder(const AVCodec& encoder, const EncoderForm& form) {
  encoder_.reset(avcodec_alloc_context3(&encoder));
  if (!encoder_) throw Error(ErrorCode::limit, "out of memory for sound");
  encoder_->sample_rate = form.rate;
  encoder_->sample_fmt = choose_format(encoder, decoder_->sample_fmt);
  check(av_channel_layout_copy(&encoder_->ch_layout, &form.layout), "sound");
  if (form.bit_rate > 0) encoder_->bit_rate = form.bit_rate * std::max(1, encoder_->ch_layout.nb_channels);
  encoder_->time_base = {1, encoder_->sample_rate};
  if (form.global_header) encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (encoder.id == AV_CODEC_ID_OPUS)
    av_opt_set_int(encoder_->priv_data, "mapping_family", encoder_->ch_layout.nb_channels > 2 ? 1 : -1, 0);
  return avcodec_open2(encoder_.get(), &encoder, nullptr);
}

/// Resamples a decoded frame into the fifo; null: what the resampler still holds.
void AudioConverter::take(const AVFrame* decoded) {
  const FramePtr resampled = make_frame();
  resampled->format = encoder_->sample_fmt;
  resampled->sample_rate = encoder_->sample_rate;
  check(av_channel_layout_copy(&resampled->ch_layout, &encoder_->ch_layout), "sound");
  if (decoded == nullptr) {
    check(swr_convert_frame(resampler_.get(), resampled.get(), nullptr), "sound conversion");
  } else if (const int code = swr_convert_frame(resampler_.get(), resampled.get(), decoded); code < 0) {
    // The input changed its form in mid-stream: begin anew with what it has now.
    swr_close(resampler_.get());
    check(swr_config_frame(resampler_.get(), resampled.get(), decoded), "sound conversion");
    check(swr_convert_frame(resampler_.get(), resampled.get(), decoded), "sound conversion");
  }
  if (resampled->nb_samples > 0) {
    check(av_audio_fifo_write(fifo_.get(), reinterpret_cast<void**>(resampled->extended_data),
                              resampled->nb_samples),
          "sound");
  }
  if (skip_ > 0) {
    const int now = static_cast<int>(std::min<std::int64_t>(skip_, av_audio_fifo_size(fifo_.get())));
    check(av_audio_fifo_drain(fifo_.get(), now), "sound");
    skip_ -= now;
  }
}

/// Says when the samples that come next are heard.
void AudioConverter::set_time(std::int64_t pts, std::vector<PacketPtr>& packets) {
  constexpr std::int64_t kLongestGapSeconds = 600;
  const std::int64_t delay = swr_get_delay(resampler_.get(), encoder_->sample_rate);
  const bool first = next_pts_ == AV_NOPTS_VALUE;
  if (first && begin_) next_pts_ = *begin_;
  const std::int64_t gap = first && !begin_ ? 0 : pts - (next_pts_ + av_audio_fifo_size(fifo_.get()) + delay);
  const bool jump = !first && gap > encoder_->sample_rate / kGapDivisor;
  if (begin_ && gap <= encoder_->sample_rate * kLongestGapSeconds) {
    if (first) skip_ = std::max<std::int64_t>(0, -gap);
    if (first || jump) fill(gap, packets);
    return;
  }
  if (jump) encode_whole_frames(true, packets);
  if (jump || first) next_pts_ = pts - (jump ? delay : 0);
}

/// Adds silence.
void AudioConverter::fill(std::int64_t samples, std::vector<PacketPtr>& packets) {
  const FramePtr frame = make_frame();
  frame->nb_samples = kDefaultFrameSamples;
  frame->format = encoder_->sample_fmt;
  check(av_channel_layout_copy(&frame->ch_layout, &encoder_->ch_layout), "sound");
  check(av_frame_get_buffer(frame.get(), 0), "sound");
  check(av_samples_set_silence(frame->extended_data, 0, frame->nb_samples, encoder_->ch_layout.nb_channels,
                               encoder_->sample_fmt),
        "sound");
  for (; samples > 0; samples -= kDefaultFrameSamples) {
    const int now = static_cast<int>(std::min<std::int64_t>(samples, kDefaultFrameSamples));
    check(av_audio_fifo_write(fifo_.get(), reinterpret_cast<void**>(frame->extended_data), now), "sound");
    encode_whole_frames(false, packets);
  }
}

std::vector<PacketPtr> AudioConverter::convert(const AVPacket* packet) {
  std::vector<PacketPtr> packets;
  if (const int code = avcodec_send_packet(decoder_.get(), packet);
      code < 0 && code != AVERROR_INVALIDDATA && code != AVERROR_EOF) {
    if (code == AVERROR(ENOMEM)) throw_ffmpeg(code, "sound");
  }
  const FramePtr frame = make_frame();
  while (avcodec_receive_frame(decoder_.get(), frame.get()) >= 0) {
    if (frame->best_effort_timestamp != AV_NOPTS_VALUE) {
      const std::int64_t pts =
          av_rescale_q(frame->best_effort_timestamp, decoder_->pkt_timebase, encoder_->time_base);
      set_time(pts, packets);
    } else if (next_pts_ == AV_NOPTS_VALUE) {
      set_time(0, packets);
    }
    take(frame.get());
    encode_whole_frames(false, packets);
  }
  if (packet == nullptr) {
    take(nullptr);
    encode_whole_frames(true, packets);
    send(nullptr, packets);
  }
  return packets;
}

void AudioConverter::encode_whole_frames(bool all, std::vector<PacketPtr>& packets) {
  const int wanted = encoder_->frame_size > 0 ? encoder_->frame_size : kDefaultFrameSamples;
  while (av_audio_fifo_size(fifo_.get()) >= (all ? 1 : wanted)) {
    const FramePtr frame = make_frame();
    const int held = std::min(wanted, av_audio_fifo_size(fifo_.get()));
    // Only the last frame of a stream may be short for some encoders; silence fills one before a gap.
    frame->nb_samples = encoder_->frame_size > 0 ? wanted : held;
    frame->format = encoder_->sample_fmt;
    frame->sample_rate = encoder_->sample_rate;
    check(av_channel_layout_copy(&frame->ch_layout, &encoder_->ch_layout), "sound");
    check(av_frame_get_buffer(frame.get(), 0), "sound");
    check(av_audio_fifo_read(fifo_.get(), reinterpret_cast<void**>(frame->extended_data), held), "sound");
    if (held < frame->nb_samples) {
      av_samples_set_silence(frame->extended_data, held, frame->nb_samples - held,
                             encoder_->ch_layout.nb_channels, encoder_->sample_fmt);
    }
    frame->pts = next_pts_;
    next_pts_ += held;
    send(frame.get(), packets);
  }
}

void AudioConverter::send(const AVFrame* frame, std::vector<PacketPtr>& packets) {
  check(avcodec_send_frame(encoder_.get(), frame), "encoding sound");
  while (true) {
    PacketPtr packet = make_packet();
    const int code = avcodec_receive_packet(encoder_.get(), packet.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    check(code, "encoding sound");
    packets.push_back(std::move(packet));
  }
}

}  // namespace saccade::media
