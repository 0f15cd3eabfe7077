// What packets that wait take in memory.
#pragma once

#include <cstdint>

#include "media/ffmpeg.h"

namespace saccade::media {

/// With all that FFmpeg keeps about a packet, which for one of sound is more than the packet itself.
inline std::int64_t bytes_of(const AVPacket& packet) noexcept {
  constexpr std::int64_t kAround = 512;
  return packet.size + kAround;
}

}  // namespace saccade::media
