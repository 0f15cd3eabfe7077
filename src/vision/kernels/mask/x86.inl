// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units.
#include "vision/kernels/spread_x86.inl"

inline void lerp_rows_256(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                          std::int16_t* out) noexcept {
  const __m256i w = _mm256_set1_epi16(weight);
  int i = 0;
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        lerp_q15_256(load_i16(a + i), load_i16(b + i), w));
  for (; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
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
