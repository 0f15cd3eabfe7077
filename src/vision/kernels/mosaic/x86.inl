// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units.

// Eight neighbouring targets take their neighbours from windows of eight sources.
inline void spread_256(const float* row, const SpreadTable& table, const float* fraction, int begin, int end,
                       float* out) noexcept {
  if (table.base == nullptr) return spread_loop(row, table, fraction, begin, end, out);
  const int aligned = (begin + 7) / 8 * 8;
  int i = aligned < end ? aligned : end;
  spread_loop(row, table, fraction, begin, i, out);
  for (; i + 8 <= end; i += 8) {
    const std::int32_t base = table.base[i / 8];
    const __m256i lane = _mm256_sub_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.index + i)), _mm256_set1_epi32(base));
    const __m256 left = _mm256_permutevar8x32_ps(_mm256_loadu_ps(row + base), lane);
    const __m256 right = _mm256_permutevar8x32_ps(_mm256_loadu_ps(row + base + 1), lane);
    const __m256 way = _mm256_mul_ps(_mm256_sub_ps(right, left), _mm256_loadu_ps(fraction + i));
    _mm256_storeu_ps(out + i - begin, _mm256_add_ps(left, way));
  }
  spread_loop(row, table, fraction, i, end, out + (i - begin));
}
