// What changes while a stream goes on. The first picture decides what becomes of all: later ones are brought
// to that where they can be, and what differs is counted and told.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "media/video_format.h"

namespace saccade::pipeline {

/// Not thread-safe.
class FrameChanges {
 public:
  /// The stream begins with such a picture; what was counted is forgotten.
  void begin(const media::VideoFormat& first);
  /// Counts what a later picture has in another way. Returns in words what of it is more than marks of
  /// fields, which may come and go; empty where it is nothing.
  std::string compare(const media::VideoFormat& picture);
  /// What was counted, for the user.
  std::vector<std::string> notices() const;

  bool begins_interlaced() const noexcept;
  /// Pictures that are interlaced where the first is not.
  std::int64_t interlaced() const noexcept { return interlaced_; }
  /// Pictures that are whole where the first is interlaced.
  std::int64_t whole() const noexcept { return whole_; }

 private:
  /// Size, samples, colour (matrix and range), light (primaries and transfer), aspect of a pixel,
  /// orientation.
  static constexpr std::size_t kProperties = 6;

  media::VideoFormat first_;
  std::array<std::int64_t, kProperties> counts_{};
  std::int64_t interlaced_ = 0, whole_ = 0;
};

}  // namespace saccade::pipeline
