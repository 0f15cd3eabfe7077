#include "base/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/sha256_blocks.h"

namespace saccade {

namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

}  // namespace

void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* p, std::size_t count) noexcept {
  for (; count > 0; --count, p += 64) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i)
      w[i] = static_cast<std::uint32_t>(p[4 * i]) << 24 | static_cast<std::uint32_t>(p[4 * i + 1]) << 16 |
             static_cast<std::uint32_t>(p[4 * i + 2]) << 8 | static_cast<std::uint32_t>(p[4 * i + 3]);
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
                  g = state[6], h = state[7];
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> add = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += add[i];
  }
}

Sha256Blocks sha256_blocks() noexcept {
  static const Sha256Blocks kNative = sha256_blocks_native();
  return kNative != nullptr ? kNative : sha256_blocks_portable;
}

void Sha256::update(std::span<const std::byte> data) {
  const Sha256Blocks blocks = sha256_blocks();
  const auto* p = reinterpret_cast<const std::uint8_t*>(data.data());
  std::size_t left = data.size();
  const std::size_t held = length_ % buffer_.size();
  length_ += left;
  if (held > 0) {
    const std::size_t taken = std::min(left, buffer_.size() - held);
    std::copy_n(p, taken, buffer_.begin() + static_cast<std::ptrdiff_t>(held));
    p += taken, left -= taken;
    if (held + taken < buffer_.size()) return;
    blocks(state_.data(), buffer_.data(), 1);
  }
  const std::size_t whole = left / buffer_.size();
  if (whole > 0) blocks(state_.data(), p, whole);
  p += whole * buffer_.size(), left -= whole * buffer_.size();
  std::copy_n(p, left, buffer_.begin());
}

std::array<std::uint8_t, 32> Sha256::finish() {
  const std::uint64_t bits = length_ * 8;
  constexpr std::array<std::byte, 1> kOne = {std::byte{0x80}};
  constexpr std::array<std::byte, 1> kZero = {std::byte{0}};
  update(kOne);
  while (length_ % 64 != 56) update(kZero);
  for (int i = 7; i >= 0; --i) {
    const std::array<std::byte, 1> next = {static_cast<std::byte>(bits >> (8 * i))};
    update(next);
  }
  std::array<std::uint8_t, 32> digest;
  for (std::size_t i = 0; i < 32; ++i)
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string Sha256::hex(std::span<const std::byte> data) {
  Sha256 hash;
  hash.update(data);
  return hex(hash.finish());
}

std::string Sha256::hex(const std::array<std::uint8_t, 32>& digest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t value : digest) {
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::uint64_t fnv1a(std::span<const std::byte> data, std::uint64_t seed) noexcept {
  for (const std::byte value : data) seed = (seed ^ static_cast<std::uint64_t>(value)) * 0x100000001b3u;
  return seed;
}

std::uint64_t checksum(std::span<const std::byte> data) noexcept {
  // Eight sums side by side hide the latency of multiplication. Each step is one-to-one in the sum and in the
  // word, so a changed word changes its sum whatever follows; joining them is one-to-one in each as well.
  constexpr std::uint64_t kFactor = 0x9fb21c651e98df25u, kOdd = 0xd6e8feb86659fd93u;
  constexpr std::size_t kLanes = 8, kBlock = kLanes * sizeof(std::uint64_t);
  std::array<std::uint64_t, kLanes> sums;
  for (std::size_t i = 0; i < kLanes; ++i) sums[i] = (i + 1) * kOdd;
  const auto step = [](std::uint64_t sum, std::uint64_t word) {
    return std::rotl((sum ^ word) * kFactor, 29);
  };
  const std::byte* p = data.data();
  std::size_t left = data.size();
  for (; left >= kBlock; left -= kBlock, p += kBlock) {
    std::array<std::uint64_t, kLanes> words;
    std::memcpy(words.data(), p, kBlock);
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] = step(sums[i], words[i]);
  }
  std::uint64_t result = data.size() * kOdd;
  for (const std::uint64_t sum : sums) result = step(result, sum ^ (sum >> 32));
  while (left > 0) {
    const std::size_t taken = std::min(left, sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, p, taken);
    result = step(result, word);
    p += taken, left -= taken;
  }
  result ^= result >> 32;
  return result * kOdd;
}

}  // namespace saccade
