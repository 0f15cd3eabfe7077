#include "media/tiff_pages.h"

#include <algorithm>

namespace saccade::media {

namespace {

constexpr std::uint16_t kNewSubfileType = 254;
constexpr int kMostPages = 65535;

std::uint64_t tiff_number(std::span<const std::uint8_t> file, std::size_t at, std::size_t bytes, bool big) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | file[at + (big ? i : bytes - 1 - i)];
  return value;
}

}  // namespace

int count_tiff_pages(std::span<const std::uint8_t> file) noexcept {
  if (file.size() < 8) return 1;
  const bool big = file[0] == 'M' && file[1] == 'M';
  if ((!big && !(file[0] == 'I' && file[1] == 'I')) || tiff_number(file, 2, 2, big) != 42) return 1;
  int pages = 0;
  std::uint64_t at = tiff_number(file, 4, 4, big);
  for (int i = 0; i < kMostPages && at != 0 && at + 2 <= file.size(); ++i) {
    const std::uint64_t entries = tiff_number(file, at, 2, big), end = at + 2 + 12 * entries;
    if (end + 4 > file.size()) break;
    bool reduced = false;
    for (std::uint64_t entry = at + 2; entry < end; entry += 12) {
      if (tiff_number(file, entry, 2, big) == kNewSubfileType)
        reduced = (tiff_number(file, entry + 8, 4, big) & 1) != 0;
    }
    if (!reduced) ++pages;
    at = tiff_number(file, end, 4, big);
  }
  return std::max(1, pages);
}

}  // namespace saccade::media
