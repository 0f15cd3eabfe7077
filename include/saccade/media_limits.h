// What a video or picture may ask for.
#pragma once

#include <cstdint>

namespace saccade {

/// Bounds on what a video or picture may ask for, by its header and as it is read; exceeding one is
/// Error(limit), before memory is taken for it.
struct MediaLimits {
  std::int64_t max_pixels = std::int64_t{1} << 28;  ///< of one picture
  std::int64_t max_frames = std::int64_t{1} << 62;  ///< of the part that is asked for
  std::int64_t max_seconds = std::int64_t{1} << 40;
};

}  // namespace saccade
