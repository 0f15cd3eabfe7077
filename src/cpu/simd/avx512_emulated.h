// The 16-lane vocabulary of avx512.h on two AVX2 registers. Only for tests: it runs the 16-lane form of every
// algorithm, packing and tail on machines without AVX-512. Reductions use the tree of avx512.h, so results
// have the same bits.
#pragma once

#include <immintrin.h>

#include "cpu/simd/bf16.h"

namespace saccade::cpu::avx512_emulated {
namespace {

constexpr int kLanes = 16;
constexpr int kRegisters = 32;

struct Vec {
  __m256 lo, hi;
};
struct Mask {
  __m256 lo, hi;
};
struct Int {
  __m256i lo, hi;
};

[[gnu::always_inline]] inline Vec zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
[[gnu::always_inline]] inline Vec broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
[[gnu::always_inline]] inline Vec load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
[[gnu::always_inline]] inline void store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
[[gnu::always_inline]] inline void stream(float* p, Vec a) {
  _mm256_stream_ps(p, a.lo);
  _mm256_stream_ps(p + 8, a.hi);
}
/// Streamed stores are seen by whoever sees a later store.
[[gnu::always_inline]] inline void stream_fence() { _mm_sfence(); }
[[gnu::always_inline]] inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

[[gnu::always_inline]] inline Vec operator+(Vec a, Vec b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec operator-(Vec a, Vec b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec operator*(Vec a, Vec b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec operator/(Vec a, Vec b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec operator-(Vec a) {
  return {_mm256_xor_ps(a.lo, _mm256_set1_ps(-0.0f)), _mm256_xor_ps(a.hi, _mm256_set1_ps(-0.0f))};
}
[[gnu::always_inline]] inline Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
[[gnu::always_inline]] inline Vec fnma(Vec a, Vec b, Vec c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec max(Vec a, Vec b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
[[gnu::always_inline]] inline Vec abs(Vec a) {
  return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.lo), _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.hi)};
}
/// The magnitude of `a` with the sign of `b`.
[[gnu::always_inline]] inline Vec copy_sign(Vec a, Vec b) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(sign, a.lo), _mm256_and_ps(sign, b.lo)),
          _mm256_or_ps(_mm256_andnot_ps(sign, a.hi), _mm256_and_ps(sign, b.hi))};
}

[[gnu::always_inline]] inline Mask less(Vec a, Vec b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
[[gnu::always_inline]] inline Mask less_equal(Vec a, Vec b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
}
[[gnu::always_inline]] inline Mask equal(Vec a, Vec b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
[[gnu::always_inline]] inline Mask is_nan(Vec a) {
  return {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
}
[[gnu::always_inline]] inline Mask operator&(Mask a, Mask b) {
  return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Mask operator|(Mask a, Mask b) {
  return {_mm256_or_ps(a.lo, b.lo), _mm256_or_ps(a.hi, b.hi)};
}
/// One bit a lane, lane 0 lowest.
[[gnu::always_inline]] inline unsigned bits(Mask m) {
  return static_cast<unsigned>(_mm256_movemask_ps(m.lo)) | static_cast<unsigned>(_mm256_movemask_ps(m.hi))
                                                               << 8;
}
[[gnu::always_inline]] inline bool any(Mask m) { return bits(m) != 0; }
[[gnu::always_inline]] inline bool all(Mask m) { return bits(m) == 0xFFFF; }
[[gnu::always_inline]] inline Vec select(Mask m, Vec a, Vec b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}

/// The lanes below n; n may be 0 to kLanes.
[[gnu::always_inline]] inline Mask first(int n) {
  const __m256i count = _mm256_set1_epi32(n);
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)))};
}
/// Lanes outside the mask read as 0 and their memory is not touched.
[[gnu::always_inline]] inline Vec load(const float* p, Mask m) {
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.lo)),
          _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.hi))};
}
[[gnu::always_inline]] inline void store(float* p, Mask m, Vec a) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.lo), a.lo);
  _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.hi), a.hi);
}
[[gnu::always_inline]] inline Vec load_first(const float* p, int n) { return load(p, first(n)); }
[[gnu::always_inline]] inline void store_first(float* p, int n, Vec a) { store(p, first(n), a); }

