#include "import/tflite/associated_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "saccade/error.h"

namespace saccade::import {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostBytes = 1 << 20;  // of a file
constexpr std::uint16_t kStored = 0, kDeflated = 8;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCode::invalid_model, "the archive of associated files " + message);
}

/// Fields of a record at a fixed distance from its start, little-endian.
template <class T>
T field(Bytes record, std::size_t at) {
  if (at + sizeof(T) > record.size()) fail("is cut short");
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(record[at + i]) << (8 * i)));
  return value;
}

bool starts_with(Bytes record, const char (&signature)[5]) {
  return record.size() >= 4 && std::memcmp(record.data(), signature, 4) == 0;
}

Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) fail("points outside the file");
  return bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

/// Position of the record that ends an archive; it may be followed by a comment.
std::optional<std::size_t> end_record(Bytes bytes) {
  constexpr std::size_t kSize = 22, kLongestComment = 65535;
  if (bytes.size() < kSize) return std::nullopt;
  const std::size_t last = bytes.size() - kSize;
  const std::size_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::size_t at = last + 1; at-- > first;)
    if (starts_with(bytes.subspan(at), "PK\x05\x06")) return at;
  return std::nullopt;
}

std::string inflated(Bytes packed, std::size_t size) {
  std::string text(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail("cannot be unpacked");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool complete = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!complete) fail("is damaged");
  return text;
}

}  // namespace

std::optional<std::string> associated_file(Bytes bytes, std::string_view name) {
  const std::optional<std::size_t> end = end_record(bytes);
  if (!end) return std::nullopt;
  const Bytes record = bytes.subspan(*end);
  const auto count = field<std::uint16_t>(record, 10);
  const std::uint64_t size = field<std::uint32_t>(record, 12), offset = field<std::uint32_t>(record, 16);
  if (size + offset > *end) fail("points outside the file");
  // Offsets count from the start of the file, or from the archive's own start.
  const std::uint64_t start = *end - size - offset;
  Bytes directory = part(bytes, start + offset, size);
  for (std::uint16_t i = 0; i < count; ++i) {
    constexpr std::size_t kEntry = 46, kLocal = 30;
    if (!starts_with(directory, "PK\x01\x02")) fail("has a damaged directory");
    const std::uint64_t name_size = field<std::uint16_t>(directory, 28),
                        rest = std::uint64_t{field<std::uint16_t>(directory, 30)} +
                               field<std::uint16_t>(directory, 32);
    const Bytes entry_name = part(directory, kEntry, name_size);
    if (std::string_view(reinterpret_cast<const char*>(entry_name.data()), entry_name.size()) == name) {
      const auto method = field<std::uint16_t>(directory, 10);
      const std::uint64_t packed_size = field<std::uint32_t>(directory, 20),
                          whole_size = field<std::uint32_t>(directory, 24),
                          at = start + field<std::uint32_t>(directory, 42);
      if (whole_size > kMostBytes || packed_size > kMostBytes)
        throw Error(ErrorCode::limit, fmt::format("associated file '{}' has {} bytes, at most {} are allowed",
                                                  name, whole_size, kMostBytes));
      const Bytes local = part(bytes, at, kLocal);
      if (!starts_with(local, "PK\x03\x04")) fail("has a damaged entry");
      const std::uint64_t skipped =
          kLocal + std::uint64_t{field<std::uint16_t>(local, 26)} + field<std::uint16_t>(local, 28);
      const Bytes content = part(bytes, at + skipped, packed_size);
      if (method == kDeflated) return inflated(content, static_cast<std::size_t>(whole_size));
      if (method != kStored) fail(fmt::format("packs '{}' by method {}, which is not known", name, method));
      return std::string(reinterpret_cast<const char*>(content.data()), content.size());
    }
    directory = part(directory, kEntry + name_size + rest, directory.size() - kEntry - name_size - rest);
  }
  return std::nullopt;
}

}  // namespace saccade::import
