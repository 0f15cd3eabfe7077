// An MP4 that comes through a pipe: its boxes are checked before FFmpeg gets to see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "media/box_check.h"

namespace saccade::media {

/// Bytes go in as they come and out once the box that they belong to is whole and has been checked; those of
/// media, and of anything that has no boxes, at once.
class BoxGate {
 public:
  explicit BoxGate(std::string name) : check_(std::move(name)) {}

  /// Throws as BoxCheck does.
  void put(std::span<const std::byte> bytes);
  /// No more will come: what was held back goes out.
  void end();
  /// Moves up to so many bytes out; 0: nothing may go out yet.
  std::size_t take(std::span<std::byte> bytes);
  /// Nothing is held, and nothing will be: what comes may pass by.
  bool is_open() const noexcept { return box_ < 0 && held_.empty(); }

 private:
  void advance(bool ended);

  BoxCheck check_;
  std::vector<std::byte> held_;
  std::size_t taken_ = 0;      ///< of `held_`
  std::int64_t begin_ = 0;     ///< where in the stream `held_` begins
  std::int64_t released_ = 0;  ///< where in the stream what may go out ends
  std::int64_t box_ = 0;       ///< the next outermost box; -1: there are none
};

}  // namespace saccade::media
