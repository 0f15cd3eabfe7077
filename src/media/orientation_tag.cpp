#include "media/orientation_tag.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::media {

namespace {

constexpr std::size_t kMaxExif = std::size_t{1} << 20;
constexpr int kMaxChunks = 4096;
constexpr std::uint16_t kOrientation = 0x0112;

std::uint32_t number(const std::uint8_t* p, int bytes, bool big) noexcept {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | p[big ? i : bytes - 1 - i];
  return value;
}

std::uint32_t number_at(std::ifstream& in, bool big) {
  std::uint8_t raw[4] = {};
  in.read(reinterpret_cast<char*>(raw), 4);
  return number(raw, 4, big);
}

int from_chunk(std::ifstream& in, std::uint32_t length) {
  std::vector<std::uint8_t> data(std::min<std::size_t>(length, kMaxExif));
  in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
  data.resize(static_cast<std::size_t>(in.gcount()));
  constexpr std::string_view kMark("Exif\0\0", 6);  // some writers keep JPEG's mark
  std::size_t skip = 0;
  if (data.size() >= kMark.size() && std::memcmp(data.data(), kMark.data(), kMark.size()) == 0)
    skip = kMark.size();
  return exif_orientation(data.data() + skip, data.size() - skip);
}

/// Chunks of a length and a name of four letters.
int from_chunks(std::ifstream& in, std::string_view wanted, bool png) {
  for (int i = 0; i < kMaxChunks && in.good(); ++i) {
    std::uint32_t length = 0;
    char name[4] = {};
    if (png) length = number_at(in, true);
    in.read(name, 4);
    if (!png) length = number_at(in, false);
    if (!in.good()) break;
    if (std::string_view(name, 4) == wanted) return from_chunk(in, length);
    in.seekg(std::int64_t{length} + (png ? 4 : length % 2), std::ios::cur);
  }
  return 0;
}

/// The first directory of a TIFF file may lie anywhere in it.
int from_tiff(std::ifstream& in, bool big) {
  in.seekg(4);
  in.seekg(number_at(in, big));
  std::uint8_t raw[2] = {};
  in.read(reinterpret_cast<char*>(raw), 2);
  const auto entries = static_cast<int>(number(raw, 2, big));
  for (int i = 0; i < entries && in.good(); ++i) {
    std::uint8_t entry[12] = {};
    in.read(reinterpret_cast<char*>(entry), 12);
    if (in.good() && number(entry, 2, big) == kOrientation)
      return static_cast<int>(number(entry + 8, 2, big));
  }
  return 0;
}

}  // namespace

int exif_orientation(const std::uint8_t* data, std::size_t size) noexcept {
  if (size < 8) return 0;
  const bool big = data[0] == 'M' && data[1] == 'M';
  if (!big && !(data[0] == 'I' && data[1] == 'I')) return 0;
  const std::size_t at = number(data + 4, 4, big);
  if (at > size || size - at < 2) return 0;
  const std::size_t entries = number(data + at, 2, big);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = at + 2 + 12 * i;
    if (entry + 12 > size) return 0;
    if (number(data + entry, 2, big) != kOrientation) continue;
    const auto value = static_cast<int>(number(data + entry + 8, 2, big));
    return value >= 1 && value <= 8 ? value : 0;
  }
  return 0;
}

std::optional<std::array<std::int32_t, 9>> tagged_display_matrix(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  char magic[12] = {};
  in.read(magic, sizeof(magic));
  if (!in.good()) return std::nullopt;
  const std::string_view head(magic, sizeof(magic));
  int orientation = 0;
  if (head.starts_with("\x89PNG\r\n\x1a\n")) {
    in.seekg(8);
    orientation = from_chunks(in, "eXIf", true);
  } else if (head.starts_with("RIFF") && head.substr(8) == "WEBP") {
    orientation = from_chunks(in, "EXIF", false);
  } else if (head.starts_with("II*") || head.starts_with(std::string_view("MM\0*", 4))) {
    orientation = from_tiff(in, head[0] == 'M');
  }
  // What turns the stored picture upright: (x, y) goes to (a x + c y, b x + d y).
  struct Turn {
    int a, b, c, d;
  };
  constexpr Turn kUpright[9] = {{},
                                {},
                                {-1, 0, 0, 1},
                                {-1, 0, 0, -1},
                                {1, 0, 0, -1},
                                {0, 1, 1, 0},
                                {0, 1, -1, 0},
                                {0, -1, -1, 0},
                                {0, -1, 1, 0}};
  if (orientation < 2 || orientation > 8) return std::nullopt;
  const Turn& t = kUpright[orientation];
  constexpr std::int32_t kOne = 1 << 16;
  return std::array<std::int32_t, 9>{t.a * kOne, t.b * kOne, 0, t.c * kOne, t.d * kOne, 0, 0, 0, 1 << 30};
}

}  // namespace saccade::media
