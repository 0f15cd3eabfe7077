// 15-bit interpolation, sixteen values at a time.

inline __m256i load_i16(const std::int16_t* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline __m256i lerp_q15_256(__m256i a, __m256i b, __m256i weight) noexcept {
  return _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), weight));
}

// Sixteen targets from i on: each half takes its left values from a window of eight sources, its right values
// from the window one further.
inline __m256i spread_16(const std::int16_t* row, const SpreadTable& table, int i) noexcept {
  const std::int16_t* low = row + table.base[i / 8];
  const std::int16_t* high = row + table.base[i / 8 + 1];
  const __m256i shuffle = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.shuffle + 2 * i));
  const __m256i left =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
  const __m256i right = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low + 1))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high + 1)), 1);
  return lerp_q15_256(_mm256_shuffle_epi8(left, shuffle), _mm256_shuffle_epi8(right, shuffle),
                      load_i16(table.weight + i));
}
