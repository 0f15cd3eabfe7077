// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units. Blocks where alpha is nowhere, or
// everywhere, are stored without arithmetic.
#include "vision/kernels/spread_x86.inl"

inline __m256i load_u8(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store_u8(void* p, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline bool is_full(__m256i alpha) noexcept { return _mm256_testc_si256(alpha, _mm256_set1_epi8(-1)) != 0; }
inline bool is_zero(__m256i alpha) noexcept { return _mm256_testz_si256(alpha, alpha) != 0; }

// 16-bit lanes: (source * alpha + background * (255 - alpha)) / 255
inline __m256i mix_256(__m256i source, __m256i background, __m256i alpha) noexcept {
  const __m256i rest = _mm256_sub_epi16(_mm256_set1_epi16(255), alpha);
  __m256i v = _mm256_add_epi16(_mm256_mullo_epi16(source, alpha), _mm256_mullo_epi16(background, rest));
  v = _mm256_add_epi16(v, _mm256_set1_epi16(128));
  return _mm256_srli_epi16(_mm256_add_epi16(v, _mm256_srli_epi16(v, 8)), 8);
}

inline __m256i mix_bytes(__m256i source, __m256i background, __m256i alpha) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = mix_256(_mm256_unpacklo_epi8(source, zero), _mm256_unpacklo_epi8(background, zero),
                              _mm256_unpacklo_epi8(alpha, zero));
  const __m256i high = mix_256(_mm256_unpackhi_epi8(source, zero), _mm256_unpackhi_epi8(background, zero),
                               _mm256_unpackhi_epi8(alpha, zero));
  return _mm256_packus_epi16(low, high);
}

inline void blend_u8_256(const std::uint8_t* source, const std::uint8_t* background,
                         const std::uint8_t* alpha, int n, std::uint8_t* out) noexcept {
  int i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i a = load_u8(alpha + i);
    if (is_zero(a))
      store_u8(out + i, load_u8(background + i));
    else if (is_full(a))
      store_u8(out + i, load_u8(source + i));
    else
      store_u8(out + i, mix_bytes(load_u8(source + i), load_u8(background + i), a));
  }
  blend_loop<std::uint8_t, 8>(source, background, alpha, i, n, out);
}

inline void blend_flat_u8_256(const std::uint8_t* source, std::uint8_t background, const std::uint8_t* alpha,
                              int n, std::uint8_t* out) noexcept {
  const __m256i flat = _mm256_set1_epi8(static_cast<char>(background));
  int i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i a = load_u8(alpha + i);
    if (is_zero(a))
      store_u8(out + i, flat);
    else if (is_full(a))
      store_u8(out + i, load_u8(source + i));
    else
      store_u8(out + i, mix_bytes(load_u8(source + i), flat, a));
  }
  blend_flat_loop<std::uint8_t, 8>(source, background, alpha, i, n, out);
}

inline void blend_spread_u8_256(const std::uint8_t* source, const std::int16_t* row, const SpreadTable& table,
                                const std::uint8_t* alpha, std::uint8_t* out) noexcept {
  if (table.base == nullptr) return blend_spread_u8_loop(source, row, table, alpha, out);
  const __m256i to_sample = _mm256_set1_epi16(256);
  int i = 0;
  for (; i + 32 <= table.count; i += 32) {
    const __m256i a = load_u8(alpha + i);
    if (is_full(a)) {
      store_u8(out + i, load_u8(source + i));
      continue;
    }
    const __m256i low = _mm256_mulhrs_epi16(spread_16(row, table, i), to_sample);
    const __m256i high = _mm256_mulhrs_epi16(spread_16(row, table, i + 16), to_sample);
    const __m256i background = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xD8);
    if (is_zero(a))
      store_u8(out + i, background);
    else
      store_u8(out + i, mix_bytes(load_u8(source + i), background, a));
  }
  blend_spread_loop<std::uint8_t, 8>(source, row, table, alpha, i, out);
}

