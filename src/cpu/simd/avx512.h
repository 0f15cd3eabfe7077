// The vector vocabulary on AVX-512 F, BW, DQ, VL: 16 lanes. See README.md.
#pragma once

#include <immintrin.h>

#include "cpu/simd/bf16.h"

namespace saccade::cpu::avx512 {
namespace {

constexpr int kLanes = 16;
constexpr int kRegisters = 32;

struct Vec {
  __m512 v;
};
struct Mask {
  __mmask16 v;
};
struct Int {
  __m512i v;
};

[[gnu::always_inline]] inline Vec zero() { return {_mm512_setzero_ps()}; }
[[gnu::always_inline]] inline Vec broadcast(float x) { return {_mm512_set1_ps(x)}; }
[[gnu::always_inline]] inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
[[gnu::always_inline]] inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
[[gnu::always_inline]] inline void stream(float* p, Vec a) { _mm512_stream_ps(p, a.v); }
/// Streamed stores are seen by whoever sees a later store.
[[gnu::always_inline]] inline void stream_fence() { _mm_sfence(); }
[[gnu::always_inline]] inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

[[gnu::always_inline]] inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
[[gnu::always_inline]] inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
[[gnu::always_inline]] inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
[[gnu::always_inline]] inline Vec abs(Vec a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
/// The magnitude of `a` with the sign of `b`.
[[gnu::always_inline]] inline Vec copy_sign(Vec a, Vec b) {
  const __m512 sign = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(sign, a.v), _mm512_and_ps(sign, b.v))};
}

[[gnu::always_inline]] inline Mask less(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
[[gnu::always_inline]] inline Mask less_equal(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
[[gnu::always_inline]] inline Mask equal(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
[[gnu::always_inline]] inline Mask is_nan(Vec a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
[[gnu::always_inline]] inline Mask operator&(Mask a, Mask b) { return {static_cast<__mmask16>(a.v & b.v)}; }
[[gnu::always_inline]] inline Mask operator|(Mask a, Mask b) { return {static_cast<__mmask16>(a.v | b.v)}; }
[[gnu::always_inline]] inline bool any(Mask m) { return m.v != 0; }
[[gnu::always_inline]] inline bool all(Mask m) { return m.v == 0xFFFF; }
/// One bit a lane, lane 0 lowest.
[[gnu::always_inline]] inline unsigned bits(Mask m) { return m.v; }
[[gnu::always_inline]] inline Vec select(Mask m, Vec a, Vec b) {
  return {_mm512_mask_blend_ps(m.v, b.v, a.v)};
}

/// The lanes below n; n may be 0 to kLanes.
[[gnu::always_inline]] inline Mask first(int n) {
  return {static_cast<__mmask16>((1u << static_cast<unsigned>(n)) - 1u)};
}
/// Lanes outside the mask read as 0 and their memory is not touched.
[[gnu::always_inline]] inline Vec load(const float* p, Mask m) { return {_mm512_maskz_loadu_ps(m.v, p)}; }
[[gnu::always_inline]] inline void store(float* p, Mask m, Vec a) { _mm512_mask_storeu_ps(p, m.v, a.v); }
[[gnu::always_inline]] inline Vec load_first(const float* p, int n) { return load(p, first(n)); }
[[gnu::always_inline]] inline void store_first(float* p, int n, Vec a) { store(p, first(n), a); }

// Reductions fold the upper half onto the lower one first: the same tree as avx512_emulated.h.
[[gnu::always_inline]] inline float first_lane(Vec a) { return _mm512_cvtss_f32(a.v); }
[[gnu::always_inline]] inline float sum(Vec a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float max_lane(Vec a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float min_lane(Vec a) {
  const __m256 eight = _mm256_min_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 pair = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

[[gnu::always_inline]] inline Int broadcast_int(int x) { return {_mm512_set1_epi32(x)}; }
[[gnu::always_inline]] inline Int load_int(const int* p) { return {_mm512_loadu_si512(p)}; }
[[gnu::always_inline]] inline void store_int(int* p, Int a) { _mm512_storeu_si512(p, a.v); }
[[gnu::always_inline]] inline Int operator+(Int a, Int b) { return {_mm512_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator&(Int a, Int b) { return {_mm512_and_si512(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator^(Int a, Int b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] inline Int shift_left(Int a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
[[gnu::always_inline]] inline Int to_int(Vec a) { return {_mm512_cvtps_epi32(a.v)}; }
[[gnu::always_inline]] inline Int truncate(Vec a) { return {_mm512_cvttps_epi32(a.v)}; }
[[gnu::always_inline]] inline Vec to_float(Int a) { return {_mm512_cvtepi32_ps(a.v)}; }
[[gnu::always_inline]] inline Vec bits_as_float(Int a) { return {_mm512_castsi512_ps(a.v)}; }
[[gnu::always_inline]] inline Int float_bits(Vec a) { return {_mm512_castps_si512(a.v)}; }
/// a·2ⁿ for whole n from -126 to 128.
[[gnu::always_inline]] inline Vec scale_exponent(Vec a, Vec n) { return {_mm512_scalef_ps(a.v, n.v)}; }
/// Unbiased exponent of a positive normal number.
[[gnu::always_inline]] inline Int exponent(Vec a) {
  return {_mm512_sub_epi32(_mm512_srli_epi32(_mm512_castps_si512(a.v), 23), _mm512_set1_epi32(127))};
}
/// Lane index[i] of `a` in lane i; indices from 0 to kLanes - 1.
[[gnu::always_inline]] inline Vec permute(Vec a, Int index) { return {_mm512_permutexvar_ps(index.v, a.v)}; }
/// p[index[i]] per lane.
[[gnu::always_inline]] inline Vec gather(const float* p, Int index) {
  return {_mm512_i32gather_ps(index.v, p, 4)};
}

[[gnu::always_inline]] inline Vec round(Vec a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
[[gnu::always_inline]] inline Vec floor(Vec a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}

[[gnu::always_inline]] inline void transpose(Vec (&r)[kLanes]) {
  __m512 a[16], b[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_ps(r[i].v, r[i + 1].v);
    a[i + 1] = _mm512_unpackhi_ps(r[i].v, r[i + 1].v);
  }
  // After this b[i + c] holds, in its 128-bit lane j, column 4j + c of rows i..i+3.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xEE);
    b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 low01 =
        _mm512_shuffle_f32x4(b[c], b[4 + c], 0x88);  // lanes 0, 2 of rows 0-3, then of rows 4-7
    const __m512 odd01 = _mm512_shuffle_f32x4(b[c], b[4 + c], 0xDD);  // lanes 1, 3
    const __m512 low23 = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0xDD);
    r[c].v = _mm512_shuffle_f32x4(low01, low23, 0x88);
    r[8 + c].v = _mm512_shuffle_f32x4(low01, low23, 0xDD);
    r[4 + c].v = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    r[12 + c].v = _mm512_shuffle_f32x4(odd01, odd23, 0xDD);
  }
}

/// Transposes the 4 x 4 numbers in lanes 4i to 4i + 3 of four vectors, for each i.
[[gnu::always_inline]] inline void transpose_fours(Vec (&r)[4]) {
  const __m512 a = _mm512_unpacklo_ps(r[0].v, r[1].v), b = _mm512_unpackhi_ps(r[0].v, r[1].v);
  const __m512 c = _mm512_unpacklo_ps(r[2].v, r[3].v), d = _mm512_unpackhi_ps(r[2].v, r[3].v);
  r[0].v = _mm512_shuffle_ps(a, c, 0x44);
  r[1].v = _mm512_shuffle_ps(a, c, 0xEE);
  r[2].v = _mm512_shuffle_ps(b, d, 0x44);
  r[3].v = _mm512_shuffle_ps(b, d, 0xEE);
}
/// In lanes 4i to 4i + 3 the sum of all such groups of four of a[i], first those two apart.
[[gnu::always_inline]] inline Vec sum_fours(const Vec (&a)[4]) {
  const auto halves = [](Vec x, Vec y) __attribute__((always_inline)) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(x.v, y.v, 0x44), _mm512_shuffle_f32x4(x.v, y.v, 0xEE));
  };
  const __m512 x = halves(a[0], a[1]), y = halves(a[2], a[3]);
  return {_mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xDD))};
}

/// Three vectors as kLanes groups of three: a0 b0 c0 a1 b1 c1 and so on.
[[gnu::always_inline]] inline void interleave(Vec (&r)[3]) {
  // Elements of the first two vectors, then those of the third between them.
  const auto together = [&](__m512i two, __m512i three) __attribute__((always_inline)) {
    return Vec{_mm512_permutex2var_ps(_mm512_permutex2var_ps(r[0].v, two, r[1].v), three, r[2].v)};
  };
  const Vec first = together(_mm512_setr_epi32(0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5),
                             _mm512_setr_epi32(0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15));
  const Vec second = together(_mm512_setr_epi32(21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26),
                              _mm512_setr_epi32(0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15));
  r[2] = together(_mm512_setr_epi32(0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0),
                  _mm512_setr_epi32(26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31));
  r[0] = first, r[1] = second;
}

/// bfloat16 in memory, floats in lanes. Stores round to nearest, ties to even, and keep NaNs; the instruction
/// of AVX512_BF16 also turns denormal numbers into zeros.
[[gnu::always_inline]] inline Vec widen_lanes(__m256i words) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16))};
}
[[gnu::always_inline]] inline __m256i narrow_lanes(Vec a) {
#ifdef __AVX512BF16__
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(a.v));
#else
  const __m512i u = _mm512_castps_si512(a.v),
                odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i near = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i all = _mm512_mask_or_epi32(near, is_nan(a).v, u, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(all, 16));
#endif
}
[[gnu::always_inline]] inline Vec load(const Bf16* p) {
  return widen_lanes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
[[gnu::always_inline]] inline void store(Bf16* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow_lanes(a));
}
[[gnu::always_inline]] inline Vec load_first(const Bf16* p, int n) {
  return widen_lanes(_mm256_maskz_loadu_epi16(first(n).v, p));
}
[[gnu::always_inline]] inline void store_first(Bf16* p, int n, Vec a) {
  _mm256_mask_storeu_epi16(p, first(n).v, narrow_lanes(a));
}
/// The lower and the upper bfloat16 of each word.
[[gnu::always_inline]] inline Vec widen_lower(Int words) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(words.v, 16))};
}
[[gnu::always_inline]] inline Vec widen_upper(Int words) {
  return {_mm512_castsi512_ps(_mm512_and_si512(words.v, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
}
/// Two vectors, one behind the other.
[[gnu::always_inline]] inline void store_pair(Bf16* p, Vec a, Vec b) {
#ifdef __AVX512BF16__
  _mm512_storeu_si512(p, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b.v, a.v)));
#else
  store(p, a);
  store(p + kLanes, b);
#endif
}
/// As store_pair past the caches, on a 64-byte boundary.
[[gnu::always_inline]] inline void stream_pair(Bf16* p, Vec a, Vec b) {
#ifdef __AVX512BF16__
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p),
                      reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b.v, a.v)));
