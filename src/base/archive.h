// Numbers, texts and lists as bytes: what files that Saccade writes for itself are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace saccade {

template <class T>
concept ArchiveNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends, in this machine's byte order.
class ArchiveWriter {
 public:
  template <ArchiveNumber T>
  void number(T value) {
    append(&value, sizeof(value));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    append(value.data(), value.size());
  }
  template <ArchiveNumber T>
  void numbers(std::span<const T> values) {
    number(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size_bytes());
  }
  template <ArchiveNumber T>
  void numbers(const std::vector<T>& values) {
    numbers(std::span<const T>(values));
  }
  void raw(std::span<const std::byte> bytes) { append(bytes.data(), bytes.size()); }

  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    if (size == 0) return;
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::byte> bytes_;
};

/// Reads what an ArchiveWriter wrote. The bytes may be anything: what does not fit them is an Error(io), and
/// nothing is allocated that they could not fill.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <ArchiveNumber T>
    requires(!std::is_same_v<T, bool>)
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  bool flag() { return number<std::uint8_t>() != 0; }
  /// An enumeration of the values 0 to `last`.
  template <class T>
    requires std::is_unsigned_v<std::underlying_type_t<T>>
  T choice(T last) {
    const auto value = number<std::underlying_type_t<T>>();
    if (value > static_cast<std::underlying_type_t<T>>(last)) fail();
    return static_cast<T>(value);
  }
  std::string text() {
    const std::span<const std::byte> part = take(count(1));
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  template <ArchiveNumber T>
  std::vector<T> numbers() {
    const std::size_t length = count(sizeof(T));
    const std::span<const std::byte> part = take(length * sizeof(T));
    std::vector<T> values(length);
    if (length > 0) std::memcpy(values.data(), part.data(), part.size());
    return values;
  }
  /// The length of a list whose elements take at least `element` bytes each.
  std::size_t count(std::size_t element) {
    const auto value = number<std::uint64_t>();
    if (value > rest_.size() / element) fail();
    return static_cast<std::size_t>(value);
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) fail();
    const std::span<const std::byte> part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  std::size_t left() const noexcept { return rest_.size(); }
  /// Throws Error(io): what was read cannot be.
  [[noreturn]] static void fail();

 private:
  std::span<const std::byte> rest_;
};

}  // namespace saccade
