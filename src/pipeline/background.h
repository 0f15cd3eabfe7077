// What replaces the background: a picture, or a video that runs along and starts again when it ends.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

#include "media/convert.h"
#include "media/decoder.h"
#include "media/ffmpeg.h"
#include "media/source.h"
#include "media/video_format.h"
#include "vision/convert.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::pipeline {

class Background {
 public:
  /// Fitted to cover pictures of `target` (as they are shown, so also turned ones). Throws like
  /// media::Source.
  Background(const std::filesystem::path& path, const vision::PictureSpec& target, Isa isa,
             const std::atomic<bool>* cancel);

  bool moving() const noexcept { return !still_; }
  /// For a moving background: its picture at `seconds` since the start of the job's video. Call with rising
  /// times, from one thread at a time.
  media::FramePtr at(double seconds);
  /// The background of a frame, in the target's size and format. `frame` is what at() gave (null for a still
  /// one); a moving one is drawn into `scratch`. Thread-safe.
  vision::ConstPictureView view(const AVFrame* frame, const vision::Picture& scratch,
                                vision::Workspace& workspace) const;

 private:
  void open();
  media::FramePtr next();
  media::FramePtr usable(const AVFrame& decoded);

  std::filesystem::path path_;
  const std::atomic<bool>* cancel_;
  vision::PictureSpec target_;
  Isa isa_;
  std::unique_ptr<media::Source> source_;
  std::unique_ptr<media::Decoder> decoder_;
  bool still_ = false;
  media::VideoFormat format_;          ///< of the pictures handed on
  media::VideoFormat decoded_format_;  ///< of the first picture, what to_supported_ takes
  std::optional<media::FrameConverter>
      to_supported_;  ///< for sample formats that vision does not know, and for pictures of another size
  std::unique_ptr<media::FramePool> pool_;
  std::optional<vision::Converter> converter_;
  vision::Picture picture_;  ///< the still background
  media::FramePtr current_, upcoming_;
  double first_ = 0, offset_ = 0,
         end_ = 0;  ///< seconds: first pts, shift of the present round, end of the last frame
  bool got_any_ = false;
};

}  // namespace saccade::pipeline
