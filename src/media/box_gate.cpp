#include "media/box_gate.h"

#include <algorithm>

namespace saccade::media {

namespace {

/// A header, and what tells that free space is none.
constexpr std::int64_t kEnough = 24;

bool is_printable(std::uint32_t type) {
  for (int shift = 0; shift < 32; shift += 8) {
    const std::uint32_t c = type >> shift & 0xff;
    if ((c < 0x20 || c >= 0x7f) && c != 0xa9) return false;
  }
  return true;
}

}  // namespace

void BoxGate::put(std::span<const std::byte> bytes) {
  held_.insert(held_.end(), bytes.begin(), bytes.end());
  advance(false);
}

void BoxGate::end() { advance(true); }

void BoxGate::advance(bool ended) {
  const std::int64_t have = begin_ + static_cast<std::int64_t>(held_.size());
  while (box_ >= 0 && box_ < have) {
    const auto head = std::span<const std::byte>(held_).subspan(static_cast<std::size_t>(box_ - begin_));
    if (have - box_ < kEnough && !ended) {
      released_ = box_;
      return;
    }
    const auto box = BoxCheck::outermost(head, box_);
    if (!box || (box_ == 0 && !is_printable(box->type))) {
      box_ = -1;
      break;
    }
    const auto content = head.subspan(static_cast<std::size_t>(box->begin - box_));
    if (BoxCheck::has_effect(*box, content)) {
      const std::int64_t there = std::min(box->content, have - box->begin);
      check_.require_size(*box, ended ? there : box->content);
      if (there < box->content && !ended) {
        released_ = box_;
        return;
      }
      check_.check_arrived(*box, content.first(static_cast<std::size_t>(there)));
    } else {
      check_.require_passed(*box);
    }
    const bool last = box->content > INT64_MAX - box->begin;
    box_ = last ? -1 : box->begin + box->content;
  }
  released_ = have;
}

std::size_t BoxGate::take(std::span<std::byte> bytes) {
  const std::int64_t ready = released_ - begin_ - static_cast<std::int64_t>(taken_);
  const std::size_t count = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(ready));
  std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(taken_), count, bytes.begin());
  taken_ += count;
  if (begin_ + static_cast<std::int64_t>(taken_) == released_) {
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken_));
    begin_ += static_cast<std::int64_t>(taken_);
    taken_ = 0;
  }
  return count;
}

}  // namespace saccade::media