// Sixteen chroma alphas take the pairs of 32 luma alphas and, cosited, those shifted by one.
inline void chroma_alpha_u8_256(const ChromaAlpha& a) noexcept {
  const __m256i ones = _mm256_set1_epi8(1);
  const int shift = (a.rows == 1 ? 0 : (a.rows == 2 ? 1 : 2)) + (a.cosited ? 2 : 1);
  const __m256i half = _mm256_set1_epi16(static_cast<short>(1 << (shift - 1)));
  const __m128i count = _mm_cvtsi32_si128(shift);
  auto* out = static_cast<std::uint8_t*>(a.out);
  int i = a.cosited ? 1 : 0;
  chroma_alpha_from<std::uint8_t>(a, 0, i < a.width ? i : a.width);
  for (; i + 16 <= a.width && 2 * i + 32 <= a.luma_width; i += 16) {
    __m256i sum = half;
    for (int k = 0; k < a.rows; ++k) {
      const auto* p = static_cast<const std::uint8_t*>(a.row[k]) + 2 * i;
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(load_u8(p), ones));
      if (a.cosited) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(load_u8(p - 1), ones));
    }
    sum = _mm256_srl_epi16(sum, count);
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_castsi256_si128(bytes));
  }
  if (i < a.width) chroma_alpha_from<std::uint8_t>(a, i, a.width);
}

inline void add_u32(std::uint32_t* sum, __m256i v) noexcept {
  store_u8(sum, _mm256_add_epi32(load_u8(sum), v));
}

// background_weight of 16-bit lanes.
inline __m256i background_weight_256(__m256i alpha) noexcept {
  const __m256i outside = _mm256_subs_epu16(_mm256_set1_epi16(4095), _mm256_slli_epi16(alpha, 6));
  const __m256i edge =
      _mm256_max_epi16(_mm256_sub_epi16(_mm256_set1_epi16(128), alpha), _mm256_set1_epi16(1));
  const __m256i full = _mm256_cmpeq_epi16(alpha, _mm256_set1_epi16(255));
  return _mm256_andnot_si256(full, _mm256_max_epi16(outside, edge));
}

inline void cell_sums_u8_256(const CellSums& a) noexcept {
  if (a.shift != 2) return cell_sums_u8_loop(a);
  const auto* value = static_cast<const std::uint8_t*>(a.value);
  const auto* alpha = static_cast<const std::uint8_t*>(a.alpha);
  const __m256i zero = _mm256_setzero_si256(), ones8 = _mm256_set1_epi8(1), ones16 = _mm256_set1_epi16(1);
  const __m256i whole = _mm256_set1_epi16(4095);
  int i = 0;
  for (; i + 32 <= a.n; i += 32) {
    const __m256i opacity = load_u8(alpha + i);
    if (is_full(opacity)) continue;
    const __m256i v = load_u8(value + i);
    if (is_zero(opacity)) {
      add_u32(a.value_sum + i / 4, _mm256_madd_epi16(_mm256_maddubs_epi16(v, ones8), whole));
      if (a.weight_sum != nullptr) add_u32(a.weight_sum + i / 4, _mm256_set1_epi32(4 * 4095));
      continue;
    }
    const __m256i low = background_weight_256(_mm256_unpacklo_epi8(opacity, zero));
    const __m256i high = background_weight_256(_mm256_unpackhi_epi8(opacity, zero));
    const __m256i low_products = _mm256_madd_epi16(_mm256_unpacklo_epi8(v, zero), low);
    const __m256i high_products = _mm256_madd_epi16(_mm256_unpackhi_epi8(v, zero), high);
    add_u32(a.value_sum + i / 4, _mm256_hadd_epi32(low_products, high_products));
    if (a.weight_sum != nullptr)
      add_u32(a.weight_sum + i / 4,
              _mm256_hadd_epi32(_mm256_madd_epi16(low, ones16), _mm256_madd_epi16(high, ones16)));
  }
  cell_sums_from<std::uint8_t>(a, i);
}

inline void lerp_rows_256(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                          std::int16_t* out) noexcept {
  const __m256i w = _mm256_set1_epi16(weight);
  int i = 0;
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        lerp_q15_256(load_i16(a + i), load_i16(b + i), w));
  for (; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
}

inline void erase_u8_256(const std::uint8_t* source, const std::uint8_t* alpha, std::uint8_t value, int n,
                         std::uint8_t* out) noexcept {
  const __m256i flat = _mm256_set1_epi8(static_cast<char>(value)), zero = _mm256_setzero_si256();
  int i = 0;
  for (; i + 32 <= n; i += 32)
    store_u8(out + i,
             _mm256_blendv_epi8(load_u8(source + i), flat, _mm256_cmpeq_epi8(load_u8(alpha + i), zero)));
  for (; i < n; ++i) out[i] = alpha[i] == 0 ? value : source[i];
}
