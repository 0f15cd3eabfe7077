#include "media/decoder.h"

#include <algorithm>
#include <string>

namespace saccade::media {

namespace {
/// A decoder that reports so many errors without taking another packet is stuck.
constexpr int kMaxErrorsInARow = 64;
}  // namespace

Decoder::Decoder(const AVStream& stream, const DecoderOptions& options) : time_base_(stream.time_base) {
  capture_log();
  const AVCodecParameters& parameters = *stream.codecpar;
  // FFmpeg's own VP8 and VP9 decoders leave the alpha channel out; libvpx reads it.
  const AVCodec* codec = nullptr;
  if (const auto* alpha = av_dict_get(stream.metadata, "alpha_mode", nullptr, 0);
      alpha != nullptr && std::string(alpha->value) == "1") {
    if (parameters.codec_id == AV_CODEC_ID_VP9) codec = avcodec_find_decoder_by_name("libvpx-vp9");
    if (parameters.codec_id == AV_CODEC_ID_VP8) codec = avcodec_find_decoder_by_name("libvpx");
  }
  if (codec == nullptr) codec = avcodec_find_decoder(parameters.codec_id);
  const std::string name = avcodec_get_name(parameters.codec_id);
  if (codec == nullptr)
    throw Error(ErrorCode::unsupported, "no decoder for " + name + " in this build of FFmpeg");
  codec_.reset(avcodec_alloc_context3(codec));
  if (!codec_) throw Error(ErrorCode::limit, "out of memory for a decoder");
  check(avcodec_parameters_to_context(codec_.get(), &parameters), "cannot set up the " + name + " decoder");
  codec_->pkt_timebase = stream.time_base;
  codec_->thread_count = options.threads;
  codec_->max_pixels = options.max_pixels;
  codec_->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  if (options.threads == 1) {
    memory_ = std::make_unique<DecoderMemory>();
    memory_->serve(*codec_);
  }
  check(avcodec_open2(codec_.get(), codec, nullptr), "cannot open the " + name + " decoder");
  const AVRational rate = stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  if (rate.num > 0 && rate.den > 0)
    frame_ticks_ = std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(rate), time_base_));
  bump_ticks_ = std::max<std::int64_t>(1, av_rescale_q_rnd(1, {1, 1000}, time_base_, AV_ROUND_UP));
  bump_ticks_ = std::min(bump_ticks_, frame_ticks_);
}

void Decoder::send(const AVPacket* packet) {
  while (!ended_) {
    const int code = avcodec_send_packet(codec_.get(), packet);
    if (code == AVERROR(EAGAIN)) {  // its output queue is full: take a picture out first
      FramePtr frame = make_frame();
      const int got = avcodec_receive_frame(codec_.get(), frame.get());
      if (got >= 0) {
        ready_.push_back(std::move(frame));
      } else if (got != AVERROR(EAGAIN)) {
        ++damaged_;
      }
      continue;
    }
    if (packet == nullptr) ended_ = true;
    if (code == AVERROR(ENOMEM)) throw_ffmpeg(code, "decoding");
    if (code < 0 && code != AVERROR_EOF) ++damaged_;
    return;
  }
}

FramePtr Decoder::receive() {
  for (int errors = 0; errors < kMaxErrorsInARow;) {
    FramePtr frame;
    if (!ready_.empty()) {
      frame = std::move(ready_.front());
      ready_.pop_front();
    } else {
      frame = make_frame();
      const int code = avcodec_receive_frame(codec_.get(), frame.get());
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return nullptr;
      if (code == AVERROR(ENOMEM)) throw_ffmpeg(code, "decoding");
      if (code < 0) {
        ++damaged_;
        ++errors;
        continue;
      }
    }
    if (frame->width <= 0 || frame->height <= 0 || frame->data[0] == nullptr) continue;
    ++frames_;
    if (frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0) ++concealed_;
    set_time(*frame);
    return frame;
  }
  return nullptr;
}

void Decoder::set_time(AVFrame& frame) {
  const std::int64_t stamped =
      frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
  std::int64_t pts = stamped;
  if (pts == AV_NOPTS_VALUE) pts = last_pts_ == AV_NOPTS_VALUE ? 0 : last_pts_ + last_duration_;
  if (last_pts_ != AV_NOPTS_VALUE && pts <= last_pts_) pts = last_pts_ + bump_ticks_;
  if (pts != stamped) ++retimed_;
  if (frame.pkt_duration <= 0) frame.pkt_duration = frame_ticks_;
  frame.pts = pts;
  last_pts_ = pts;
  last_duration_ = frame.pkt_duration;
}

}  // namespace saccade::media
