#include "vision/spread.h"

#include <algorithm>
#include <cmath>

namespace saccade::vision {

namespace {

// Targets that the widest kernel writes at once; tables are filled up to a multiple of it.
constexpr int kGroup = 64;
constexpr int kHalfGroup = 8;
constexpr int kPlaces = 32;  // values that one vector holds

}  // namespace

Spread::Spread(int target_count, int source_count, double ratio, double origin) : count_(target_count) {
  const std::size_t padded = static_cast<std::size_t>((target_count + kGroup - 1) / kGroup) * kGroup;
  index_.resize(padded);
  weight_.resize(padded);
  fraction_.resize(padded);
  for (std::size_t i = 0; i < padded; ++i) {
    const double target = std::min(static_cast<double>(i), target_count - 1.0);
    const double at = std::clamp(origin + (target + 0.5) * ratio - 0.5, 0.0, source_count - 1.0);
    const int left = static_cast<int>(at);
    index_[i] = left;
    fraction_[i] = static_cast<float>(at - left);
    weight_[i] = static_cast<std::int16_t>(std::min(32767L, std::lround((at - left) * 32768)));
  }
  // Eight neighbouring targets take their left values from eight neighbouring sources, if the row grows
  // enough.
  windowed_ = true;
  base_.resize(padded / kHalfGroup);
  shuffle_.resize(2 * padded);
  for (std::size_t i = 0; i < padded; ++i) {
    std::int32_t& base = base_[i / kHalfGroup];
    if (i % kHalfGroup == 0) base = index_[i];
    const int distance = index_[i] - base;
    if (distance > 7) windowed_ = false;
    shuffle_[2 * i] = static_cast<std::uint8_t>(2 * (distance & 7));
    shuffle_[2 * i + 1] = static_cast<std::uint8_t>(2 * (distance & 7) + 1);
  }
  near_ = windowed_;
  place_.resize(padded);
  for (std::size_t i = 0; i < padded; ++i) {
    const int distance = index_[i] - index_[i / kPlaces * kPlaces];
    if (distance >= kPlaces) near_ = false;
    place_[i] = static_cast<std::uint16_t>(distance % kPlaces);
  }
}

SpreadTable Spread::table() const noexcept {
  return {count_,          index_.data(),
          weight_.data(),  windowed_ ? base_.data() : nullptr,
          shuffle_.data(), near_ ? place_.data() : nullptr};
}

}  // namespace saccade::vision
