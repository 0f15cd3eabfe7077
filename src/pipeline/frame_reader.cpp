#include "pipeline/frame_reader.h"

#include <fmt/format.h>

namespace saccade::pipeline {

FrameReader::FrameReader(JobState& state, media::Source& source) : state_(state), source_(source) {
  open_decoder();
}

void FrameReader::open_decoder() {
  decoder_ = std::make_unique<media::Decoder>(
      source_.video(), media::DecoderOptions{.max_pixels = state_.options.media_limits.max_pixels});
}

media::FramePtr FrameReader::first(std::vector<media::PacketPtr>& copied) {
  bool aimed = source_.range().moves();
  while (true) {
    media::FramePtr frame = next(copied);
    // After a jump to the start of the range the first picture must lie before it, or some may be missing.
    const bool far_enough = !aimed || (frame && skipped_before_range_);
    if (far_enough || state_.cancelled() || !(aimed = source_.go_further_back())) {
      if (frame) {
        first_pts_ = frame->pts;
        return frame;
      }
      break;
    }
    open_decoder();
    copied.clear();
    decoded_ = 0;
    input_done_ = false;
  }
  if (state_.cancelled()) throw Error(ErrorCode::interrupted, "interrupted before the first frame");
  throw Error(ErrorCode::media,
              fmt::format("{}: no frame of video stream {} could be decoded ({} damaged packets)",
                          source_.path().string(), source_.video_index(), damaged_packets()));
}

media::FramePtr FrameReader::next(std::vector<media::PacketPtr>& copied) {
  if (!filter_) return decoded(copied);
  while (true) {
    if (media::FramePtr frame = filter_->receive()) return frame;
    if (filter_ended_) return nullptr;
    const media::FramePtr frame = decoded(copied);
    if (!frame && !input_done_) return nullptr;
    filter_->send(frame.get());
    filter_ended_ = !frame;
  }
}

void FrameReader::filter(std::unique_ptr<media::PictureFilter> filter, const AVFrame& first) {
  filter_ = std::move(filter);
  filter_->send(&first);
}

/// The next picture of the range, or null at the end.
media::FramePtr FrameReader::decoded(std::vector<media::PacketPtr>& copied) {
  const std::optional<std::int64_t> most = state_.options.frames;
  while (true) {
    if (media::FramePtr frame = decoder_->receive()) {
      if (most && decoded_ >= *most) {
        // Its time is where the range ends; what belongs to that may still lie behind it in the file.
        if (decoded_++ == *most) end_at(frame->pts);
        continue;
      }
      if (!source_.range().holds(frame->pts)) {
        skipped_before_range_ = skipped_before_range_ || decoded_ == 0;
        continue;
      }
      ++decoded_;
      require_limits(*frame);
      return frame;
    }
    if (input_done_ || state_.cancelled()) return nullptr;
    media::PacketPtr packet;
    {
      const trace::StageClock::Scope timing(state_.clocks.read);
      packet = source_.read();
    }
    if (!packet) {
      if (!source_.ended()) return nullptr;
      input_done_ = true;
      decoder_->send(nullptr);
    } else if (packet->stream_index == source_.video_index()) {
      decoder_->send(packet.get());
    } else {
      copied.push_back(std::move(packet));
    }
    if (state_.options.strict) require_undamaged();
  }
}

void FrameReader::end_at(std::int64_t pts) {
  source_.cut(pts);
  cut_ = av_rescale_q(pts, source_.video().time_base, AV_TIME_BASE_Q);
}

void FrameReader::require_undamaged() const {
  if (damaged_packets() + decoder_->concealed() == 0) return;
  throw Error(ErrorCode::media,
              fmt::format("{}: is damaged behind frame {} ({} damaged packets, {} damaged frames); without "
                          "--strict what is damaged is skipped or repaired",
                          source_.path().string(), decoded_, damaged_packets(), decoder_->concealed()));
}

/// Headers may say less than is there.
void FrameReader::require_limits(const AVFrame& frame) const {
  const MediaLimits& limits = state_.options.media_limits;
  if (decoded_ > limits.max_frames) {
    throw Error(ErrorCode::limit,
                fmt::format("{}: has more than {} frames, which is the limit (--limit frames=N)",
                            source_.path().string(), limits.max_frames));
  }
  if (first_pts_ && static_cast<double>(frame.pts - *first_pts_) * av_q2d(source_.video().time_base) >
                        static_cast<double>(limits.max_seconds)) {
    throw Error(ErrorCode::limit,
                fmt::format("{}: is longer than {} seconds, which is the limit (--limit seconds=N)",
                            source_.path().string(), limits.max_seconds));
  }
}

void FrameReader::report() const {
  state_.report.damaged_packets = damaged_packets();
  if (damaged_packets() > 0) {
    state_.notice(fmt::format("{} damaged packets of the input were skipped; the timing of the rest is kept",
                              damaged_packets()));
  }
  if (decoder_->concealed() > 0)
    state_.notice(fmt::format("{} frames of the input are damaged and were repaired as well as possible",
                              decoder_->concealed()));
  if (decoder_->retimed() > 0) {
    state_.notice(
        fmt::format("{} frames of the input had a missing or repeated timestamp and got one in between",
                    decoder_->retimed()));
  }
}

}  // namespace saccade::pipeline
