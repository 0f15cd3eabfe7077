#include "media/file_end.h"

#include <algorithm>
#include <array>

namespace saccade::media {

namespace {

constexpr std::uint64_t kSegment = 0x18538067, kCluster = 0x1f43b675;
/// More elements than this are not looked at: a live recording's clusters may have no size either.
constexpr int kMostElements = 1 << 18;

struct Element {
  std::uint64_t id = 0, size = 0;
  std::size_t head = 0;  ///< bytes of both
  bool sized = true;
};

enum class HeadState : std::uint8_t { whole, cut, strange };

/// A number whose first byte tells its length; all ones stand for "unknown".
bool read_number(std::span<const std::byte> bytes, bool keep_mark, std::uint64_t& value, std::size_t& length,
                 bool& known) {
  const auto first = std::to_integer<unsigned>(bytes[0]);
  length = 1;
  for (unsigned mark = 0x80; mark != 0 && (first & mark) == 0; mark >>= 1) ++length;
  if (length > 8 || length > bytes.size()) return false;
  const unsigned mark = 0x80u >> (length - 1);
  value = keep_mark ? first : first & (mark - 1);
  bool ones = (first & (mark - 1)) == mark - 1;
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    value = value << 8 | byte;
    ones = ones && byte == 0xff;
  }
  known = !ones;
  return true;
}

HeadState read_head(std::span<const std::byte> bytes, Element& element) {
  if (std::to_integer<unsigned>(bytes[0]) < 0x10) return HeadState::strange;  // no name is that long
  std::size_t name = 0, size = 0;
  bool known = true;
  if (!read_number(bytes, true, element.id, name, known)) return HeadState::cut;
  if (name == bytes.size()) return HeadState::cut;
  if (bytes[name] == std::byte{0}) return HeadState::strange;
  if (!read_number(bytes.subspan(name), false, element.size, size, element.sized)) return HeadState::cut;
  element.head = name + size;
  return HeadState::whole;
}

}  // namespace

std::int64_t missing_matroska_bytes(std::int64_t size, const ReadAt& read_at) {
  std::int64_t at = 0;
  for (int i = 0; i < kMostElements && at < size; ++i) {
    std::array<std::byte, 12> bytes{};
    const std::size_t count = read_at(at, bytes);
    if (count == 0) return 0;
    Element element;
    const HeadState state = read_head(std::span(bytes).first(count), element);
    if (state == HeadState::strange) return 0;
    if (state == HeadState::cut) return count < bytes.size() ? 1 : 0;
    at += static_cast<std::int64_t>(element.head);
    if (!element.sized) {
      if (element.id != kSegment && element.id != kCluster) return 0;
      continue;  // its elements follow
    }
    if (element.size > static_cast<std::uint64_t>(INT64_MAX - at)) return INT64_MAX;
    at += static_cast<std::int64_t>(element.size);
  }
  return std::max<std::int64_t>(0, at - size);
}

bool jpeg_is_whole(std::span<const std::uint8_t> data) noexcept {
  std::size_t at = 2;
  while (at + 1 < data.size()) {
    const std::uint8_t marker = data[at + 1];
    if (data[at] != 0xff || marker == 0xff) {
      ++at;
    } else if (marker == 0xd9) {
      return true;
    } else if (marker <= 1 || (marker >= 0xd0 && marker <= 0xd8)) {  // none, or one without a length
      at += 2;
    } else if (at + 3 < data.size()) {
      at += 2 + std::size_t{data[at + 2]} * 256 + data[at + 3];
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace saccade::media
