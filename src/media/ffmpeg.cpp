#include "media/ffmpeg.h"

#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "base/log.h"

namespace saccade::media {

namespace {

std::string& last_message() {
  thread_local std::string message;
  return message;
}

RefusedSize& refused_size() {
  thread_local RefusedSize size;
  return size;
}

void take_line(void* context, int level, const char* format, va_list arguments) {
  char text[1024];
  int print_prefix = 1;
  av_log_format_line2(context, level, format, arguments, text, sizeof(text), &print_prefix);
  std::string line(text);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.empty()) return;
  if (log::enabled("ffmpeg")) log::write("ffmpeg", line);
  if (level > AV_LOG_ERROR) return;
  // "[mov,mp4 @ 0x55…] moov atom not found": addresses mean nothing to a user.
  if (line.front() == '[') {
    if (const auto end = line.find("] "); end != std::string::npos) line.erase(0, end + 2);
  }
  // Behind it the decoder may say more.
  if (const auto place = line.find("Picture size "); place != std::string::npos) {
    RefusedSize size;
    if (std::sscanf(line.c_str() + place, "Picture size %" SCNd64 "x%" SCNd64, &size.width, &size.height) ==
        2)
      refused_size() = size;
  }
  last_message() = line;
}

/// Called for every line of every level, millions of times for some files: no more than a comparison.
void on_log(void* context, int level, const char* format, va_list arguments) {
  if (level <= AV_LOG_WARNING) take_line(context, level, format, arguments);
}

}  // namespace

FramePtr make_frame() {
  FramePtr frame(av_frame_alloc());
  if (!frame) throw Error(ErrorCode::limit, "out of memory for a video frame");
  return frame;
}

PacketPtr make_packet() {
  PacketPtr packet(av_packet_alloc());
  if (!packet) throw Error(ErrorCode::limit, "out of memory for a packet");
  return packet;
}

FramePtr share(const AVFrame& frame) {
  FramePtr copy(av_frame_clone(&frame));
  if (!copy) throw Error(ErrorCode::limit, "out of memory for a video frame");
  return copy;
}

PacketPtr share(const AVPacket& packet) {
  PacketPtr copy(av_packet_clone(&packet));
  if (!copy) throw Error(ErrorCode::limit, "out of memory for a packet");
  return copy;
}

std::string Dictionary::unused() const {
  const AVDictionaryEntry* entry = av_dict_get(dict_, "", nullptr, AV_DICT_IGNORE_SUFFIX);
  return entry != nullptr ? entry->key : "";
}

void capture_log() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(on_log); });
  last_message().clear();
}

std::string take_log() { return std::exchange(last_message(), std::string()); }

RefusedSize take_refused_size() { return std::exchange(refused_size(), RefusedSize()); }

std::string reason(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof(text));
  return text;
}

void throw_ffmpeg(int code, const std::string& what) {
  const bool system = code == AVERROR(ENOSPC) || code == AVERROR(EIO) || code == AVERROR(EFBIG) ||
                      code == AVERROR(EPIPE) || code == AVERROR(EACCES) || code == AVERROR(EDQUOT);
  const auto kind = code == AVERROR_EXIT      ? ErrorCode::interrupted
                    : code == AVERROR(ENOENT) ? ErrorCode::not_found
                    : code == AVERROR(ENOMEM) ? ErrorCode::limit
                    : system                  ? ErrorCode::io
                                              : ErrorCode::media;
  std::string message = what + ": " + reason(code);
  if (const std::string said = take_log(); !said.empty() && said != reason(code))
    message += " (" + said + ")";
  throw Error(kind, message);
}

int check(int code, std::string_view what) {
  if (code < 0) throw_ffmpeg(code, std::string(what));
  return code;
}

}  // namespace saccade::media
