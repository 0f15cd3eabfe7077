// The pictures of a video that a job wants, in order: decoded, within the range and the limits, and through
// the filter that the job found necessary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "media/decoder.h"
#include "media/picture_filter.h"
#include "media/source.h"
#include "pipeline/frame_changes.h"
#include "pipeline/job_state.h"

namespace saccade::pipeline {

/// What becomes of pictures that are interlaced where the first is not, or the other way round.
enum class FieldChange : std::uint8_t {
  none,        ///< nothing that the user should know
  made_whole,  ///< fields become whole pictures from the first that are interlaced on
  unmarked,    ///< fields stay, and nothing says so
  all_marked,  ///< whole pictures are marked as interlaced
};

/// One thread at a time.
class FrameReader {
 public:
  /// Both must outlive it. Throws as media::Decoder.
  FrameReader(JobState& state, media::Source& source);

  /// The first picture, however far back it takes to find it; to be asked for once, before next(). Throws
  /// Error(media) where none can be decoded, Error(interrupted).
  media::FramePtr first(std::vector<media::PacketPtr>& copied);
  /// The next picture, or null at the end and where the job is cancelled. Packets of other streams that come
  /// before it are added to `copied`. Throws Error(media) for damage under `strict`, Error(limit).
  media::FramePtr next(std::vector<media::PacketPtr>& copied);
  /// From now on next() gives null as well once packets of so many bytes have been added without a picture:
  /// the pictures of a video may end, or pause, long before its sound does.
  void bound_copied(std::size_t bytes) noexcept { most_copied_ = static_cast<std::int64_t>(bytes); }
  /// Whether next() gave null for that reason, and is to be asked again.
  bool paused() const noexcept { return paused_; }
  /// Puts a filter between decoder and next(), `first` being the first picture that goes through it.
  void filter(std::unique_ptr<media::PictureFilter> filter, const AVFrame& first);

  /// What becomes of marks of fields that change, `decoded` being the format of the pictures. To be said
  /// before the second picture is asked for.
  void set_field_change(FieldChange change, const media::VideoFormat& decoded);
  bool filters() const noexcept { return filter_ != nullptr; }

  /// Whether all of the input, or of the range, was read.
  bool ended() const noexcept { return input_done_; }
  /// Time of the first picture, in ticks of the input's video.
  std::int64_t first_pts() const noexcept { return first_pts_.value_or(0); }
  /// Where other streams end, in microseconds, if the range ends by a number of pictures.
  std::optional<std::int64_t> cut() const noexcept { return cut_; }
  std::int64_t damaged_frames() const noexcept { return decoder_->concealed() + source_.cut_pictures(); }
  std::int64_t damaged_packets() const noexcept { return decoder_->damaged() + source_.damaged_packets(); }
  /// What was damaged or mended, for the report.
  void report() const;

 private:
  void open_decoder();
  media::FramePtr decoded(std::vector<media::PacketPtr>& copied);
  void end_at(std::int64_t pts);
  void require_undamaged() const;
  void compare(AVFrame& frame);
  void report_fields() const;
  [[noreturn]] void report_empty_range() const;
  void require_limits(const AVFrame& frame) const;

  JobState& state_;
  media::Source& source_;
  std::unique_ptr<media::Decoder> decoder_;
  std::unique_ptr<media::PictureFilter> filter_;
  bool filter_ended_ = false;
  bool input_done_ = false;
  std::int64_t most_copied_ = INT64_MAX, copied_bytes_ = 0;
  bool paused_ = false;
  std::int64_t decoded_ = 0;  ///< pictures of the range so far
  bool skipped_before_range_ = false;
  FrameChanges changes_;
  FieldChange field_change_ = FieldChange::none;
  media::VideoFormat decoded_format_;      ///< what a filter that begins later is to be made for
  std::optional<std::int64_t> last_seen_;  ///< outside of the range
  std::optional<std::int64_t> cut_;
  std::optional<std::int64_t> first_pts_;
};

}  // namespace saccade::pipeline
