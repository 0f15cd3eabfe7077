// Pictures through a chain of FFmpeg's filters: palettes, deinterlacing, tone curves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "media/video_format.h"

struct AVFilterGraph;
struct AVFilterContext;

namespace saccade::media {

/// Whether this build of FFmpeg has a filter.
bool has_filter(const std::string& name) noexcept;

/// One picture in, any number out, in order. Not thread-safe; works on the calling thread.
class FilterChain {
 public:
  /// `filters` in FFmpeg's notation; they must give pictures of pixel format `result`. Throws
  /// Error(unsupported | media).
  FilterChain(const std::string& filters, const VideoFormat& source, AVPixelFormat result);
  ~FilterChain();

  /// `pts` in the source's time base; null: no more will come.
  void send(const AVFrame* frame);
  /// The next finished picture, `pts` and `pkt_duration` in the source's time base, or null.
  FramePtr receive();

 private:
  struct GraphDeleter {
    void operator()(AVFilterGraph* graph) const noexcept;
  };
  std::unique_ptr<AVFilterGraph, GraphDeleter> graph_;
  AVFilterContext* input_ = nullptr;
  AVFilterContext* output_ = nullptr;
  AVRational time_base_{1, 1};
  std::map<std::int64_t, std::int64_t> durations_;  ///< of pictures inside, by pts
};

}  // namespace saccade::media
