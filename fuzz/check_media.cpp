#include "fuzz/check_media.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

extern "C" {
#include <libavutil/mem.h>
}

#include "media/decoder.h"
#include "media/encoder.h"
#include "media/source.h"
#include "media/stream_plan.h"
#include "media/video_format.h"

namespace saccade::fuzz {

namespace {

constexpr MediaLimits limits() {
  MediaLimits limits;
  limits.max_pixels = std::int64_t{1} << 20;
  return limits;
}
constexpr MediaLimits kLimits = limits();
constexpr int kMostPackets = 200, kMostFrames = 20;
/// Of one piece of memory, for containers whose claims nobody holds against their bytes.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// A file that exists in memory only, and has a name.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!content.empty()) {
      const ssize_t n = ::write(fd_, content.data(), content.size());
      if (n <= 0) std::abort();
      content = content.subspan(static_cast<std::size_t>(n));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path name() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void decode_some(const std::filesystem::path& name, const media::TimeRange& range) {
  media::SourceOptions options;
  options.range = range;
  options.limits = kLimits;
  media::Source source(name, options);
  (void)source.expected_frames();
  (void)source.duration();
  (void)media::list_streams(source.context());
  for (const char* container : {"x.mp4", "x.mkv"})
    (void)media::plan_streams(source, *media::choose_container(container, false));
  media::DecoderOptions decoder_options;
  decoder_options.max_pixels = kLimits.max_pixels;
  media::Decoder decoder(source.video(), decoder_options);
  std::int64_t last = INT64_MIN;
  int frames = 0;
  const auto take = [&] {
    while (const media::FramePtr frame = decoder.receive()) {
      if (frame->pts <= last) std::abort();  // times rise, whatever the file says
      last = frame->pts;
      if (std::int64_t{frame->width} * frame->height > kLimits.max_pixels) std::abort();
      if (frames++ == 0) (void)media::describe_video(source.context(), source.video(), *frame);
    }
  };
  for (int packets = 0; packets < kMostPackets && frames < kMostFrames; ++packets) {
    const media::PacketPtr packet = source.read();
    if (packet && packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    take();
    if (!packet) break;
  }
  if (range.start > 0) (void)source.go_further_back();
}

}  // namespace

void check_media(std::span<const std::byte> file) {
  av_max_alloc(kMostBytes);
  const MemoryFile input(file);
  for (const media::TimeRange& range : {media::TimeRange{}, media::TimeRange{0.1, 0.2}}) {
    try {
      decode_some(input.name(), range);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal) {
        std::fprintf(stderr, "internal error: %s\n", e.what());
        std::abort();
      }
    }
  }
}

}  // namespace saccade::fuzz
