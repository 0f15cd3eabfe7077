// Conversions between f32 and the 16-bit storage types, rounding to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

#include "saccade/tensor.h"

namespace saccade {

inline float to_float(BFloat16 v) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16);
}

inline BFloat16 to_bfloat16(float f) noexcept {
  const auto u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};  // keep NaN a NaN
  return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

float to_float(Half v) noexcept;
Half to_half(float f) noexcept;

}  // namespace saccade
