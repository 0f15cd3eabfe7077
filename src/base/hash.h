// Hashes: SHA-256 for what must be verified, FNV-1a for what must only be told apart, and a checksum that is
// as fast as memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace saccade {

/// FIPS 180-4. `hex()` gives the usual 64 characters.
class Sha256 {
 public:
  void update(std::span<const std::byte> data);
  std::array<std::uint8_t, 32> finish();
  static std::string hex(std::span<const std::byte> data);
  static std::string hex(const std::array<std::uint8_t, 32>& digest);

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::uint8_t, 64> buffer_{};
  std::uint64_t length_ = 0;
};

std::uint64_t fnv1a(std::span<const std::byte> data, std::uint64_t seed = 0xcbf29ce484222325u) noexcept;

/// Tells damaged data from whole ones, many bytes a cycle. Any change within eight adjacent bytes is noticed
/// for certain, any other with all but 2^-64. Not for data that somebody makes on purpose.
std::uint64_t checksum(std::span<const std::byte> data) noexcept;

}  // namespace saccade
