// What decoded pictures go through before they are worked on, where it is asked for or needed: fields become
// whole pictures, high dynamic range becomes BT.709.
#pragma once

#include <deque>
#include <memory>

#include "media/ffmpeg.h"
#include "media/filter.h"
#include "media/video_format.h"

namespace saccade::media {

enum class Deinterlace : std::uint8_t { none, flagged, all };
struct PictureFilterOptions {
  Deinterlace deinterlace = Deinterlace::none;  ///< none, pictures that say they are interlaced, or every one
  bool tone_map = false;                        ///< HLG and PQ to BT.709 with 8 bits
  bool needed() const noexcept { return deinterlace != Deinterlace::none || tone_map; }
};

/// Whether the pictures are HLG or PQ.
bool is_high_dynamic_range(const VideoFormat& format) noexcept;

/// One picture out for each one in, in order, with its time. Not thread-safe.
class PictureFilter {
 public:
  /// `format` describes the decoded pictures. Throws Error(unsupported) if this build of FFmpeg lacks a
  /// filter.
  PictureFilter(const PictureFilterOptions& options, const VideoFormat& format);

  /// Of the pictures that come out.
  const VideoFormat& result() const noexcept { return result_; }
  /// Null: no more will come.
  void send(const AVFrame* frame);
  /// Null: another picture is needed, or all are out.
  FramePtr receive();

 private:
  void open(AVPixelFormat format, int width, int height);
  void drain();

  PictureFilterOptions options_;
  VideoFormat format_, result_;
  AVPixelFormat opened_format_ = AV_PIX_FMT_NONE;
  int opened_width_ = 0, opened_height_ = 0;
  std::unique_ptr<FilterChain> chain_;
  std::deque<FramePtr> ready_;
};

}  // namespace saccade::media
