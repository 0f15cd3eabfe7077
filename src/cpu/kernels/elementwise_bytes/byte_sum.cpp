// Nearly every pair's quotient is so far from the middle between two integers that no way to compute it can
// round it the other way. The few others are tried one by one, for some steps that differ in their last bits.
#include "cpu/kernels/elementwise_bytes/byte_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace saccade::cpu {

namespace {

constexpr int kBytes = 256;

struct Pair {
  float a, b;
};

/// What the chain itself computes, before its zero point is added.
float quantised(const ByteChain& c, const Pair& p) {
  const float a = (p.a - c.a.zero) * c.a.scale, b = (p.b - c.b.zero) * c.b.scale;
  const float sum = std::min(c.most, std::max(c.least, a + b));
  return std::min(c.high, std::max(c.low, std::nearbyint(sum / c.divisor)));
}

float fma_of(bool fused, float a, float b, float c) { return fused ? std::fma(a, b, c) : a * b + c; }

float computed(const ByteSum& s, bool fused, const Pair& p) {
  const float sum = fma_of(fused, p.a, s.a_step, fma_of(fused, p.b, s.b_step, s.start));
  return std::nearbyint(std::min(s.high, std::max(s.low, sum)));
}

/// The quotients of each byte of an operand.
std::array<double, kBytes> quotients(const ByteChainOperand& x, float divisor) {
  std::array<double, kBytes> all{};
  for (int i = 0; i < kBytes; ++i)
    all[static_cast<std::size_t>(i)] =
        (i - static_cast<double>(x.zero)) * static_cast<double>(x.scale) / static_cast<double>(divisor);
  return all;
}

/// The pairs whose quotient is within `margin` of the middle between two integers.
std::vector<Pair> close_pairs(const std::array<double, kBytes>& a, const std::array<double, kBytes>& b,
                              double margin) {
  constexpr double kWhole = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  std::vector<Pair> pairs;
  for (int i = 0; i < kBytes; ++i)
    for (int k = 0; k < kBytes; ++k) {
      const double sum = a[static_cast<std::size_t>(i)] + b[static_cast<std::size_t>(k)];
      const double whole = (sum + kWhole) - kWhole;
      if (std::abs(sum - whole) >= 0.5 - margin)
        pairs.push_back({static_cast<float>(i), static_cast<float>(k)});
    }
  return pairs;
}

double largest(const std::array<double, kBytes>& values) {
  return std::max(std::abs(values.front()), std::abs(values.back()));
}

}  // namespace

std::optional<ByteSum> find_byte_sum(const ByteChain& c, bool fused) {
  if (c.join != ByteChain::Join::add || !c.quantised) return std::nullopt;
  const std::array<double, kBytes> a = quotients(c.a, c.divisor), b = quotients(c.b, c.divisor);
  // Both ways round a dozen times at most, by 2^-24 of no more than this each.
  const double a_step = static_cast<double>(c.a.scale) / static_cast<double>(c.divisor);
  const double b_step = static_cast<double>(c.b.scale) / static_cast<double>(c.divisor);
  const double size = largest(a) + largest(b) + kBytes * (std::abs(a_step) + std::abs(b_step));
  const double margin = size * 0x1p-19;
  if (margin > 0.01) return std::nullopt;
  const std::vector<Pair> pairs = close_pairs(a, b, margin);
  std::vector<float> wanted;
  for (const Pair& pair : pairs) wanted.push_back(quantised(c, pair));
  const double start = -(static_cast<double>(c.a.zero) * a_step + static_cast<double>(c.b.zero) * b_step);
  ByteSum sum{static_cast<float>(a_step), static_cast<float>(b_step), 0, c.low, c.high};
  // Bounds before the division become bounds of the quotient: of whole numbers only where nothing is lost.
  sum.low = std::max(sum.low, std::nearbyint(c.least / c.divisor));
  sum.high = std::min(sum.high, std::nearbyint(c.most / c.divisor));
  const auto gives_all = [&] {
    for (std::size_t k = 0; k < pairs.size(); ++k)
      if (computed(sum, fused, pairs[k]) != wanted[k]) return false;
    return true;
  };
  // Steps as they are, then one bit up or down; a start that moves away from its own value.
  constexpr int kStarts = 64, kSteps = 3;
  const float above = std::numeric_limits<float>::infinity();
  const auto moved = [&](float x, int i) { return i == 0 ? x : std::nextafter(x, i == 1 ? above : -above); };
  const ByteSum plain = sum;
  for (int i = 0; i < kSteps * kSteps * kStarts; ++i) {
    const int start_number = i % kStarts, a_number = i / kStarts % kSteps, b_number = i / kStarts / kSteps;
    const int away = (start_number + 1) / 2 * (start_number % 2 == 0 ? 1 : -1);
    sum.a_step = moved(plain.a_step, a_number);
    sum.b_step = moved(plain.b_step, b_number);
    sum.start = static_cast<float>(start + away * size * 0x1p-27);
    if (gives_all()) return sum;
  }
  return std::nullopt;
}

}  // namespace saccade::cpu
