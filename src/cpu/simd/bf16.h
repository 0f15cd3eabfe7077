// bfloat16 as kernels store it. Plain: kernel units include this.
#pragma once

namespace saccade::cpu {

/// The upper half of a float. A type of its own, so that `load` and `store` tell it from integers.
struct Bf16 {
  unsigned short bits;
};

[[gnu::always_inline]] constexpr float widen(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<unsigned>(x.bits) << 16);
}
[[gnu::always_inline]] constexpr float widen(float x) { return x; }
/// To nearest, ties to even; a NaN stays one.
[[gnu::always_inline]] constexpr Bf16 to_bf16(float x) {
  const unsigned u = __builtin_bit_cast(unsigned, x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<unsigned short>((u >> 16) | 0x40u)};
  return {static_cast<unsigned short>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

}  // namespace saccade::cpu
