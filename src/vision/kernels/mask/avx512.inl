// 512-bit versions of what makes the mask of a video, for the AVX-512 unit.
#include "vision/kernels/spread_avx512.inl"

inline void lerp_rows_512(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                          std::int16_t* out) noexcept {
  const __m512i w = _mm512_set1_epi16(weight);
  int i = 0;
  for (; i + 32 <= n; i += 32)
    _mm512_storeu_si512(out + i, lerp_q15_512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i), w));
  for (; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
}

inline void spread_u8_512(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                          std::uint8_t* out) noexcept {
  if (table.place == nullptr) return spread_u8_256(row, table, multiplier, out);
  const __m512i m = _mm512_set1_epi16(multiplier);
  for (int i = 0; i < table.count; i += 64) {
    const __m512i low = _mm512_mulhrs_epi16(spread_32(row, table, i), m);
    const __m512i high = _mm512_mulhrs_epi16(spread_32(row, table, i + 32), m);
    // Of masked stores few are made: some processors take many cycles for one.
    if (i + 64 <= table.count)
      _mm512_storeu_si512(out + i, pack_words(low, high));
    else
      _mm512_mask_storeu_epi8(out + i, first_lanes(table.count - i), pack_words(low, high));
  }
}
