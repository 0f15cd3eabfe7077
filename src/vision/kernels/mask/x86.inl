// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units.

inline __m256i load_i16(const std::int16_t* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline __m256i lerp_q15_256(__m256i a, __m256i b, __m256i weight) noexcept {
  return _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), weight));
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

inline void spread_256(const std::int16_t* row, const SpreadTable& table, std::int16_t* out) noexcept {
  if (table.base == nullptr) return spread_loop(row, table, out);
  int i = 0;
  for (; i + 16 <= table.count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), spread_16(row, table, i));
  for (; i < table.count; ++i) out[i] = spread_at(row, table, i);
}

inline void spread_u8_256(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                          std::uint8_t* out) noexcept {
  if (table.base == nullptr) return spread_u8_loop(row, table, multiplier, out);
  const __m256i m = _mm256_set1_epi16(multiplier);
  int i = 0;
  for (; i + 32 <= table.count; i += 32) {
    const __m256i a = _mm256_mulhrs_epi16(spread_16(row, table, i), m);
    const __m256i b = _mm256_mulhrs_epi16(spread_16(row, table, i + 16), m);
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), bytes);
  }
  spread_scaled_from(row, table, multiplier, i, out);
}

inline void spread_u16_256(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                           std::uint16_t* out) noexcept {
  if (table.base == nullptr) return spread_u16_loop(row, table, multiplier, out);
  const __m256i m = _mm256_set1_epi16(multiplier);
  int i = 0;
  for (; i + 16 <= table.count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_mulhrs_epi16(spread_16(row, table, i), m));
  spread_scaled_from(row, table, multiplier, i, out);
}
