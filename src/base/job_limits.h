// How far the options of a job go: what is refused when settings are read, and by the library.
#pragma once

namespace saccade::job_limits {

inline constexpr float kMostGrow = 256;                      ///< pixels, either way
inline constexpr float kMostFeather = 128;                   ///< pixels
inline constexpr float kLeastRefine = 1, kMostRefine = 128;  ///< pixels; 0: off
inline constexpr int kMostPartSide = 16384;                  ///< of tiles and windows
inline constexpr int kMostWindows = 256;                     ///< in a batch
inline constexpr double kMostOverlap = 0.95;                 ///< of windows
inline constexpr int kMostThreads = 1024;
inline constexpr int kMostTokens = 4096;
inline constexpr double kMostSeconds = 1e9;

}  // namespace saccade::job_limits
