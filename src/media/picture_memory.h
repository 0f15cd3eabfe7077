// Memory of pictures: recycled, and on huge pages where a picture is large enough to fill some.
#pragma once

#include <cstddef>
#include <memory>

#include "media/ffmpeg.h"

extern "C" {
#include <libavutil/buffer.h>
}

namespace saccade::media {

struct BufferPoolDeleter {
  void operator()(AVBufferPool* pool) const noexcept { av_buffer_pool_uninit(&pool); }
};
using BufferPoolPtr = std::unique_ptr<AVBufferPool, BufferPoolDeleter>;

/// Buffers of `bytes` each. Thread-safe; buffers may outlive the pool. Throws Error(limit).
BufferPoolPtr make_picture_pool(std::size_t bytes);

/// Gives one decoder, that has no threads of its own, the memory of its pictures. Must outlive the decoder.
class DecoderMemory {
 public:
  /// Before the decoder is opened.
  void serve(AVCodecContext& codec) noexcept;

 private:
  static int get(AVCodecContext* codec, AVFrame* frame, int flags) noexcept;
  bool plan(AVCodecContext& codec, const AVFrame& frame);

  BufferPoolPtr pool_;
  int format_ = -1, width_ = 0, height_ = 0;  ///< of the pictures of the plan
  int linesize_[4] = {};
  std::size_t offset_[4] = {};
  bool ours_ = false;  ///< else FFmpeg's own memory does as well, or the format is an odd one
};

}  // namespace saccade::media
