// The vector vocabulary on SSE2, which every x86-64 has: 4 lanes. See README.md.
#pragma once

#include <emmintrin.h>

#include "cpu/simd/bf16.h"

namespace saccade::cpu::portable {
namespace {

constexpr int kLanes = 4;
constexpr int kRegisters = 16;

struct Vec {
  __m128 v;
};
struct Mask {
  __m128 v;
};
struct Int {
  __m128i v;
};

[[gnu::always_inline]] inline Vec zero() { return {_mm_setzero_ps()}; }
[[gnu::always_inline]] inline Vec broadcast(float x) { return {_mm_set1_ps(x)}; }
[[gnu::always_inline]] inline Vec load(const float* p) { return {_mm_loadu_ps(p)}; }
[[gnu::always_inline]] inline void store(float* p, Vec a) { _mm_storeu_ps(p, a.v); }
[[gnu::always_inline]] inline void stream(float* p, Vec a) { _mm_stream_ps(p, a.v); }
/// Streamed stores are seen by whoever sees a later store.
[[gnu::always_inline]] inline void stream_fence() { _mm_sfence(); }
[[gnu::always_inline]] inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

[[gnu::always_inline]] inline Vec operator+(Vec a, Vec b) { return {_mm_add_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a, Vec b) { return {_mm_sub_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator*(Vec a, Vec b) { return {_mm_mul_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator/(Vec a, Vec b) { return {_mm_div_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec operator-(Vec a) { return {_mm_xor_ps(a.v, _mm_set1_ps(-0.0f))}; }
[[gnu::always_inline]] inline Vec fma(Vec a, Vec b, Vec c) { return {_mm_add_ps(_mm_mul_ps(a.v, b.v), c.v)}; }
[[gnu::always_inline]] inline Vec fnma(Vec a, Vec b, Vec c) {
  return {_mm_sub_ps(c.v, _mm_mul_ps(a.v, b.v))};
}
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) { return {_mm_min_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec max(Vec a, Vec b) { return {_mm_max_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Vec sqrt(Vec a) { return {_mm_sqrt_ps(a.v)}; }
[[gnu::always_inline]] inline Vec abs(Vec a) { return {_mm_andnot_ps(_mm_set1_ps(-0.0f), a.v)}; }
/// The magnitude of `a` with the sign of `b`.
[[gnu::always_inline]] inline Vec copy_sign(Vec a, Vec b) {
  const __m128 sign = _mm_set1_ps(-0.0f);
  return {_mm_or_ps(_mm_andnot_ps(sign, a.v), _mm_and_ps(sign, b.v))};
}

[[gnu::always_inline]] inline Mask less(Vec a, Vec b) { return {_mm_cmplt_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Mask less_equal(Vec a, Vec b) { return {_mm_cmple_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Mask equal(Vec a, Vec b) { return {_mm_cmpeq_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Mask is_nan(Vec a) { return {_mm_cmpunord_ps(a.v, a.v)}; }
[[gnu::always_inline]] inline Mask operator&(Mask a, Mask b) { return {_mm_and_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline Mask operator|(Mask a, Mask b) { return {_mm_or_ps(a.v, b.v)}; }
[[gnu::always_inline]] inline bool any(Mask m) { return _mm_movemask_ps(m.v) != 0; }
[[gnu::always_inline]] inline bool all(Mask m) { return _mm_movemask_ps(m.v) == 15; }
/// One bit a lane, lane 0 lowest.
[[gnu::always_inline]] inline unsigned bits(Mask m) { return static_cast<unsigned>(_mm_movemask_ps(m.v)); }
[[gnu::always_inline]] inline Vec select(Mask m, Vec a, Vec b) {
  return {_mm_or_ps(_mm_and_ps(m.v, a.v), _mm_andnot_ps(m.v, b.v))};
}

/// The lanes below n; n may be 0 to kLanes.
[[gnu::always_inline]] inline Mask first(int n) {
  return {_mm_castsi128_ps(_mm_cmplt_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32(n)))};
}
[[gnu::always_inline]] inline Vec load_first(const float* p, int n) {
  switch (n) {
    case 0:
      return zero();
    case 1:
      return {_mm_load_ss(p)};
    case 2:
      return {_mm_castsi128_ps(_mm_loadu_si64(p))};
    case 3:
      return {_mm_movelh_ps(_mm_castsi128_ps(_mm_loadu_si64(p)), _mm_load_ss(p + 2))};
    default:
      return load(p);
  }
}
[[gnu::always_inline]] inline void store_first(float* p, int n, Vec a) {
  switch (n) {
    case 0:
      break;
    case 1:
      _mm_store_ss(p, a.v);
      break;
    case 2:
      _mm_storel_pi(reinterpret_cast<__m64*>(p), a.v);
      break;
    case 3:
      _mm_storel_pi(reinterpret_cast<__m64*>(p), a.v);
      _mm_store_ss(p + 2, _mm_movehl_ps(a.v, a.v));
      break;
    default:
      store(p, a);
  }
}
/// Lanes outside the mask read as 0 and their memory is not touched.
[[gnu::always_inline]] inline Vec load(const float* p, Mask m) {
  const unsigned set = bits(m);
  return {_mm_setr_ps((set & 1u) != 0 ? p[0] : 0.0f, (set & 2u) != 0 ? p[1] : 0.0f,
                      (set & 4u) != 0 ? p[2] : 0.0f, (set & 8u) != 0 ? p[3] : 0.0f)};
}
[[gnu::always_inline]] inline void store(float* p, Mask m, Vec a) {
  alignas(16) float lanes[4];
  _mm_store_ps(lanes, a.v);
  const unsigned set = bits(m);
  for (unsigned i = 0; i < 4; ++i)
    if ((set >> i & 1u) != 0) p[i] = lanes[i];
}

[[gnu::always_inline]] inline float first_lane(Vec a) { return _mm_cvtss_f32(a.v); }
[[gnu::always_inline]] inline float sum(Vec a) {
  const __m128 pair = _mm_add_ps(a.v, _mm_movehl_ps(a.v, a.v));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float max_lane(Vec a) {
  const __m128 pair = _mm_max_ps(a.v, _mm_movehl_ps(a.v, a.v));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
[[gnu::always_inline]] inline float min_lane(Vec a) {
  const __m128 pair = _mm_min_ps(a.v, _mm_movehl_ps(a.v, a.v));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

[[gnu::always_inline]] inline Int broadcast_int(int x) { return {_mm_set1_epi32(x)}; }
[[gnu::always_inline]] inline Int load_int(const int* p) {
  return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
}
[[gnu::always_inline]] inline void store_int(int* p, Int a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a.v);
}
[[gnu::always_inline]] inline Int operator+(Int a, Int b) { return {_mm_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator&(Int a, Int b) { return {_mm_and_si128(a.v, b.v)}; }
[[gnu::always_inline]] inline Int operator^(Int a, Int b) { return {_mm_xor_si128(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] inline Int shift_left(Int a) {
  return {_mm_slli_epi32(a.v, kBits)};
}
[[gnu::always_inline]] inline Int to_int(Vec a) { return {_mm_cvtps_epi32(a.v)}; }
[[gnu::always_inline]] inline Int truncate(Vec a) { return {_mm_cvttps_epi32(a.v)}; }
[[gnu::always_inline]] inline Vec to_float(Int a) { return {_mm_cvtepi32_ps(a.v)}; }
[[gnu::always_inline]] inline Vec bits_as_float(Int a) { return {_mm_castsi128_ps(a.v)}; }
[[gnu::always_inline]] inline Int float_bits(Vec a) { return {_mm_castps_si128(a.v)}; }
/// a·2ⁿ for whole n from -126 to 128.
[[gnu::always_inline]] inline Vec scale_exponent(Vec a, Vec n) {
  // Two steps, since 2^128 is no float.
  const __m128i half = _mm_slli_epi32(_mm_add_epi32(_mm_cvtps_epi32(n.v), _mm_set1_epi32(126)), 23);
  return {_mm_mul_ps(_mm_mul_ps(a.v, _mm_castsi128_ps(half)), _mm_set1_ps(2.0f))};
}
/// Unbiased exponent of a positive normal number.
[[gnu::always_inline]] inline Int exponent(Vec a) {
  return {_mm_sub_epi32(_mm_srli_epi32(_mm_castps_si128(a.v), 23), _mm_set1_epi32(127))};
}
/// Lane index[i] of `a` in lane i; indices from 0 to kLanes - 1.
[[gnu::always_inline]] inline Vec permute(Vec a, Int index) {
  alignas(16) float from[4];
  alignas(16) int at[4];
  _mm_store_ps(from, a.v);
  _mm_store_si128(reinterpret_cast<__m128i*>(at), index.v);
  return {_mm_setr_ps(from[at[0]], from[at[1]], from[at[2]], from[at[3]])};
}
/// p[index[i]] per lane.
[[gnu::always_inline]] inline Vec gather(const float* p, Int index) {
  alignas(16) int at[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(at), index.v);
  return {_mm_setr_ps(p[at[0]], p[at[1]], p[at[2]], p[at[3]])};
}

[[gnu::always_inline]] inline Vec round(Vec a) {
  const Vec whole =
      to_float(to_int(a));  // exact below 2^23; larger numbers, infinities and NaN are their own rounding
  return select(less(abs(a), broadcast(8388608.0f)), copy_sign(whole, a), a);
}
[[gnu::always_inline]] inline Vec floor(Vec a) {
  const Vec near = round(a);
  return select(less(a, near), near - broadcast(1.0f), near);
}

[[gnu::always_inline]] inline void transpose(Vec (&r)[kLanes]) {
  _MM_TRANSPOSE4_PS(r[0].v, r[1].v, r[2].v, r[3].v);
}

/// Transposes the 4 x 4 numbers in lanes 4i to 4i + 3 of four vectors, for each i.
[[gnu::always_inline]] inline void transpose_fours(Vec (&r)[4]) { transpose(r); }
/// In lanes 4i to 4i + 3 the sum of all such groups of four of a[i].
[[gnu::always_inline]] inline Vec sum_fours(const Vec (&a)[1]) { return a[0]; }

/// Three vectors as kLanes groups of three: a0 b0 c0 a1 b1 c1 and so on.
[[gnu::always_inline]] inline void interleave(Vec (&r)[3]) {
  const __m128 ab = _mm_unpacklo_ps(r[0].v, r[1].v),
               bc = _mm_unpackhi_ps(r[1].v, r[2].v);                          // a0 b0 a1 b1, b2 c2 b3 c3
  const __m128 ca = _mm_shuffle_ps(r[2].v, r[0].v, _MM_SHUFFLE(3, 1, 2, 0));  // c0 c2 a1 a3
  const __m128 cb = _mm_shuffle_ps(r[2].v, r[1].v, _MM_SHUFFLE(1, 1, 1, 1));  // c1 c1 b1 b1
  const __m128 ac = _mm_shuffle_ps(r[0].v, r[2].v, _MM_SHUFFLE(2, 2, 2, 2));  // a2 a2 c2 c2
  r[0].v = _mm_shuffle_ps(ab, ca, _MM_SHUFFLE(2, 0, 1, 0));
  r[1].v = _mm_shuffle_ps(_mm_shuffle_ps(cb, cb, _MM_SHUFFLE(0, 0, 0, 2)),
                          _mm_shuffle_ps(ac, bc, _MM_SHUFFLE(0, 0, 0, 0)), _MM_SHUFFLE(2, 0, 1, 0));
  r[2].v = _mm_shuffle_ps(_mm_shuffle_ps(bc, ca, _MM_SHUFFLE(3, 3, 1, 1)), bc, _MM_SHUFFLE(3, 2, 2, 0));
}

/// bfloat16 in memory, floats in lanes. Stores round to nearest, ties to even, and keep NaNs.
[[gnu::always_inline]] inline Vec load(const Bf16* p) {
  const __m128i half = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), half))};
}
[[gnu::always_inline]] inline void store(Bf16* p, Vec a) {
  const __m128i u = _mm_castps_si128(a.v), odd = _mm_and_si128(_mm_srli_epi32(u, 16), _mm_set1_epi32(1));
  const __m128i near = _mm_add_epi32(_mm_add_epi32(u, _mm_set1_epi32(0x7fff)), odd);
  const __m128i nan = _mm_castps_si128(_mm_cmpunord_ps(a.v, a.v));
  const __m128i quiet = _mm_or_si128(u, _mm_set1_epi32(0x400000));
  const __m128i all = _mm_or_si128(_mm_and_si128(nan, quiet), _mm_andnot_si128(nan, near));
  const __m128i words = _mm_srai_epi32(all, 16);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi32(words, words));
}
#include "cpu/simd/bf16_first.inl"

/// Sums of products of small integers. Words hold two integers of 16 bits or four of 8.
struct Sums {
  __m128i v;
};
[[gnu::always_inline]] inline Sums load_sums(const int* p) {
  return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
}
[[gnu::always_inline]] inline Int load_words(const void* p) {
  return {_mm_loadu_si128(static_cast<const __m128i*>(p))};
}
[[gnu::always_inline]] inline Int broadcast_word(const void* p) {
  int word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  return {_mm_set1_epi32(word)};
}
/// c + the products of the 16-bit integers of each word, exactly.
[[gnu::always_inline]] inline Sums add_pairs(Sums c, Int a, Int b) {
  return {_mm_add_epi32(c.v, _mm_madd_epi16(a.v, b.v))};
}
[[gnu::always_inline]] inline Vec to_float(Sums a) { return {_mm_cvtepi32_ps(a.v)}; }
/// The 16-bit integers of both, in turn: of the lower and of the upper half of every 128 bits.
[[gnu::always_inline]] inline Int interleave_low(Int a, Int b) { return {_mm_unpacklo_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int interleave_high(Int a, Int b) { return {_mm_unpackhi_epi16(a.v, b.v)}; }
/// The lowest byte of every lane.
[[gnu::always_inline]] inline void store_bytes(void* p, Int a) {
  const __m128i low = _mm_and_si128(a.v, _mm_set1_epi32(255));
  const __m128i shorts = _mm_packs_epi32(low, low);
  const int word = _mm_cvtsi128_si32(_mm_packus_epi16(shorts, shorts));
  __builtin_memcpy(p, &word, sizeof word);
}
/// The lowest byte of every lane of what interleave_low and interleave_high led to, in the first order.
[[gnu::always_inline]] inline void store_bytes(void* p, Int low, Int high) {
  const __m128i shorts = _mm_and_si128(_mm_packs_epi32(low.v, high.v), _mm_set1_epi16(255));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(shorts, shorts));
}
[[gnu::always_inline]] inline Sums no_sums() { return {_mm_setzero_si128()}; }
[[gnu::always_inline]] inline void store_sums(int* p, Sums a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a.v);
}
[[gnu::always_inline]] inline Sums operator+(Sums a, Sums b) { return {_mm_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] inline Sums operator-(Sums a, Sums b) { return {_mm_sub_epi32(a.v, b.v)}; }
/// Rounded down.
[[gnu::always_inline]] inline Sums quarter(Sums a) { return {_mm_srai_epi32(a.v, 2)}; }
/// Bytes as integers of 16 bits, two a word.
[[gnu::always_inline]] inline Int load_shorts(const unsigned char* p) {
  return {_mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), _mm_setzero_si128())};
}
[[gnu::always_inline]] inline Int load_shorts(const signed char* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8)};
}
[[gnu::always_inline]] inline void store_words(void* p, Int a) {
  _mm_storeu_si128(static_cast<__m128i*>(p), a.v);
}
[[gnu::always_inline]] inline Int broadcast_short(short x) { return {_mm_set1_epi16(x)}; }
[[gnu::always_inline]] inline Int add_shorts(Int a, Int b) { return {_mm_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] inline Int subtract_shorts(Int a, Int b) { return {_mm_sub_epi16(a.v, b.v)}; }
/// The lanes of four vectors as bytes, one after the other: `zero`, integers of 16 bits, is added, and what
/// does not fit becomes 0 or 255.
[[gnu::always_inline]] inline void store_saturated(void* p, Int a, Int b, Int c, Int d, Int zero) {
  const __m128i low = _mm_adds_epi16(_mm_packs_epi32(a.v, b.v), zero.v);
  const __m128i high = _mm_adds_epi16(_mm_packs_epi32(c.v, d.v), zero.v);
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm_packus_epi16(low, high));
}
/// Unsigned bytes, one a lane.
[[gnu::always_inline]] inline Int load_byte_lanes(const unsigned char* p) {
  int word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  const __m128i shorts = _mm_unpacklo_epi8(_mm_cvtsi32_si128(word), _mm_setzero_si128());
  return {_mm_unpacklo_epi16(shorts, _mm_setzero_si128())};
}
/// What becomes of each of 256 bytes; kTableBytes are looked up at a time.
constexpr int kTableBytes = 8;
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
}  // namespace saccade::cpu::portable