#else
  store_pair(p, a, b);
#endif
}
#ifdef __AVX512BF16__
/// c + the products of the two bfloat16 of each word: the upper ones are added first, each sum rounded;
/// denormal numbers count as zeros.
[[gnu::always_inline]] inline Vec add_bf16_pairs(Vec c, Int a, Int b) {
#ifdef __clang__  // whose version 16 does not survive the loops over its intrinsic
  asm("vdpbf16ps %2, %1, %0" : "+v"(c.v) : "v"(a.v), "vm"(b.v));
  return c;
#else
  return {_mm512_dpbf16_ps(c.v, reinterpret_cast<__m512bh>(a.v), reinterpret_cast<__m512bh>(b.v))};
#endif
}
#endif

/// Sums of products of small integers. Words hold two integers of 16 bits or four of 8. A vector of 32-bit
/// lanes: GCC 12 copies and spills a __m512i around every vpdpbusd.
struct Sums {
  int v __attribute__((vector_size(64)));
};
[[gnu::always_inline]] inline Sums load_sums(const int* p) {
  return {reinterpret_cast<decltype(Sums::v)>(_mm512_loadu_si512(p))};
}
[[gnu::always_inline]] inline Int load_words(const void* p) { return {_mm512_loadu_si512(p)}; }
[[gnu::always_inline]] inline Int broadcast_word(const void* p) {
  int word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  return {_mm512_set1_epi32(word)};
}
/// c + the products of the 16-bit integers of each word, exactly.
[[gnu::always_inline]] inline Sums add_pairs(Sums c, Int a, Int b) {
  return {c.v + reinterpret_cast<decltype(c.v)>(_mm512_madd_epi16(a.v, b.v))};
}
#ifdef __AVX512VNNI__
/// c + the products of unsigned bytes `a` and signed bytes `b` of each word, exactly.
[[gnu::always_inline]] inline Sums add_quads(Sums c, Int a, Int b) {
  return {reinterpret_cast<decltype(c.v)>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(c.v), a.v, b.v))};
}
#endif
[[gnu::always_inline]] inline Vec to_float(Sums a) {
  return {_mm512_cvtepi32_ps(reinterpret_cast<__m512i>(a.v))};
}
/// The 16-bit integers of both, in turn: of the lower and of the upper half of every 128 bits.
[[gnu::always_inline]] inline Int interleave_low(Int a, Int b) { return {_mm512_unpacklo_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int interleave_high(Int a, Int b) { return {_mm512_unpackhi_epi16(a.v, b.v)}; }
/// The lowest byte of every lane.
[[gnu::always_inline]] inline void store_bytes(void* p, Int a) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
/// The lowest byte of every lane of what interleave_low and interleave_high led to, in the first order.
[[gnu::always_inline]] inline void store_bytes(void* p, Int low, Int high) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi16_epi8(_mm512_packs_epi32(low.v, high.v)));
}
[[gnu::always_inline]] inline Sums no_sums() { return {decltype(Sums::v){}}; }
[[gnu::always_inline]] inline void store_sums(int* p, Sums a) {
  _mm512_storeu_si512(p, reinterpret_cast<__m512i>(a.v));
}
[[gnu::always_inline]] inline Sums operator+(Sums a, Sums b) { return {a.v + b.v}; }
[[gnu::always_inline]] inline Sums operator-(Sums a, Sums b) { return {a.v - b.v}; }
/// Rounded down.
[[gnu::always_inline]] inline Sums quarter(Sums a) { return {a.v >> 2}; }
/// Bytes as integers of 16 bits, two a word.
[[gnu::always_inline]] inline Int load_shorts(const unsigned char* p) {
  return {_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
[[gnu::always_inline]] inline Int load_shorts(const signed char* p) {
  return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
[[gnu::always_inline]] inline void store_words(void* p, Int a) { _mm512_storeu_si512(p, a.v); }
[[gnu::always_inline]] inline Int broadcast_short(short x) { return {_mm512_set1_epi16(x)}; }
[[gnu::always_inline]] inline Int add_shorts(Int a, Int b) { return {_mm512_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int subtract_shorts(Int a, Int b) { return {_mm512_sub_epi16(a.v, b.v)}; }
/// The lanes of four vectors as bytes, one after the other: `zero`, integers of 16 bits, is added, and what
/// does not fit becomes 0 or 255.
[[gnu::always_inline]] inline void store_saturated(void* p, Int a, Int b, Int c, Int d, Int zero) {
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(a.v, b.v), zero.v);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(c.v, d.v), zero.v);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high)));
}
/// Unsigned bytes, one a lane.
[[gnu::always_inline]] inline Int load_byte_lanes(const unsigned char* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
/// What becomes of each of 256 bytes; kTableBytes are looked up at a time.
constexpr int kTableBytes = 64;
struct ByteTable {
  __m512i words[4];
};
[[gnu::always_inline]] inline ByteTable load_table(const unsigned char* p) {
  return {{_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64), _mm512_loadu_si512(p + 128),
           _mm512_loadu_si512(p + 192)}};
}
/// For the lower byte of each 16 bits of x: the word of the table it is in, then its half.
[[gnu::always_inline]] inline __m512i look_up_lower(const ByteTable& t, __m512i x) {
  const __m512i word = _mm512_srli_epi16(x, 1);  // of which 6 bits count
  const __m512i low = _mm512_permutex2var_epi16(t.words[0], word, t.words[1]);
  const __m512i high = _mm512_permutex2var_epi16(t.words[2], word, t.words[3]);
  const __m512i both = _mm512_mask_blend_epi16(_mm512_test_epi16_mask(x, _mm512_set1_epi16(128)), low, high);
  return _mm512_mask_srli_epi16(both, _mm512_test_epi16_mask(x, _mm512_set1_epi16(1)), both, 8);
}
[[gnu::always_inline]] inline void look_up(const ByteTable& t, const unsigned char* from, unsigned char* to) {
  const __m512i x = _mm512_loadu_si512(from);
  const __m512i even = look_up_lower(t, x), odd = look_up_lower(t, _mm512_srli_epi16(x, 8));
  _mm512_storeu_si512(to, _mm512_mask_blend_epi8(0xAAAAAAAAAAAAAAAAull, even, _mm512_slli_epi16(odd, 8)));
}

#include "cpu/simd/math.inl"

}  // namespace
}  // namespace saccade::cpu::avx512
