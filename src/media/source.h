// Opening an input: the container's streams, which of them is the video to work on, and its packets in file
// order.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "media/ffmpeg.h"
#include "media/file_io.h"
#include "media/picture_list.h"
#include "media/time_range.h"
#include "saccade/media_limits.h"

namespace saccade::media {

struct SourceOptions {
  /// Index of the video stream to work on; unset: FFmpeg's best video stream, cover pictures left aside.
  std::optional<int> stream = {};
  const std::atomic<bool>* cancel = nullptr;  ///< once set, the input ends
  TimeRange range = {};                       ///< what of it is wanted
  MediaLimits limits = {};
  /// Options of FFmpeg's demuxer or protocol.
  std::vector<std::pair<std::string, std::string>> input_options = {};
};

/// One open input: a file, an address, or many pictures that list_pictures() finds. Not thread-safe, but for
/// stop(). FFmpeg may not open further files on its behalf (playlists, references), and further addresses
/// only for one, by protocols of its kind.
class Source {
 public:
  /// Throws Error(not_found | io | media | invalid_argument); an input without video says which streams it
  /// has.
  explicit Source(const std::filesystem::path& path, const SourceOptions& options = {});

  AVFormatContext& context() noexcept { return *input_; }
  const AVFormatContext& context() const noexcept { return *input_; }
  AVStream& video() noexcept { return *input_->streams[video_index_]; }
  const AVStream& video() const noexcept { return *input_->streams[video_index_]; }
  int video_index() const noexcept { return video_index_; }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// A single picture (PNG, JPEG, WebP, a GIF of one frame, …), told by content; Targa by its name.
  bool still() const noexcept { return still_; }
  /// A file that can be opened once more and gives the same then.
  bool regular() const noexcept { return file_.regular() && pictures_.empty(); }
  /// Many pictures that are a video together.
  bool series() const noexcept { return !pictures_.empty(); }
  /// Bytes of a pipe or device that have come so far, read or not; -1 for other inputs.
  std::int64_t arrived() const noexcept { return file_.arrived(); }
  /// Numbers of a series of pictures that are not there.
  std::int64_t missing_pictures() const noexcept {
    return pictures_.empty() ? 0 : pictures_.back().number + 1 - static_cast<std::int64_t>(pictures_.size());
  }
  /// Ends a read() that waits, and all later ones. Thread-safe.
  void stop() noexcept { file_.stop(); }
  const RangeFilter& range() const noexcept { return *range_; }
  /// Nothing from this time on (of the result, in the video's unit) is wanted.
  void cut(std::int64_t video_pts) noexcept { range_->cut(video_pts); }
  /// Where the first picture that came after a jump to the start of the range lies behind it: jumps further
  /// back. False if it cannot; else a new decoder is needed, and packets come anew.
  bool go_further_back();
  /// Best guess of the number of frames in the range, from the header or duration × rate; 0: unknown.
  std::int64_t expected_frames() const noexcept;
  /// Seconds in the range, from the header; 0: unknown.
  double duration() const noexcept;

  /// The next packet of any stream that is not ignored, or null at the end. Throws Error(media | io) if the
  /// rest cannot be read.
  PacketPtr read();
  /// Time of the first packet that read() gave of a stream, in the stream's time base; AV_NOPTS_VALUE if
  /// there was none yet.
  std::int64_t first_pts(int stream) const noexcept { return first_pts_[static_cast<std::size_t>(stream)]; }
  /// Whether the first packet of the video was one that is not to be shown, before an edit list's start.
  bool begins_unseen() const noexcept { return begins_unseen_; }
  /// Whether read() came to the real end of the input, and was not cancelled before.
  bool ended() const noexcept { return ended_; }
  /// Whether the end was told by nothing but the connection's, which may have come too early.
  bool end_unsure() const noexcept { return end_unsure_; }
  /// Packets of this stream are not needed.
  void ignore(int stream) noexcept { input_->streams[stream]->discard = AVDISCARD_ALL; }
  /// Damaged stretches that were skipped so far.
  std::int64_t damaged_packets() const noexcept { return damaged_; }
  /// Bytes that the file lacks at its end, as far as its header tells: known before the first packet.
  std::int64_t missing_bytes() const noexcept { return missing_bytes_; }
  /// Whether read() came to an end that is not that of the input: the rest was cut off.
  bool cut_off() const noexcept { return cut_off_; }
  /// Pictures (of single files) that end before all of them has come, and are given all the same.
  std::int64_t cut_pictures() const noexcept { return cut_pictures_; }
  /// Pages of TIFF files behind the first, which are not read.
  std::int64_t further_pages() const noexcept { return further_pages_; }

 private:
  void choose_stream(std::optional<int> wanted);
  void add_orientation(const std::filesystem::path& picture);
  void begin_series(const SourceOptions& options);
  PacketPtr next_picture();
  void find_stream_info();
  void require_limits() const;
  double whole_duration() const noexcept;
  bool is_picture_of_boxes() const;
  bool jump(std::int64_t before);
  bool length_unknown() const noexcept;
  void require_whole();
  void reach_end(bool counted);
  void look_at_picture(const AVPacket& packet);
  [[noreturn]] void refuse_size(std::int64_t width, std::int64_t height) const;
  void require_possible(const AVInputFormat* format) const;

  std::filesystem::path path_;
  std::vector<ListedPicture> pictures_;  ///< of a series; `file_` is its first
  std::size_t next_picture_ = 0;
  InputFile file_;
  InputPtr input_;
  MediaLimits limits_;
  std::optional<RangeFilter> range_;
  std::int64_t jumped_before_ =
      0;  ///< microseconds from the start of the range to where reading began; 0: at the start
  int video_index_ = -1;
  bool still_ = false, ended_ = false, end_unsure_ = false, begins_unseen_ = false;
  std::vector<std::int64_t> first_pts_;
  std::int64_t damaged_ = 0, cut_pictures_ = 0, missing_bytes_ = 0, further_pages_ = 0;
  bool cut_off_ = false;
};

/// "0: video h264 1920x1080, 1: audio aac (eng)".
std::string list_streams(const AVFormatContext& input);

}  // namespace saccade::media
