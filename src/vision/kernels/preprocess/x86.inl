// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units.

// Two neighbouring samples of eight places: eight pairs of bytes in 16-bit lanes.
inline __m128i gather_byte_pairs(const std::uint8_t* row, const std::int32_t* index) noexcept {
  std::uint16_t pair[8];
  for (int k = 0; k < 8; ++k) __builtin_memcpy(&pair[k], row + index[k], 2);
  __m128i low = _mm_cvtsi32_si128(pair[0]), high = _mm_cvtsi32_si128(pair[4]);
  low = _mm_insert_epi16(low, pair[1], 1);
  high = _mm_insert_epi16(high, pair[5], 1);
  low = _mm_insert_epi16(low, pair[2], 2);
  high = _mm_insert_epi16(high, pair[6], 2);
  low = _mm_insert_epi16(low, pair[3], 3);
  high = _mm_insert_epi16(high, pair[7], 3);
  return _mm_unpacklo_epi64(low, high);
}

inline __m256i gather_word_pairs(const std::uint16_t* row, const std::int32_t* index) noexcept {
  std::int32_t pair[8];
  for (int k = 0; k < 8; ++k) __builtin_memcpy(&pair[k], row + index[k], 4);
  return _mm256_setr_epi32(pair[0], pair[1], pair[2], pair[3], pair[4], pair[5], pair[6], pair[7]);
}

inline __m256 lerp_rows(__m256i pairs0, __m256i pairs1, __m256i weight, __m256 fraction) noexcept {
  const __m256 top = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs0, weight));
  const __m256 bottom = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs1, weight));
  const __m256 v = _mm256_add_ps(top, _mm256_mul_ps(_mm256_sub_ps(bottom, top), fraction));
  return _mm256_mul_ps(v, _mm256_set1_ps(1.0f / 16384.0f));
}

inline void sample_u8_256(const SampleRow& a) noexcept {
  const auto* row0 = static_cast<const std::uint8_t*>(a.row0);
  const auto* row1 = static_cast<const std::uint8_t*>(a.row1);
  const __m256 fraction = _mm256_set1_ps(a.fraction);
  int i = 0;
  for (; i + 8 <= a.n; i += 8) {
    const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.weight + 2 * i));
    const __m256i pairs0 = _mm256_cvtepu8_epi16(gather_byte_pairs(row0, a.index + i));
    const __m256i pairs1 = _mm256_cvtepu8_epi16(gather_byte_pairs(row1, a.index + i));
    _mm256_storeu_ps(a.out + i, lerp_rows(pairs0, pairs1, weight, fraction));
  }
  sample_from<std::uint8_t>(a, i);
}

inline void sample_u16_256(const SampleRow& a) noexcept {
  const auto* row0 = static_cast<const std::uint16_t*>(a.row0);
  const auto* row1 = static_cast<const std::uint16_t*>(a.row1);
  const __m256 fraction = _mm256_set1_ps(a.fraction);
  int i = 0;
  for (; i + 8 <= a.n; i += 8) {
    const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.weight + 2 * i));
    const __m256i pairs0 = gather_word_pairs(row0, a.index + i);
    const __m256i pairs1 = gather_word_pairs(row1, a.index + i);
    _mm256_storeu_ps(a.out + i, lerp_rows(pairs0, pairs1, weight, fraction));
  }
  sample_from<std::uint16_t>(a, i);
}

inline void interleave3_256(const float* in0, const float* in1, const float* in2, float* out,
                            int n) noexcept {
  const __m256i order0 = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
  const __m256i order1 = _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2);
  const __m256i order2 = _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    // Each channel is permuted so that every lane already stands where one of the three vectors needs it.
    const __m256 a = _mm256_permutevar8x32_ps(_mm256_loadu_ps(in0 + i), order0);
    const __m256 b = _mm256_permutevar8x32_ps(_mm256_loadu_ps(in1 + i), order1);
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_loadu_ps(in2 + i), order2);
    // Lane k of vector v holds channel (8 v + k) mod 3.
    _mm256_storeu_ps(out + 3 * i, _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), c, 0x24));
    _mm256_storeu_ps(out + 3 * i + 8, _mm256_blend_ps(_mm256_blend_ps(c, a, 0x92), b, 0x24));
    _mm256_storeu_ps(out + 3 * i + 16, _mm256_blend_ps(_mm256_blend_ps(b, c, 0x92), a, 0x24));
  }
  interleave3_from(in0, in1, in2, out, i, n);
}
