#include "pipeline/frame_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "media/packet_size.h"
#include "pipeline/video_sink.h"
#include "platform/cpu_use.h"

namespace saccade::pipeline {

FrameReader::FrameReader(JobState& state, media::Source& source) : state_(state), source_(source) {
  if (state_.options.strict && source_.missing_bytes() > 0 && !source_.range().active() &&
      !state_.options.frames) {
    throw Error(
        ErrorCode::media,
        fmt::format("{}: the file is cut off: {} that its header announces {} missing; without --strict "
                    "what is there is worked on",
                    source_.path().string(), counted(source_.missing_bytes(), "byte"),
                    by_number(source_.missing_bytes(), "is", "are")));
  }
  open_decoder();
}

void FrameReader::open_decoder() {
  const platform::NamedThreads named(kDecoderThreads);
  decoder_ = std::make_unique<media::Decoder>(
      source_.video(), media::DecoderOptions{.threads = std::max(1, state_.options.decoder_threads),
                                             .max_pixels = state_.options.media_limits.max_pixels});
}

media::FramePtr FrameReader::first(std::vector<media::PacketPtr>& copied) {
  bool aimed = source_.range().moves();
  while (true) {
    media::FramePtr frame = next(copied);
    // After a jump to the start of the range the first picture must lie before it, or some may be missing.
    const bool far_enough = !aimed || skipped_before_range_ || state_.cancelled();
    if (!far_enough) aimed = source_.go_further_back();
    if (far_enough || !aimed) {
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
  if (last_seen_) report_empty_range();
  throw Error(ErrorCode::media,
              fmt::format("{}: no frame of video stream {} could be decoded ({})", source_.path().string(),
                          source_.video_index(), counted(damaged_packets(), "damaged packet")));
}

/// Pictures there were, but none in the range.
void FrameReader::report_empty_range() const {
  const JobOptions& options = state_.options;
  const double unit = av_q2d(source_.video().time_base);
  // Times of the range count from its start, those of the input from where the input starts.
  const double end = source_.range().start_seconds() + static_cast<double>(*last_seen_) * unit;
  if (!options.duration || end <= options.start) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: the range starts at {:.6g} s (--start), but the last picture of the input is "
                    "shown at {:.3f} s",
                    source_.path().string(), options.start, end));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: no picture is shown between {:.6g} s and {:.6g} s (--start, --duration)",
                          source_.path().string(), options.start, options.start + *options.duration));
}

media::FramePtr FrameReader::next(std::vector<media::PacketPtr>& copied) {
  paused_ = false;
  copied_bytes_ = 0;
  while (true) {
    if (filter_) {
      if (media::FramePtr frame = filter_->receive()) return frame;
      if (filter_ended_) return nullptr;
    }
    media::FramePtr frame = decoded(copied);
    if (!filter_) {
      if (!frame || field_change_ != FieldChange::made_whole || frame->interlaced_frame == 0) return frame;
      filter_ = std::make_unique<media::PictureFilter>(
          media::PictureFilterOptions{.deinterlace = media::Deinterlace::flagged}, decoded_format_);
    }
    if (!frame && !input_done_) return nullptr;
    filter_->send(frame.get());
    filter_ended_ = !frame;
  }
}

void FrameReader::set_field_change(FieldChange change, const media::VideoFormat& decoded) {
  field_change_ = change;
  decoded_format_ = decoded;
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
        last_seen_ = std::max(last_seen_.value_or(frame->pts), frame->pts);
        skipped_before_range_ = skipped_before_range_ || decoded_ == 0;
        continue;
      }
      compare(*frame);
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
      copied_bytes_ += media::bytes_of(*packet);
      copied.push_back(std::move(packet));
    }
    if (state_.options.strict) require_undamaged();
    if (copied_bytes_ >= most_copied_) {
      paused_ = true;
      return nullptr;
    }
  }
}