[[gnu::always_inline]] inline float first_lane(Vec a) { return _mm256_cvtss_f32(a.lo); }
[[gnu::always_inline]] inline float sum(Vec a) {
  const __m256 eight = _mm256_add_ps(a.lo, a.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float max_lane(Vec a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float min_lane(Vec a) {
  const __m256 eight = _mm256_min_ps(a.lo, a.hi);
  const __m128 four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

[[gnu::always_inline]] inline Int broadcast_int(int x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
[[gnu::always_inline]] inline Int load_int(const int* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
[[gnu::always_inline]] inline void store_int(int* p, Int a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.hi);
}
[[gnu::always_inline]] inline Int operator+(Int a, Int b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Int operator&(Int a, Int b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Int operator^(Int a, Int b) {
  return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
template <int kBits>
[[gnu::always_inline]] inline Int shift_left(Int a) {
  return {_mm256_slli_epi32(a.lo, kBits), _mm256_slli_epi32(a.hi, kBits)};
}
[[gnu::always_inline]] inline Int to_int(Vec a) {
  return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
[[gnu::always_inline]] inline Int truncate(Vec a) {
  return {_mm256_cvttps_epi32(a.lo), _mm256_cvttps_epi32(a.hi)};
}
[[gnu::always_inline]] inline Vec to_float(Int a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
[[gnu::always_inline]] inline Vec bits_as_float(Int a) {
  return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
[[gnu::always_inline]] inline Int float_bits(Vec a) {
  return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
/// a·2ⁿ for whole n from -126 to 128.
[[gnu::always_inline]] inline Vec scale_exponent(Vec a, Vec n) {
  // Two steps, since 2^128 is no float.
  const __m256i bias = _mm256_set1_epi32(126);
  const __m256 two = _mm256_set1_ps(2.0f);
  const __m256i lo = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.lo), bias), 23);
  const __m256i hi = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.hi), bias), 23);
  return {_mm256_mul_ps(_mm256_mul_ps(a.lo, _mm256_castsi256_ps(lo)), two),
          _mm256_mul_ps(_mm256_mul_ps(a.hi, _mm256_castsi256_ps(hi)), two)};
}
/// Unbiased exponent of a positive normal number.
[[gnu::always_inline]] inline Int exponent(Vec a) {
  return {_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(a.lo), 23), _mm256_set1_epi32(127)),
          _mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(a.hi), 23), _mm256_set1_epi32(127))};
}
/// Lane index[i] of `a` in lane i; indices from 0 to kLanes - 1.
[[gnu::always_inline]] inline Vec permute(Vec a, Int index) {
  const auto half = [&](__m256i at) {  // bit 3 of an index, moved to the sign, says which half
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a.lo, at), _mm256_permutevar8x32_ps(a.hi, at),
                            _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
  };
  return {half(index.lo), half(index.hi)};
}
/// p[index[i]] per lane.
[[gnu::always_inline]] inline Vec gather(const float* p, Int index) {
  return {_mm256_i32gather_ps(p, index.lo, 4), _mm256_i32gather_ps(p, index.hi, 4)};
}

[[gnu::always_inline]] inline Vec round(Vec a) {
  return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
[[gnu::always_inline]] inline Vec floor(Vec a) {
  return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.hi, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}

[[gnu::always_inline]] inline void transpose(Vec (&r)[kLanes]) {
  float rows[16][16];
  for (int i = 0; i < 16; ++i) store(rows[i], r[i]);
  for (int i = 0; i < 16; ++i) {
    float column[16];
    for (int j = 0; j < 16; ++j) column[j] = rows[j][i];
    r[i] = load(column);
  }
}

/// Transposes the 4 x 4 numbers in lanes 4i to 4i + 3 of four vectors, for each i.
[[gnu::always_inline]] inline void transpose_fours(Vec (&r)[4]) {
  float rows[4][16];
  for (int i = 0; i < 4; ++i) store(rows[i], r[i]);
  for (int i = 0; i < 4; ++i) {
    float column[16];
    for (int j = 0; j < 16; ++j) column[j] = rows[j % 4][j / 4 * 4 + i];
    r[i] = load(column);
  }
}
/// In lanes 4i to 4i + 3 the sum of all such groups of four of a[i], first those two apart.
[[gnu::always_inline]] inline Vec sum_fours(const Vec (&a)[4]) {
  __m256 s[4];
  for (int i = 0; i < 4; ++i) s[i] = _mm256_add_ps(a[i].lo, a[i].hi);
  const auto both = [](__m256 x, __m256 y) {
    return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
  };
  return {both(s[0], s[1]), both(s[2], s[3])};
}

/// Three vectors as kLanes groups of three: a0 b0 c0 a1 b1 c1 and so on.
[[gnu::always_inline]] inline void interleave(Vec (&r)[3]) {
  float apart[3][kLanes], together[3 * kLanes];
  for (int k = 0; k < 3; ++k) store(apart[k], r[k]);
  for (int i = 0; i < 3 * kLanes; ++i) together[i] = apart[i % 3][i / 3];
  for (int k = 0; k < 3; ++k) r[k] = load(together + k * kLanes);
}

/// bfloat16 in memory, floats in lanes. Stores round to nearest, ties to even, and keep NaNs.
[[gnu::always_inline]] inline __m256 widen_eight(__m128i words) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
[[gnu::always_inline]] inline __m128i narrow_eight(__m256 a) {
  const __m256i u = _mm256_castps_si256(a),
                odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
  const __m256i all = _mm256_blendv_epi8(near, quiet, _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)));
  const __m256i words = _mm256_packus_epi32(_mm256_srli_epi32(all, 16), _mm256_setzero_si256());
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(words, 0x08));
}
[[gnu::always_inline]] inline Vec load(const Bf16* p) {
  const auto* half = reinterpret_cast<const __m128i*>(p);
  return {widen_eight(_mm_loadu_si128(half)), widen_eight(_mm_loadu_si128(half + 1))};
}
[[gnu::always_inline]] inline void store(Bf16* p, Vec a) {
  auto* half = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(half, narrow_eight(a.lo));
  _mm_storeu_si128(half + 1, narrow_eight(a.hi));
}
#include "cpu/simd/bf16_first.inl"
/// The lower and the upper bfloat16 of each word.
[[gnu::always_inline]] inline Vec widen_lower(Int words) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(words.lo, 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(words.hi, 16))};
}
[[gnu::always_inline]] inline Vec widen_upper(Int words) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm256_castsi256_ps(_mm256_and_si256(words.lo, upper)),
          _mm256_castsi256_ps(_mm256_and_si256(words.hi, upper))};
}
/// Two vectors, one behind the other.
[[gnu::always_inline]] inline void store_pair(Bf16* p, Vec a, Vec b) {
  store(p, a);
  store(p + kLanes, b);
}
[[gnu::always_inline]] inline void stream_pair(Bf16* p, Vec a, Vec b) { store_pair(p, a, b); }
/// Denormal numbers as zeros of their sign.
[[gnu::always_inline]] inline __m256 flush(__m256 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256 small = _mm256_cmp_ps(_mm256_andnot_ps(sign, a), _mm256_set1_ps(1.17549435e-38f), _CMP_LT_OQ);
  return _mm256_blendv_ps(a, _mm256_and_ps(a, sign), small);
}
[[gnu::always_inline]] inline __m256 add_bf16_pairs(__m256 c, __m256i a, __m256i b) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  const __m256 a1 = flush(_mm256_castsi256_ps(_mm256_and_si256(a, upper)));
  const __m256 b1 = flush(_mm256_castsi256_ps(_mm256_and_si256(b, upper)));
  const __m256 a0 = flush(_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)));
  const __m256 b0 = flush(_mm256_castsi256_ps(_mm256_slli_epi32(b, 16)));
  c = flush(_mm256_fmadd_ps(a1, b1, flush(c)));
  return flush(_mm256_fmadd_ps(a0, b0, c));
}
/// c + the products of the two bfloat16 of each word: the upper ones are added first, each sum rounded;
/// denormal numbers count as zeros.
[[gnu::always_inline]] inline Vec add_bf16_pairs(Vec c, Int a, Int b) {
  return {add_bf16_pairs(c.lo, a.lo, b.lo), add_bf16_pairs(c.hi, a.hi, b.hi)};
}

