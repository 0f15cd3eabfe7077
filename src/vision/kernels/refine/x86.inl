// 256-bit versions of the hot loops, for the AVX2 and AVX-512 units.

inline __m256i load_bytes(const std::uint8_t* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// Eight cells at a time: pairs of pixels become words, pairs of words a cell.
inline void means_u8_256(const std::uint8_t* const* rows, int cells, float scale, float* out) noexcept {
  static_assert(kRefineCell == 4);
  const __m256i one_bytes = _mm256_set1_epi8(1), one_words = _mm256_set1_epi16(1);
  const __m256 factor = _mm256_set1_ps(scale);
  int c = 0;
  for (; c + 8 <= cells; c += 8) {
    const int x = c * kRefineCell;
    const __m256i upper = _mm256_add_epi16(_mm256_maddubs_epi16(load_bytes(rows[0] + x), one_bytes),
                                           _mm256_maddubs_epi16(load_bytes(rows[1] + x), one_bytes));
    const __m256i lower = _mm256_add_epi16(_mm256_maddubs_epi16(load_bytes(rows[2] + x), one_bytes),
                                           _mm256_maddubs_epi16(load_bytes(rows[3] + x), one_bytes));
    const __m256i sum = _mm256_madd_epi16(_mm256_add_epi16(upper, lower), one_words);
    _mm256_storeu_ps(out + c, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), factor));
  }
  const std::uint8_t* const rest[kRefineCell] = {rows[0] + c * kRefineCell, rows[1] + c * kRefineCell,
                                                 rows[2] + c * kRefineCell, rows[3] + c * kRefineCell};
  means_u8_loop(rest, cells - c, scale, out + c);
}

// slope * luma + offset * 2^kOffsetShift as one product of pairs.
inline void apply_u8_256(const std::uint8_t* luma, const std::int16_t* slope, const std::int16_t* offset, int n,
                         std::uint8_t* alpha) noexcept {
  const __m256i unit = _mm256_set1_epi16(1 << kOffsetShift), half = _mm256_set1_epi32(kHalf);
  const auto words = [](const std::int16_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  };
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i l = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(luma + i)));
    const __m256i s = words(slope + i), o = words(offset + i);
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(s, o), _mm256_unpacklo_epi16(l, unit));
    const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(s, o), _mm256_unpackhi_epi16(l, unit));
    const __m256i packed =
        _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), kRefineSlopeBits),
                           _mm256_srai_epi32(_mm256_add_epi32(high, half), kRefineSlopeBits));
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(packed, packed), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(alpha + i), _mm256_castsi256_si128(bytes));
  }
  apply_u8_loop(luma + i, slope + i, offset + i, n - i, alpha + i);
}

// Eight windows at a time, in the order of solve_loop.
inline void solve_256(const float* sums, std::ptrdiff_t pitch, int radius, float norm, float smoothness, int n,
                      float* slope, float* offset) noexcept {
  const __m256 factor = _mm256_set1_ps(norm), smooth = _mm256_set1_ps(smoothness), zero = _mm256_setzero_ps();
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 luma = zero, alpha = zero, squared = zero, product = zero;
    const float* p = sums + i;
    for (int k = 0; k <= 2 * radius; ++k, ++p) {
      luma = _mm256_add_ps(luma, _mm256_loadu_ps(p));
      alpha = _mm256_add_ps(alpha, _mm256_loadu_ps(p + pitch));
      squared = _mm256_add_ps(squared, _mm256_loadu_ps(p + 2 * pitch));
      product = _mm256_add_ps(product, _mm256_loadu_ps(p + 3 * pitch));
    }
    const __m256 mean_luma = _mm256_mul_ps(luma, factor), mean_alpha = _mm256_mul_ps(alpha, factor);
    const __m256 variance = _mm256_max_ps(
        _mm256_sub_ps(_mm256_mul_ps(squared, factor), _mm256_mul_ps(mean_luma, mean_luma)), zero);
    const __m256 covariance = _mm256_sub_ps(_mm256_mul_ps(product, factor), _mm256_mul_ps(mean_luma, mean_alpha));
    const __m256 a = _mm256_div_ps(covariance, _mm256_add_ps(variance, smooth));
    _mm256_storeu_ps(slope + i, a);
    _mm256_storeu_ps(offset + i, _mm256_sub_ps(mean_alpha, _mm256_mul_ps(a, mean_luma)));
  }
  if (i < n) solve_loop(sums + i, pitch, radius, norm, smoothness, n - i, slope + i, offset + i);
}

inline void box_quantise_256(const float* in, int radius, float scale, int n, std::int16_t* out) noexcept {
  const __m256 factor = _mm256_set1_ps(scale), most = _mm256_set1_ps(32767.0f), least = _mm256_set1_ps(-32768.0f);
  const __m256 shift = _mm256_set1_ps(32768.5f);
  const __m256i back = _mm256_set1_epi32(32768);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 sum = _mm256_setzero_ps();
    for (int k = 0; k <= 2 * radius; ++k) sum = _mm256_add_ps(sum, _mm256_loadu_ps(in + i + k));
    const __m256 v = _mm256_max_ps(_mm256_min_ps(_mm256_mul_ps(sum, factor), most), least);
    const __m256i rounded = _mm256_sub_epi32(_mm256_cvttps_epi32(_mm256_add_ps(v, shift)), back);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_castsi256_si128(packed));
  }
  if (i < n) box_quantise_loop(in + i, radius, scale, n - i, out + i);
}
