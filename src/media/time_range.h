// A part of an input by time: which packets and pictures belong to it, and when they are shown in the result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"

namespace saccade::media {

/// From `start` (the beginning of the input is 0) for `duration`, in seconds.
struct TimeRange {
  double start = 0;
  std::optional<double> duration;
  bool whole() const noexcept { return start <= 0 && !duration; }
};

/// Moves the start of the range to time zero of all streams by the same amount, each in its own unit, so that
/// their distances stay; with a start of 0 nothing moves. Not thread-safe.
class RangeFilter {
 public:
  /// `input` must outlive it.
  RangeFilter(const AVFormatContext& input, int video, const TimeRange& range);

  bool active() const noexcept { return !range_.whole() || cut_.has_value(); }
  bool moves() const noexcept { return range_.start > 0; }
  /// Seconds of the input that lie before the range.
  double start_seconds() const noexcept { return range_.start; }
  /// Where the range starts in the input's own times, in a stream's unit.
  std::int64_t start(const AVStream& stream) const noexcept;
  /// Gives the packet its time in the result, and subtitles their end. False if it does not belong there.
  /// Packets of the video always do: pictures before and behind the range may be needed to decode those in
  /// it.
  bool take(AVPacket& packet);
  /// Moves and shortens a chapter. False if nothing of it is in the range.
  bool clip(AVRational unit, std::int64_t& start, std::int64_t& end) const noexcept;
  /// Whether a picture, its time that of the result in the video's unit, belongs to it.
  bool holds(std::int64_t pts) const noexcept;
  /// All streams have come to the end of the range.
  bool ended() const noexcept;
  /// Ends the range at a time of the result, in the video's unit.
  void cut(std::int64_t video_pts) noexcept;
  /// Seconds of an input of `whole` seconds (0: unknown, which stays unknown unless the range has an end).
  double duration_within(double whole) const noexcept;
  /// After a jump to an earlier place.
  void restart() noexcept;

 private:
  std::int64_t end(AVRational unit) const noexcept;

  const AVFormatContext& input_;
  int video_;
  TimeRange range_;
  std::int64_t origin_ = 0;  ///< microseconds: where the input starts, plus range_.start
  std::optional<std::int64_t> cut_;
  std::vector<bool> passed_;  ///< by stream: a packet behind the end has come
  bool far_behind_ = false;   ///< the video is so far beyond the end that sparse streams are not waited for
};

}  // namespace saccade::media
