// Pictures from one sample format or size to another, by swscale, and turned upright. Used where an encoder
// or an effect cannot take what the decoder gives; pictures that need neither are never touched.
#pragma once

#include <memory>

#include "media/ffmpeg.h"
#include "media/picture_memory.h"
#include "media/video_format.h"

struct SwsContext;

namespace saccade::media {

/// Recycles the memory of pictures of one format. Thread-safe; frames may outlive the pool.
class FramePool {
 public:
  /// Throws Error(limit) for sizes that FFmpeg cannot hold.
  FramePool(AVPixelFormat format, int width, int height);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// A writable frame, rows on 64-byte boundaries, samples undefined. Throws Error(limit).
  FramePtr get();

 private:
  AVPixelFormat format_;
  int width_, height_;
  int linesize_[4] = {};
  std::size_t offset_[4] = {};
  BufferPoolPtr pool_;
};

/// Converts samples; colours keep their meaning (matrix, range and chroma position of both sides are
/// honoured). Not thread-safe.
class FrameConverter {
 public:
  /// Only size, pixel_format and colour of the formats matter. Throws Error(unsupported | media).
  FrameConverter(const VideoFormat& source, const VideoFormat& to);
  ~FrameConverter();
  FrameConverter(FrameConverter&&) noexcept;
  FrameConverter& operator=(FrameConverter&&) noexcept;

  /// `to` is writable and has the target's format and size; its properties (pts, side data) become those of
  /// `from`.
  void run(const AVFrame& from, AVFrame& to) const;

 private:
  struct SwsDeleter {
    void operator()(SwsContext* context) const noexcept;
  };
  void scale(const AVFrame& from, AVFrame& to) const;

  std::unique_ptr<SwsContext, SwsDeleter> sws_;
  std::unique_ptr<FrameConverter> unpack_;  ///< palettes become colours first
  std::unique_ptr<FramePool> unpacked_;
  VideoFormat to_;
};

/// What a picture of `format` becomes when it is turned upright: sides, pixel aspect and chroma position
/// change, the display matrix goes. Throws Error(unsupported) for a format whose planes cannot be turned
/// (chroma subsampled in one direction only, packed YUV).
VideoFormat upright_format(const VideoFormat& format);
/// Turns every plane; `to` has the upright format.
void turn_upright(const AVFrame& from, Orientation orientation, AVFrame& to);
bool can_turn(AVPixelFormat format) noexcept;

/// Writes the colour meaning of `format` into the frame.
void tag_frame(AVFrame& frame, const VideoFormat& format);

}  // namespace saccade::media