/// What becomes of pictures is planned by the first.
void FrameReader::compare(AVFrame& frame) {
  const media::VideoFormat format = media::describe_video(source_.context(), source_.video(), frame);
  if (decoded_ == 0) {
    changes_.begin(format);
    return;
  }
  const std::string change = changes_.compare(format);
  if (change.empty()) return;
  if (state_.options.strict) {
    throw Error(ErrorCode::media, fmt::format("{}: frame {} {}", source_.path().string(), decoded_, change));
  }
  // Whoever converts the picture sees nothing but it.
  if (format.range != AVCOL_RANGE_UNSPECIFIED) frame.color_range = format.range;
  if (format.matrix != AVCOL_SPC_UNSPECIFIED) frame.colorspace = format.matrix;
}

void FrameReader::end_at(std::int64_t pts) {
  source_.cut(pts);
  cut_ = av_rescale_q(pts, source_.video().time_base, AV_TIME_BASE_Q);
}

void FrameReader::require_undamaged() const {
  if (damaged_packets() + damaged_frames() == 0) return;
  throw Error(ErrorCode::media,
              fmt::format("{}: is damaged behind frame {} ({}, {}); without "
                          "--strict what is damaged is skipped or repaired",
                          source_.path().string(), decoded_, counted(damaged_packets(), "damaged packet"),
                          counted(damaged_frames(), "damaged frame")));
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

void FrameReader::report_fields() const {
  const std::int64_t interlaced = changes_.interlaced(), whole = changes_.whole();
  const auto say = [this](std::int64_t count, const char* is, const char* are, const char* rest) {
    if (count > 0)
      state_.notice(
          fmt::format("{} of the input {}: {}", counted(count, "frame"), by_number(count, is, are), rest));
  };
  constexpr const char *kIs = "is interlaced, unlike the first", *kAre = "are interlaced, unlike the first";
  switch (field_change_) {
    case FieldChange::none:
      break;
    case FieldChange::made_whole:
      say(interlaced, kIs, kAre, "the fields of each became one whole picture");
      break;
    case FieldChange::unmarked:
      say(interlaced, kIs, kAre, "the result holds their fields but cannot say so");
      break;
    case FieldChange::all_marked:
      say(whole, "is no interlaced one, unlike the first", "are no interlaced ones, unlike the first",
          "all frames of the result are marked as interlaced");
      break;
  }
}

void FrameReader::report() const {
  if (const std::int64_t missing = source_.missing_pictures(); missing > 0) {
    state_.notice(fmt::format("{} of the series of pictures {} missing: the pictures before are shown longer",
                              counted(missing, "number"), by_number(missing, "is", "are")));
  }
  if (source_.end_unsure()) {
    state_.notice(
        "the server did not say how long the input is: if the connection broke, the end of the input is "
        "missing");
  }
  if (source_.further_pages() > 0) {
    state_.notice(fmt::format("of each picture the first page is taken: {} {} left out",
                              counted(source_.further_pages(), "further page"),
                              by_number(source_.further_pages(), "is", "are")));
  }
  state_.notice(changes_.notices());
  report_fields();
  if (source_.cut_off()) {
    state_.notice(source_.missing_bytes() > 0
                      ? fmt::format("the input is cut off: {} that its header announces {} missing",
                                    counted(source_.missing_bytes(), "byte"),
                                    by_number(source_.missing_bytes(), "is", "are"))
                      : std::string("the input is cut off: it ends within what its header announces"));
  }
  state_.report.damaged_packets = damaged_packets();
  if (damaged_packets() > 0) {
    state_.notice(fmt::format("{} of the input {} skipped; the timing of the rest is kept",
                              counted(damaged_packets(), "damaged packet"),
                              by_number(damaged_packets(), "was", "were")));
  }
  if (damaged_frames() > 0)
    state_.notice(fmt::format("{} of the input {} damaged and repaired as well as possible",
                              counted(damaged_frames(), "frame"), by_number(damaged_frames(), "is", "are")));
  if (decoder_->retimed() > 0) {
    state_.notice(fmt::format("{} of the input had a missing or repeated timestamp and got one in between",
                              counted(decoder_->retimed(), "frame")));
  }
}

}  // namespace saccade::pipeline