/// Sums of products of small integers. Words hold two integers of 16 bits or four of 8.
struct Sums {
  __m256i lo, hi;
};
[[gnu::always_inline]] inline Sums load_sums(const int* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
[[gnu::always_inline]] inline Int load_words(const void* p) {
  const auto* half = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(half), _mm256_loadu_si256(half + 1)};
}
[[gnu::always_inline]] inline Int broadcast_word(const void* p) {
  int word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  return {_mm256_set1_epi32(word), _mm256_set1_epi32(word)};
}
/// c + the products of the 16-bit integers of each word, exactly.
[[gnu::always_inline]] inline Sums add_pairs(Sums c, Int a, Int b) {
  return {_mm256_add_epi32(c.lo, _mm256_madd_epi16(a.lo, b.lo)),
          _mm256_add_epi32(c.hi, _mm256_madd_epi16(a.hi, b.hi))};
}
[[gnu::always_inline]] inline __m256i add_quads(__m256i c, __m256i a, __m256i b) {
  const __m256i low = _mm256_set1_epi16(255);
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(a, low), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(c, _mm256_add_epi32(even, odd));
}
/// c + the products of unsigned bytes `a` and signed bytes `b` of each word, exactly.
[[gnu::always_inline]] inline Sums add_quads(Sums c, Int a, Int b) {
  return {add_quads(c.lo, a.lo, b.lo), add_quads(c.hi, a.hi, b.hi)};
}
[[gnu::always_inline]] inline Vec to_float(Sums a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
/// The 16-bit integers of both, in turn: of the lower and of the upper half of every 128 bits.
[[gnu::always_inline]] inline Int interleave_low(Int a, Int b) {
  return {_mm256_unpacklo_epi16(a.lo, b.lo), _mm256_unpacklo_epi16(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Int interleave_high(Int a, Int b) {
  return {_mm256_unpackhi_epi16(a.lo, b.lo), _mm256_unpackhi_epi16(a.hi, b.hi)};
}
/// The lowest byte of every lane.
[[gnu::always_inline]] inline void store_bytes(void* p, Int a) {
  const __m256i pick = _mm256_set1_epi32(0x0C080400), order = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);
  const __m256i lo = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(a.lo, pick), order);
  const __m256i hi = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(a.hi, pick), order);
  auto* to = static_cast<__m128i*>(p);
  _mm_storel_epi64(to, _mm256_castsi256_si128(lo));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(static_cast<char*>(p) + 8), _mm256_castsi256_si128(hi));
}
[[gnu::always_inline]] inline void store_bytes(void* p, __m256i low, __m256i high) {
  const __m256i shorts = _mm256_and_si256(_mm256_packs_epi32(low, high), _mm256_set1_epi16(255));
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(shorts, shorts), 0x08);
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(bytes));
}
/// The lowest byte of every lane of what interleave_low and interleave_high led to, in the first order.
[[gnu::always_inline]] inline void store_bytes(void* p, Int low, Int high) {
  store_bytes(p, low.lo, high.lo);
  store_bytes(static_cast<char*>(p) + 16, low.hi, high.hi);
}
[[gnu::always_inline]] inline Sums no_sums() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
[[gnu::always_inline]] inline void store_sums(int* p, Sums a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.hi);
}
[[gnu::always_inline]] inline Sums operator+(Sums a, Sums b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Sums operator-(Sums a, Sums b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
/// Rounded down.
[[gnu::always_inline]] inline Sums quarter(Sums a) {
  return {_mm256_srai_epi32(a.lo, 2), _mm256_srai_epi32(a.hi, 2)};
}
/// Bytes as integers of 16 bits, two a word.
[[gnu::always_inline]] inline Int load_shorts(const unsigned char* p) {
  const auto* half = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtepu8_epi16(_mm_loadu_si128(half)), _mm256_cvtepu8_epi16(_mm_loadu_si128(half + 1))};
}
[[gnu::always_inline]] inline Int load_shorts(const signed char* p) {
  const auto* half = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(half)), _mm256_cvtepi8_epi16(_mm_loadu_si128(half + 1))};
}
[[gnu::always_inline]] inline void store_words(void* p, Int a) {
  auto* half = static_cast<__m256i*>(p);
  _mm256_storeu_si256(half, a.lo);
  _mm256_storeu_si256(half + 1, a.hi);
}
[[gnu::always_inline]] inline Int broadcast_short(short x) {
  return {_mm256_set1_epi16(x), _mm256_set1_epi16(x)};
}
[[gnu::always_inline]] inline Int add_shorts(Int a, Int b) {
  return {_mm256_add_epi16(a.lo, b.lo), _mm256_add_epi16(a.hi, b.hi)};
}
[[gnu::always_inline]] inline Int subtract_shorts(Int a, Int b) {
  return {_mm256_sub_epi16(a.lo, b.lo), _mm256_sub_epi16(a.hi, b.hi)};
}
[[gnu::always_inline]] inline void store_saturated_halves(void* p, __m256i a, __m256i b, __m256i c, __m256i d,
                                                          __m256i zero) {
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero);
  const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
}
/// The lanes of four vectors as bytes, one after the other: `zero`, integers of 16 bits, is added, and what
/// does not fit becomes 0 or 255.
[[gnu::always_inline]] inline void store_saturated(void* p, Int a, Int b, Int c, Int d, Int zero) {
  store_saturated_halves(p, a.lo, a.hi, b.lo, b.hi, zero.lo);
  store_saturated_halves(static_cast<char*>(p) + 32, c.lo, c.hi, d.lo, d.hi, zero.lo);
}
/// Unsigned bytes, one a lane.
[[gnu::always_inline]] inline Int load_byte_lanes(const unsigned char* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
/// What becomes of each of 256 bytes; kTableBytes are looked up at a time.
constexpr int kTableBytes = 64;
struct ByteTable {
  const unsigned char* bytes;
};
[[gnu::always_inline]] inline ByteTable load_table(const unsigned char* p) { return {p}; }
[[gnu::always_inline]] inline void look_up(const ByteTable& t, const unsigned char* from, unsigned char* to) {
  unsigned char bytes[kTableBytes];
  __builtin_memcpy(bytes, from, sizeof bytes);
#pragma GCC unroll 64
  for (unsigned char& byte : bytes) byte = t.bytes[byte];
  __builtin_memcpy(to, bytes, sizeof bytes);
}

#include "cpu/simd/math.inl"

}  // namespace
}  // namespace saccade::cpu::avx512_emulated
