// The vector vocabulary on AVX2 and FMA: 8 lanes. See README.md.
#pragma once

#include <immintrin.h>

#include "cpu/simd/bf16.h"

namespace saccade::cpu::avx2 {
namespace {

constexpr int kLanes = 8;
constexpr int kRegisters = 16;

struct Vec {
  __m256 v;
};
struct Mask {
  __m256 v;
};
struct Int {
  __m256i v;
};

[[gnu::always_inline]] inline Vec zero() { return {_mm256_setzero_ps()}; }
[[gnu::always_inline]] inline Vec broadcast(float x) { return {_mm256_set1_ps(x)}; }
[[gnu::always_inline]] inline Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
[[gnu::always_inline]] inline void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }
[[gnu::always_inline]] inline void stream(float* p, Vec a) { _mm256_stream_ps(p, a.v); }
/// Streamed stores are seen by whoever sees a later store.
[[gnu::always_inline]] inline void stream_fence() { _mm_sfence(); }
[[gnu::always_inline]] inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

[[gnu::always_inline]] inline Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
[[gnu::always_inline]] inline Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
[[gnu::always_inline]] inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.v)}; }
[[gnu::always_inline]] inline Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
/// The magnitude of `a` with the sign of `b`.
[[gnu::always_inline]] inline Vec copy_sign(Vec a, Vec b) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(sign, a.v), _mm256_and_ps(sign, b.v))};
}

[[gnu::always_inline]] inline Mask less(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
[[gnu::always_inline]] inline Mask less_equal(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
[[gnu::always_inline]] inline Mask equal(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
[[gnu::always_inline]] inline Mask is_nan(Vec a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
[[gnu::always_inline]] inline Mask operator&(Mask a, Mask b) { return {_mm256_and_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline bool any(Mask m) { return _mm256_movemask_ps(m.v) != 0; }
[[gnu::always_inline]] inline bool all(Mask m) { return _mm256_movemask_ps(m.v) == 255; }
/// One bit a lane, lane 0 lowest.
[[gnu::always_inline]] inline unsigned bits(Mask m) { return static_cast<unsigned>(_mm256_movemask_ps(m.v)); }
[[gnu::always_inline]] inline Vec select(Mask m, Vec a, Vec b) { return {_mm256_blendv_ps(b.v, a.v, m.v)}; }

/// The lanes below n; n may be 0 to kLanes.
[[gnu::always_inline]] inline Mask first(int n) {
  return {_mm256_castsi256_ps(
      _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)))};
}
/// Lanes outside the mask read as 0 and their memory is not touched.
[[gnu::always_inline]] inline Vec load(const float* p, Mask m) {
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.v))};
}
[[gnu::always_inline]] inline void store(float* p, Mask m, Vec a) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.v), a.v);
}
[[gnu::always_inline]] inline Vec load_first(const float* p, int n) { return load(p, first(n)); }
[[gnu::always_inline]] inline void store_first(float* p, int n, Vec a) { store(p, first(n), a); }

