#include "media/time_range.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <cmath>

namespace saccade::media {

namespace {

/// Streams are interleaved within less than this.
constexpr std::int64_t kInterleavingMicroseconds = 5'000'000;

/// Units of time that are heard, and seen, in the distance of sound and picture: that of a frame, mostly.
bool is_coarse(AVRational unit) { return av_cmp_q(unit, {1, 200}) > 0; }

/// The first tick of a coarse unit from a time on, which may be told rounded to a microsecond.
std::int64_t first_from(std::int64_t time, AVRational unit) {
  return av_rescale_q_rnd(time - 1, AV_TIME_BASE_Q, unit, AV_ROUND_UP);
}

std::int64_t microseconds(double seconds) { return std::llround(seconds * AV_TIME_BASE); }

}  // namespace

RangeFilter::RangeFilter(const AVFormatContext& input, int video, const TimeRange& range)
    : input_(input), video_(video), range_(range), passed_(input.nb_streams, false) {
  if (!moves()) return;
  origin_ = (input.start_time != AV_NOPTS_VALUE ? input.start_time : 0) + microseconds(range.start);
  const AVRational unit = input.streams[video]->time_base;
  if (!is_coarse(unit)) return;
  // Pictures can be moved by their unit only: a range that starts between two of them starts with the next,
  // and all streams with it.
  const std::int64_t next = first_from(origin_, unit);
  const std::int64_t further = av_rescale_q(next, unit, AV_TIME_BASE_Q) - origin_;
  const double seconds = static_cast<double>(further) / AV_TIME_BASE;
  origin_ += further;
  range_.start += seconds;
  if (range_.duration) *range_.duration -= seconds;  // may leave nothing
}

std::int64_t RangeFilter::start(const AVStream& stream) const noexcept {
  return av_rescale_q(origin_, AV_TIME_BASE_Q, stream.time_base);
}

std::int64_t RangeFilter::end(AVRational unit) const noexcept {
  std::int64_t end = INT64_MAX;
  if (range_.duration) {
    // Without a start nothing is moved, so the end counts from where the input starts.
    const std::int64_t first = moves() || input_.start_time == AV_NOPTS_VALUE ? 0 : input_.start_time;
    const std::int64_t time = first + microseconds(*range_.duration);
    end = is_coarse(unit) ? first_from(time, unit)
                          : av_rescale_q_rnd(time, AV_TIME_BASE_Q, unit, AV_ROUND_NEAR_INF);
  }
  if (cut_) end = std::min(end, av_rescale_q(*cut_, input_.streams[video_]->time_base, unit));
  return end;
}

bool RangeFilter::take(AVPacket& packet) {
  const AVStream& stream = *input_.streams[packet.stream_index];
  if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) return true;
  const std::int64_t moved = start(stream);
  if (packet.pts != AV_NOPTS_VALUE) packet.pts -= moved;
  if (packet.dts != AV_NOPTS_VALUE) packet.dts -= moved;
  const std::int64_t order = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  const std::int64_t last = end(stream.time_base);
  if (order != AV_NOPTS_VALUE && order >= last) {
    passed_[static_cast<std::size_t>(packet.stream_index)] = true;
    if (packet.stream_index == video_ &&
        av_rescale_q(order - last, stream.time_base, AV_TIME_BASE_Q) > kInterleavingMicroseconds)
      far_behind_ = true;
  }
  if (packet.stream_index == video_) return true;
  const std::int64_t shown = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (shown == AV_NOPTS_VALUE) return true;
  if (shown >= last) return false;
  // What is still on the screen when the range ends is there to its end.
  if (stream.codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE && last != INT64_MAX && packet.duration > 0)
    packet.duration = std::min(shown + packet.duration, last) - shown;
  if (!moves()) return true;
  if (stream.codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE) {
    // What is on the screen when the range starts is there from its start.
    if (shown < 0 && packet.duration > 0 && shown + packet.duration > 0) {
      packet.duration += shown;
      packet.pts = packet.dts = 0;
    }
    return packet.pts >= 0;
  }
  return shown >= 0;
}

bool RangeFilter::clip(AVRational unit, std::int64_t& start, std::int64_t& end_of) const noexcept {
  if (!active()) return true;
  const std::int64_t moved = av_rescale_q(origin_, AV_TIME_BASE_Q, unit), last = end(unit);
  start = moves() ? std::max<std::int64_t>(start - moved, 0) : start;
  end_of = std::min(end_of - moved, last);
  return end_of > start;
}

bool RangeFilter::holds(std::int64_t pts) const noexcept {
  return (!moves() || pts >= 0) && pts < end(input_.streams[video_]->time_base);
}

bool RangeFilter::ended() const noexcept {
  if (far_behind_) return true;
  for (unsigned i = 0; i < passed_.size(); ++i) {
    const AVStream& stream = *input_.streams[i];
    const bool dense = static_cast<int>(i) == video_ || stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    if (dense && stream.discard < AVDISCARD_ALL && !passed_[i]) return false;
  }
  return true;
}

void RangeFilter::cut(std::int64_t video_pts) noexcept { cut_ = video_pts; }

double RangeFilter::duration_within(double whole) const noexcept {
  const double rest = whole > 0 ? std::max(0.0, whole - range_.start) : 0;
  if (!range_.duration) return rest;
  return rest > 0 ? std::min(rest, *range_.duration) : *range_.duration;
}

void RangeFilter::restart() noexcept {
  std::fill(passed_.begin(), passed_.end(), false);
  far_behind_ = false;
}

}  // namespace saccade::media
