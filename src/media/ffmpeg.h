// FFmpeg's C handles as owning C++ types, and its return codes as errors. Everything in this folder starts
// here.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "saccade/error.h"

namespace saccade::media {

struct FrameDeleter {
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
};
struct PacketDeleter {
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
};
struct CodecDeleter {
  void operator()(AVCodecContext* codec) const noexcept { avcodec_free_context(&codec); }
};
struct InputDeleter {
  void operator()(AVFormatContext* input) const noexcept { avformat_close_input(&input); }
};
struct OutputDeleter {
  void operator()(AVFormatContext* output) const noexcept { avformat_free_context(output); }
};
struct ParametersDeleter {
  void operator()(AVCodecParameters* parameters) const noexcept { avcodec_parameters_free(&parameters); }
};

using FramePtr = std::unique_ptr<AVFrame, FrameDeleter>;
using PacketPtr = std::unique_ptr<AVPacket, PacketDeleter>;
using CodecPtr = std::unique_ptr<AVCodecContext, CodecDeleter>;
using InputPtr = std::unique_ptr<AVFormatContext, InputDeleter>;
using OutputPtr = std::unique_ptr<AVFormatContext, OutputDeleter>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, ParametersDeleter>;

/// Owning allocations; throw Error(limit) when memory is refused.
FramePtr make_frame();
PacketPtr make_packet();
/// New references to the same data.
FramePtr share(const AVFrame& frame);
PacketPtr share(const AVPacket& packet);

/// An AVDictionary that frees itself.
class Dictionary {
 public:
  Dictionary() = default;
  ~Dictionary() { av_dict_free(&dict_); }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  void set(const char* key, const std::string& value) { av_dict_set(&dict_, key, value.c_str(), 0); }
  AVDictionary** address() noexcept { return &dict_; }
  /// The first key that nobody took, or "".
  std::string unused() const;

 private:
  AVDictionary* dict_ = nullptr;
};

/// Routes FFmpeg's log away from the terminal: each thread remembers the last error FFmpeg reported to it.
/// Called by everything that opens a file or codec; repeated calls cost nothing.
void capture_log();
/// What FFmpeg said last on this thread since the previous call, or "".
std::string take_log();
/// A size of pictures that FFmpeg found too large on this thread since the previous call; 0x0: none.
struct RefusedSize {
  std::int64_t width = 0, height = 0;
};
RefusedSize take_refused_size();

/// "Invalid data found when processing input" or, for system errors, what strerror says.
std::string reason(int code);
/// Throws Error(media, or io for system errors) "what: reason (FFmpeg's own last message)".
[[noreturn]] void throw_ffmpeg(int code, const std::string& what);
/// Returns `code` if it is not negative, else throws.
int check(int code, std::string_view what);

}  // namespace saccade::media
