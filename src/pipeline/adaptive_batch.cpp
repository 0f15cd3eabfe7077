#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "saccade/error.h"
#include "saccade/fit.h"

namespace saccade {

int queue_length(double fps, double latency) {
  constexpr double kLongest = 4096;
  if (!(fps > 0) || !(latency > 0) || !std::isfinite(fps) || !std::isfinite(latency))
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a queue for {} pictures a second and a latency of {} seconds: both must be above 0", fps,
                    latency));
  return static_cast<int>(std::clamp(std::floor(fps * latency), 1.0, kLongest));
}

AdaptiveBatch::AdaptiveBatch(std::int64_t most) : most_(std::max<std::int64_t>(1, most)), size_(most_) {}

bool AdaptiveBatch::failed() noexcept {
  constexpr std::int64_t kMostPatience = 1 << 12;
  good_ = 0;
  patience_ = std::min(kMostPatience, 2 * patience_);
  if (size_ == 1) return false;
  size_ /= 2;
  return true;
}

void AdaptiveBatch::succeeded() noexcept {
  if (size_ == most_ || ++good_ < patience_) return;
  good_ = 0;
  size_ = std::min(most_, size_ + std::max<std::int64_t>(1, size_ / 4));
}

}  // namespace saccade
