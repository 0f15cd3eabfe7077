// As avx512_rows.h, beside avx512_emulated.h.
#pragma once

#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {

/// kLanes of each.
[[gnu::always_inline]] inline Int load_row_words(const Bf16* a, const Bf16* b) {
  const auto eight = [](const Bf16* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  };
  return {_mm256_or_si256(eight(a), _mm256_slli_epi32(eight(b), 16)),
          _mm256_or_si256(eight(a + 8), _mm256_slli_epi32(eight(b + 8), 16))};
}
/// The first `na` and the first `nb`, the others zero. A call: tiles would be long otherwise.
[[gnu::noinline]] inline Int load_row_words(const Bf16* a, int na, const Bf16* b, int nb) {
  Bf16 lower[kLanes] = {}, upper[kLanes] = {};
  for (int i = 0; i < na; ++i) lower[i] = a[i];
  for (int i = 0; i < nb; ++i) upper[i] = b[i];
  return load_row_words(lower, upper);
}
/// The upper ones are zero.
[[gnu::always_inline]] inline Int load_row_words(const Bf16* a) { return load_row_words(a, kLanes, a, 0); }

struct RowHalves {
  __m256i a[2], b[2];
};
/// All of a row or zeros.
[[gnu::always_inline]] inline RowHalves load_row_halves(const Bf16* a, bool has_a, const Bf16* b,
                                                        bool has_b) {
  const auto part = [](const Bf16* p, bool has) {
    return has ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)) : _mm256_setzero_si256();
  };
  return {{part(a, has_a), part(a + 16, has_a)}, {part(b, has_b), part(b + 16, has_b)}};
}
[[gnu::always_inline]] inline RowHalves load_row_halves(const Bf16* a, const Bf16* b) {
  return load_row_halves(a, true, b, true);
}
template <int kHalf>
[[gnu::always_inline]] inline Int half_words(RowHalves rows) {
  if constexpr (kHalf == 0)
    return {_mm256_unpacklo_epi16(rows.a[0], rows.b[0]), _mm256_unpacklo_epi16(rows.a[1], rows.b[1])};
  return {_mm256_unpackhi_epi16(rows.a[0], rows.b[0]), _mm256_unpackhi_epi16(rows.a[1], rows.b[1])};
}
/// Numbers of that order back in theirs, as bfloat16: those of half 0 are that already.
[[gnu::always_inline]] inline void store_halves(Bf16* p, const Bf16* half0, Vec half1) {
  auto* const to = reinterpret_cast<__m128i*>(p);
  const auto* const lower = reinterpret_cast<const __m128i*>(half0);
  const __m128i upper[2] = {narrow_eight(half1.lo), narrow_eight(half1.hi)};
  for (int i = 0; i < 2; ++i) {
    const __m128i eight = _mm_loadu_si128(lower + i);
    _mm_storeu_si128(to + 2 * i, _mm_unpacklo_epi64(eight, upper[i]));
    _mm_storeu_si128(to + 2 * i + 1, _mm_unpackhi_epi64(eight, upper[i]));
  }
}
[[gnu::always_inline]] inline void store_halves(Bf16* p, Vec half0, Vec half1) {
  Bf16 lower[kLanes];
  store(lower, half0);
  store_halves(p, lower, half1);
}

}  // namespace
}  // namespace saccade::cpu::avx512_emulated