[[gnu::always_inline]] inline float first_lane(Vec a) { return _mm256_cvtss_f32(a.v); }
[[gnu::always_inline]] inline float sum(Vec a) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float max_lane(Vec a) {
  const __m128 half = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float min_lane(Vec a) {
  const __m128 half = _mm_min_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_min_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

[[gnu::always_inline]] inline Int broadcast_int(int x) { return {_mm256_set1_epi32(x)}; }
[[gnu::always_inline]] inline Int load_int(const int* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
[[gnu::always_inline]] inline void store_int(int* p, Int a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
[[gnu::always_inline]] inline Int operator+(Int a, Int b) { return {_mm256_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator&(Int a, Int b) { return {_mm256_and_si256(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator^(Int a, Int b) { return {_mm256_xor_si256(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] inline Int shift_left(Int a) {
  return {_mm256_slli_epi32(a.v, kBits)};
}
[[gnu::always_inline]] inline Int to_int(Vec a) { return {_mm256_cvtps_epi32(a.v)}; }
[[gnu::always_inline]] inline Int truncate(Vec a) { return {_mm256_cvttps_epi32(a.v)}; }
[[gnu::always_inline]] inline Vec to_float(Int a) { return {_mm256_cvtepi32_ps(a.v)}; }
[[gnu::always_inline]] inline Vec bits_as_float(Int a) { return {_mm256_castsi256_ps(a.v)}; }
[[gnu::always_inline]] inline Int float_bits(Vec a) { return {_mm256_castps_si256(a.v)}; }
/// a·2ⁿ for whole n from -126 to 128.
[[gnu::always_inline]] inline Vec scale_exponent(Vec a, Vec n) {
  // Two steps, since 2^128 is no float.
  const __m256i half =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(126)), 23);
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, _mm256_castsi256_ps(half)), _mm256_set1_ps(2.0f))};
}
/// Unbiased exponent of a positive normal number.
[[gnu::always_inline]] inline Int exponent(Vec a) {
  return {_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(a.v), 23), _mm256_set1_epi32(127))};
}
/// Lane index[i] of `a` in lane i; indices from 0 to kLanes - 1.
[[gnu::always_inline]] inline Vec permute(Vec a, Int index) {
  return {_mm256_permutevar8x32_ps(a.v, index.v)};
}
/// p[index[i]] per lane.
[[gnu::always_inline]] inline Vec gather(const float* p, Int index) {
  return {_mm256_i32gather_ps(p, index.v, 4)};
}

[[gnu::always_inline]] inline Vec round(Vec a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
[[gnu::always_inline]] inline Vec floor(Vec a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}

[[gnu::always_inline]] inline void transpose(Vec (&r)[kLanes]) {
  __m256 a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_ps(r[2 * i].v, r[2 * i + 1].v);
    a[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i].v, r[2 * i + 1].v);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xEE);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i].v = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    r[i + 4].v = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

/// Transposes the 4 x 4 numbers in lanes 4i to 4i + 3 of four vectors, for each i.
[[gnu::always_inline]] inline void transpose_fours(Vec (&r)[4]) {
  const __m256 a = _mm256_unpacklo_ps(r[0].v, r[1].v), b = _mm256_unpackhi_ps(r[0].v, r[1].v);
  const __m256 c = _mm256_unpacklo_ps(r[2].v, r[3].v), d = _mm256_unpackhi_ps(r[2].v, r[3].v);
  r[0].v = _mm256_shuffle_ps(a, c, 0x44);
  r[1].v = _mm256_shuffle_ps(a, c, 0xEE);
  r[2].v = _mm256_shuffle_ps(b, d, 0x44);
  r[3].v = _mm256_shuffle_ps(b, d, 0xEE);
}
/// In lanes 4i to 4i + 3 the sum of all such groups of four of a[i].
[[gnu::always_inline]] inline Vec sum_fours(const Vec (&a)[2]) {
  return {_mm256_add_ps(_mm256_blend_ps(a[0].v, a[1].v, 0xF0), _mm256_permute2f128_ps(a[0].v, a[1].v, 0x21))};
}

/// Three vectors as kLanes groups of three: a0 b0 c0 a1 b1 c1 and so on.
[[gnu::always_inline]] inline void interleave(Vec (&r)[3]) {
  // Each vector's elements move to where one of the three results has them; results are blended together.
  const __m256 a = _mm256_permutevar8x32_ps(r[0].v, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
  const __m256 b = _mm256_permutevar8x32_ps(r[1].v, _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
  const __m256 c = _mm256_permutevar8x32_ps(r[2].v, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
  constexpr int kSecond = 0b10010010, kThird = 0b00100100;  // lanes 1 4 7 and 2 5
  r[0].v = _mm256_blend_ps(_mm256_blend_ps(a, b, kSecond), c, kThird);
  r[1].v = _mm256_blend_ps(_mm256_blend_ps(c, a, kSecond), b, kThird);
  r[2].v = _mm256_blend_ps(_mm256_blend_ps(b, c, kSecond), a, kThird);
}

/// bfloat16 in memory, floats in lanes. Stores round to nearest, ties to even, and keep NaNs.
[[gnu::always_inline]] inline Vec load(const Bf16* p) {
  const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(words, 16))};
}
[[gnu::always_inline]] inline void store(Bf16* p, Vec a) {
  const __m256i u = _mm256_castps_si256(a.v),
                odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
  const __m256i all =
      _mm256_blendv_epi8(near, quiet, _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)));
  const __m256i words = _mm256_packus_epi32(_mm256_srli_epi32(all, 16), _mm256_setzero_si256());
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_castsi256_si128(_mm256_permute4x64_epi64(words, 0x08)));
}
#include "cpu/simd/bf16_first.inl"

/// Sums of products of small integers. Words hold two integers of 16 bits or four of 8.
struct Sums {
  __m256i v;
};
[[gnu::always_inline]] inline Sums load_sums(const int* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
[[gnu::always_inline]] inline Int load_words(const void* p) {
  return {_mm256_loadu_si256(static_cast<const __m256i*>(p))};
}
[[gnu::always_inline]] inline Int broadcast_word(const void* p) {
  int word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  return {_mm256_set1_epi32(word)};
}
/// c + the products of the 16-bit integers of each word, exactly.
[[gnu::always_inline]] inline Sums add_pairs(Sums c, Int a, Int b) {
  return {_mm256_add_epi32(c.v, _mm256_madd_epi16(a.v, b.v))};
}
[[gnu::always_inline]] inline Vec to_float(Sums a) { return {_mm256_cvtepi32_ps(a.v)}; }
/// The 16-bit integers of both, in turn: of the lower and of the upper half of every 128 bits.
[[gnu::always_inline]] inline Int interleave_low(Int a, Int b) { return {_mm256_unpacklo_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int interleave_high(Int a, Int b) { return {_mm256_unpackhi_epi16(a.v, b.v)}; }
/// The lowest byte of every lane.
[[gnu::always_inline]] inline void store_bytes(void* p, Int a) {
  const __m256i four = _mm256_shuffle_epi8(a.v, _mm256_set1_epi32(0x0C080400));
  const __m256i eight = _mm256_permutevar8x32_epi32(four, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm256_castsi256_si128(eight));
}
/// The lowest byte of every lane of what interleave_low and interleave_high led to, in the first order.
[[gnu::always_inline]] inline void store_bytes(void* p, Int low, Int high) {
  const __m256i shorts = _mm256_and_si256(_mm256_packs_epi32(low.v, high.v), _mm256_set1_epi16(255));
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(shorts, shorts), 0x08);
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(bytes));
}
[[gnu::always_inline]] inline Sums no_sums() { return {_mm256_setzero_si256()}; }
[[gnu::always_inline]] inline void store_sums(int* p, Sums a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
[[gnu::always_inline]] inline Sums operator+(Sums a, Sums b) { return {_mm256_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] inline Sums operator-(Sums a, Sums b) { return {_mm256_sub_epi32(a.v, b.v)}; }
/// Rounded down.
[[gnu::always_inline]] inline Sums quarter(Sums a) { return {_mm256_srai_epi32(a.v, 2)}; }
/// Bytes as integers of 16 bits, two a word.
[[gnu::always_inline]] inline Int load_shorts(const unsigned char* p) {
  return {_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
[[gnu::always_inline]] inline Int load_shorts(const signed char* p) {
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
[[gnu::always_inline]] inline void store_words(void* p, Int a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), a.v);
}
[[gnu::always_inline]] inline Int broadcast_short(short x) { return {_mm256_set1_epi16(x)}; }
[[gnu::always_inline]] inline Int add_shorts(Int a, Int b) { return {_mm256_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int subtract_shorts(Int a, Int b) { return {_mm256_sub_epi16(a.v, b.v)}; }
/// The lanes of four vectors as bytes, one after the other: `zero`, integers of 16 bits, is added, and what
/// does not fit becomes 0 or 255.
[[gnu::always_inline]] inline void store_saturated(void* p, Int a, Int b, Int c, Int d, Int zero) {
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(a.v, b.v), zero.v);
  const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(c.v, d.v), zero.v);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
}
/// Unsigned bytes, one a lane.
[[gnu::always_inline]] inline Int load_byte_lanes(const unsigned char* p) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
}
/// What becomes of each of 256 bytes; kTableBytes are looked up at a time.
constexpr int kTableBytes = 32;
struct ByteTable {
  const unsigned char* bytes;
};
[[gnu::always_inline]] inline ByteTable load_table(const unsigned char* p) { return {p}; }
[[gnu::always_inline]] inline __m256i part_of_table(const ByteTable& t, int part, __m256i lower) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.bytes + 16 * part));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), lower);
}
/// By the lower four bits in each of the 16 parts, then by one bit after the other between them.
[[gnu::always_inline]] inline void look_up(const ByteTable& t, const unsigned char* from, unsigned char* to) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i lower = _mm256_and_si256(x, _mm256_set1_epi8(15));
  const __m256i bit4 = _mm256_slli_epi16(x, 3), bit5 = _mm256_slli_epi16(x, 2),
                bit6 = _mm256_slli_epi16(x, 1);
  __m256i parts[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m256i a =
        _mm256_blendv_epi8(part_of_table(t, 4 * i, lower), part_of_table(t, 4 * i + 1, lower), bit4);
    const __m256i b =
        _mm256_blendv_epi8(part_of_table(t, 4 * i + 2, lower), part_of_table(t, 4 * i + 3, lower), bit4);
    parts[i] = _mm256_blendv_epi8(a, b, bit5);
  }
  const __m256i low = _mm256_blendv_epi8(parts[0], parts[1], bit6);
  const __m256i high = _mm256_blendv_epi8(parts[2], parts[3], bit6);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_blendv_epi8(low, high, x));
}

#include "cpu/simd/math.inl"

}  // namespace
}  // namespace saccade::cpu::avx2
