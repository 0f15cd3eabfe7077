// Words of bfloat16 from two rows, beside avx512.h: the lower ones are those at `a`, the upper ones those at
// `b`.
#pragma once

#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {

/// kLanes of each.
[[gnu::always_inline]] inline Int row_words(__m256i a, __m256i b) {
  const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7,
                                         38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  return {_mm512_permutex2var_epi16(_mm512_castsi256_si512(a), order, _mm512_castsi256_si512(b))};
}
[[gnu::always_inline]] inline Int load_row_words(const Bf16* a, const Bf16* b) {
  return row_words(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
}
/// The first `na` and the first `nb`, the others zero.
[[gnu::always_inline]] inline Int load_row_words(const Bf16* a, int na, const Bf16* b, int nb) {
  return row_words(_mm256_maskz_loadu_epi16(first(na).v, a), _mm256_maskz_loadu_epi16(first(nb).v, b));
}
/// The upper ones are zero.
[[gnu::always_inline]] inline Int load_row_words(const Bf16* a) {
  return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)))};
}

/// 2 kLanes of each, in an order that one instruction makes: of every eight the first four are in the words
/// of half 0, the others in those of half 1.
struct RowHalves {
  __m512i a, b;
};
[[gnu::always_inline]] inline RowHalves load_row_halves(const Bf16* a, const Bf16* b) {
  return {_mm512_loadu_si512(a), _mm512_loadu_si512(b)};
}
/// All of a row or zeros.
[[gnu::always_inline]] inline RowHalves load_row_halves(const Bf16* a, bool has_a, const Bf16* b,
                                                        bool has_b) {
  const auto all = [](bool has) { return static_cast<__mmask16>(has ? 0xffff : 0); };
  return {_mm512_maskz_loadu_epi32(all(has_a), a), _mm512_maskz_loadu_epi32(all(has_b), b)};
}
template <int kHalf>
[[gnu::always_inline]] inline Int half_words(RowHalves rows) {
  return {kHalf == 0 ? _mm512_unpacklo_epi16(rows.a, rows.b) : _mm512_unpackhi_epi16(rows.a, rows.b)};
}
/// Numbers of that order back in theirs, as bfloat16: those of half 0 are that already.
[[gnu::always_inline]] inline void store_halves(Bf16* p, const Bf16* half0, Vec half1) {
  const __m512i lower = _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(half0)));
  const __m512i order = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  _mm512_storeu_si512(p,
                      _mm512_permutex2var_epi64(lower, order, _mm512_castsi256_si512(narrow_lanes(half1))));
}
[[gnu::always_inline]] inline void store_halves(Bf16* p, Vec half0, Vec half1) {
#ifdef __AVX512BF16__
  const auto words = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(half1.v, half0.v));
  _mm512_storeu_si512(p, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), words));
#else
  alignas(32) Bf16 lower[kLanes];
  store(lower, half0);
  store_halves(p, lower, half1);
#endif
}

}  // namespace
}  // namespace saccade::cpu::avx512
