// 512-bit versions of the hot loops on 8-bit samples, for the AVX-512 unit. What does not fill a vector at
// the end of a row is masked.
#include "vision/kernels/spread_avx512.inl"

// 16-bit lanes, as mix_256.
inline __m512i mix_512(__m512i source, __m512i background, __m512i alpha) noexcept {
  const __m512i rest = _mm512_sub_epi16(_mm512_set1_epi16(255), alpha);
  __m512i v = _mm512_add_epi16(_mm512_mullo_epi16(source, alpha), _mm512_mullo_epi16(background, rest));
  v = _mm512_add_epi16(v, _mm512_set1_epi16(128));
  return _mm512_srli_epi16(_mm512_add_epi16(v, _mm512_srli_epi16(v, 8)), 8);
}

inline __m512i mix_bytes_512(__m512i source, __m512i background, __m512i alpha) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i low = mix_512(_mm512_unpacklo_epi8(source, zero), _mm512_unpacklo_epi8(background, zero),
                              _mm512_unpacklo_epi8(alpha, zero));
  const __m512i high = mix_512(_mm512_unpackhi_epi8(source, zero), _mm512_unpackhi_epi8(background, zero),
                               _mm512_unpackhi_epi8(alpha, zero));
  return _mm512_packus_epi16(low, high);
}

// Of masked stores few are made: some processors take many cycles for one.
template <bool kWhole>
inline void blend_spread_64(const std::uint8_t* source, const std::int16_t* row, const SpreadTable& table,
                            const std::uint8_t* alpha, int i, __mmask64 lanes, std::uint8_t* out) noexcept {
  const auto load = [&](const std::uint8_t* p) {
    return kWhole ? _mm512_loadu_si512(p + i) : _mm512_maskz_loadu_epi8(lanes, p + i);
  };
  const auto store = [&](__m512i v) {
    if (kWhole)
      _mm512_storeu_si512(out + i, v);
    else
      _mm512_mask_storeu_epi8(out + i, lanes, v);
  };
  const __m512i a = load(alpha);
  if (_mm512_cmpeq_epi8_mask(a, _mm512_set1_epi8(-1)) == lanes) return store(load(source));
  const __m512i to_sample = _mm512_set1_epi16(256);
  const __m512i low = _mm512_mulhrs_epi16(spread_32(row, table, i), to_sample);
  const __m512i high = _mm512_mulhrs_epi16(spread_32(row, table, i + 32), to_sample);
  const __m512i background = pack_words(low, high);
  if (_mm512_test_epi8_mask(a, a) == 0)
    store(background);
  else
    store(mix_bytes_512(load(source), background, a));
}

inline void blend_spread_u8_512(const std::uint8_t* source, const std::int16_t* row, const SpreadTable& table,
                                const std::uint8_t* alpha, std::uint8_t* out) noexcept {
  if (table.place == nullptr) return blend_spread_u8_256(source, row, table, alpha, out);
  int i = 0;
  for (; i + 64 <= table.count; i += 64)
    blend_spread_64<true>(source, row, table, alpha, i, ~__mmask64{0}, out);
  if (i < table.count)
    blend_spread_64<false>(source, row, table, alpha, i, first_lanes(table.count - i), out);
}

// Thirty-two chroma alphas from i on take the pairs of 64 luma alphas and, cosited, those shifted by one.
template <int kRows, bool kCosited>
inline void chroma_alpha_rows_512(const ChromaAlpha& a) noexcept {
  constexpr int kShift = (kRows == 1 ? 0 : (kRows == 2 ? 1 : 2)) + (kCosited ? 2 : 1);
  const __m512i ones = _mm512_set1_epi8(1), half = _mm512_set1_epi16(1 << (kShift - 1));
  const std::uint8_t* row[kRows];
  for (int k = 0; k < kRows; ++k) row[k] = static_cast<const std::uint8_t*>(a.row[k]);
  auto* out = static_cast<std::uint8_t*>(a.out);
  const auto add = [&](__m512i sum, __m512i luma) {
    return _mm512_add_epi16(sum, _mm512_maddubs_epi16(luma, ones));
  };
  const auto whole = [&](int i) {
    __m512i sum = half;
    for (int k = 0; k < kRows; ++k) {
      sum = add(sum, _mm512_loadu_si512(row[k] + 2 * i));
      if (kCosited) sum = add(sum, _mm512_loadu_si512(row[k] + 2 * i - 1));
    }
    return _mm512_srli_epi16(sum, kShift);
  };
  // Only so many pairs of luma alphas lie within the row.
  const auto part = [&](int i, int pairs) {
    const __mmask64 lanes = pairs <= 0 ? 0 : first_lanes(2 * pairs);
    __m512i sum = half;
    for (int k = 0; k < kRows; ++k) {
      sum = add(sum, _mm512_maskz_loadu_epi8(lanes, row[k] + 2 * i));
      if (kCosited) sum = add(sum, _mm512_maskz_loadu_epi8(lanes, row[k] + 2 * i - 1));
    }
    return _mm512_srli_epi16(sum, kShift);
  };
  const int begin = kCosited ? 1 : 0;
  // The last column of an odd width has no right neighbour.
  const int end = a.width < a.luma_width / 2 ? a.width : a.luma_width / 2;
  chroma_alpha_from<std::uint8_t>(a, 0, begin < a.width ? begin : a.width);
  int i = begin;
  for (; i + 64 <= end; i += 64) _mm512_storeu_si512(out + i, pack_words(whole(i), whole(i + 32)));
  if (i < end)
    _mm512_mask_storeu_epi8(out + i, first_lanes(end - i),
                            pack_words(part(i, end - i), part(i + 32, end - i - 32)));
  chroma_alpha_from<std::uint8_t>(a, end > begin ? end : begin, a.width);
}
inline void chroma_alpha_u8_512(const ChromaAlpha& a) noexcept {
  if (a.rows == 1)
    a.cosited ? chroma_alpha_rows_512<1, true>(a) : chroma_alpha_rows_512<1, false>(a);
  else if (a.rows == 2)
    a.cosited ? chroma_alpha_rows_512<2, true>(a) : chroma_alpha_rows_512<2, false>(a);
  else
    a.cosited ? chroma_alpha_rows_512<4, true>(a) : chroma_alpha_rows_512<4, false>(a);
}

// background_weight of 16-bit lanes.
inline __m512i background_weight_512(__m512i alpha) noexcept {
  const __m512i outside = _mm512_subs_epu16(_mm512_set1_epi16(4095), _mm512_slli_epi16(alpha, 6));
  const __m512i edge =
      _mm512_max_epi16(_mm512_sub_epi16(_mm512_set1_epi16(128), alpha), _mm512_set1_epi16(1));
  const __mmask32 some = _mm512_cmpneq_epi16_mask(alpha, _mm512_set1_epi16(255));
  return _mm512_maskz_max_epi16(some, outside, edge);
}

inline void cell_sums_u8_512(const CellSums& a) noexcept {
  if (a.shift != 2) return cell_sums_u8_loop(a);
  const auto* value = static_cast<const std::uint8_t*>(a.value);
  const auto* alpha = static_cast<const std::uint8_t*>(a.alpha);
  const __m512i zero = _mm512_setzero_si512(), ones8 = _mm512_set1_epi8(1), ones16 = _mm512_set1_epi16(1);
  const __m512i full = _mm512_set1_epi8(-1), whole = _mm512_set1_epi16(4095);
  // Pairs of the lower and of the upper eight bytes of every sixteen: neighbours are added up.
  const auto cells = [](__m512i low, __m512i high) {
    const __m512i even =
        _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(low), _mm512_castsi512_ps(high), 0x88));
    const __m512i odd =
        _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(low), _mm512_castsi512_ps(high), 0xDD));
    return _mm512_add_epi32(even, odd);
  };
  const auto add = [](std::uint32_t* sum, __m512i more) {
    _mm512_storeu_si512(sum, _mm512_add_epi32(_mm512_loadu_si512(sum), more));
  };
  int i = 0;
  for (; i + 64 <= a.n; i += 64) {
    const __m512i opacity = _mm512_loadu_si512(alpha + i);
    if (_mm512_cmpneq_epi8_mask(opacity, full) == 0) continue;
    const __m512i v = _mm512_loadu_si512(value + i);
    if (_mm512_test_epi8_mask(opacity, opacity) == 0) {
      add(a.value_sum + i / 4, _mm512_madd_epi16(_mm512_maddubs_epi16(v, ones8), whole));
      if (a.weight_sum != nullptr) add(a.weight_sum + i / 4, _mm512_set1_epi32(4 * 4095));
      continue;
    }
    const __m512i low = background_weight_512(_mm512_unpacklo_epi8(opacity, zero));
    const __m512i high = background_weight_512(_mm512_unpackhi_epi8(opacity, zero));
    add(a.value_sum + i / 4, cells(_mm512_madd_epi16(_mm512_unpacklo_epi8(v, zero), low),
                                   _mm512_madd_epi16(_mm512_unpackhi_epi8(v, zero), high)));
    if (a.weight_sum != nullptr)
      add(a.weight_sum + i / 4, cells(_mm512_madd_epi16(low, ones16), _mm512_madd_epi16(high, ones16)));
  }
  if (i == a.n) return;
  CellSums rest = a;
  rest.value = value + i;
  rest.alpha = alpha + i;
  rest.n = a.n - i;
  rest.value_sum += i / 4;
  if (rest.weight_sum != nullptr) rest.weight_sum += i / 4;
  cell_sums_u8_256(rest);
}

// kVectors times sixteen sums stay in registers while the taps pass by; `lanes` are those of the last vector,
// all if kWhole.
template <int kVectors, bool kWhole = false>
inline void blur_row_part(const BlurRow& a, int i, __mmask16 lanes) noexcept {
  const auto load = [&](const float* p, int j) {
    return kWhole || j + 1 < kVectors ? _mm512_loadu_ps(p + 16 * j)
                                      : _mm512_maskz_loadu_ps(lanes, p + 16 * j);
  };
  const __m512 middle = _mm512_set1_ps(a.taps[0]);
  __m512 sum[kVectors];
  for (int j = 0; j < kVectors; ++j) sum[j] = _mm512_mul_ps(middle, load(a.in + i, j));
  for (int k = 1; k <= a.radius; ++k) {
    const __m512 tap = _mm512_set1_ps(a.taps[k]);
    for (int j = 0; j < kVectors; ++j) {
      const __m512 both = _mm512_add_ps(load(a.in + i - k, j), load(a.in + i + k, j));
      sum[j] = _mm512_add_ps(sum[j], _mm512_mul_ps(tap, both));
    }
  }
  for (int j = 0; j < kVectors; ++j) {
    if (kWhole || j + 1 < kVectors)
      _mm512_storeu_ps(a.out + i + 16 * j, sum[j]);
    else
      _mm512_mask_storeu_ps(a.out + i + 16 * j, lanes, sum[j]);
  }
}

inline __mmask16 last_floats(int n) noexcept {
  return static_cast<__mmask16>((1u << ((n - 1) % 16 + 1)) - 1);
}

inline void blur_row_512(const BlurRow& a) noexcept {
  int i = 0;
  for (; i + 64 <= a.n; i += 64) blur_row_part<4, true>(a, i, 0xFFFF);
  const int rest = a.n - i;
  if (rest > 48)
    blur_row_part<4>(a, i, last_floats(rest));
  else if (rest > 32)
    blur_row_part<3>(a, i, last_floats(rest));
  else if (rest > 16)
    blur_row_part<2>(a, i, last_floats(rest));
  else if (rest > 0)
    blur_row_part<1>(a, i, last_floats(rest));
}

template <int kVectors, bool kWhole = false>
inline void blur_column_part(const float* const* above, const float* const* below, const float* taps,
                             int radius, int i, __mmask16 lanes, float* out) noexcept {
  const auto load = [&](const float* p, int j) {
    return kWhole || j + 1 < kVectors ? _mm512_loadu_ps(p + i + 16 * j)
                                      : _mm512_maskz_loadu_ps(lanes, p + i + 16 * j);
  };
  const __m512 middle = _mm512_set1_ps(taps[0]);
  __m512 sum[kVectors];
  for (int j = 0; j < kVectors; ++j) sum[j] = _mm512_mul_ps(middle, load(above[0], j));
  for (int k = 1; k <= radius; ++k) {
    const __m512 tap = _mm512_set1_ps(taps[k]);
    const float *a = above[k], *b = below[k];
    if (a != nullptr && b != nullptr) {
      for (int j = 0; j < kVectors; ++j)
        sum[j] = _mm512_add_ps(sum[j], _mm512_mul_ps(tap, _mm512_add_ps(load(a, j), load(b, j))));
    } else if (a != nullptr || b != nullptr) {
      const float* one = a != nullptr ? a : b;
      for (int j = 0; j < kVectors; ++j) sum[j] = _mm512_add_ps(sum[j], _mm512_mul_ps(tap, load(one, j)));
    }
  }
  for (int j = 0; j < kVectors; ++j) {
    if (kWhole || j + 1 < kVectors)
      _mm512_storeu_ps(out + i + 16 * j, sum[j]);
    else
      _mm512_mask_storeu_ps(out + i + 16 * j, lanes, sum[j]);
  }
}

inline void blur_column_512(const float* const* above, const float* const* below, const float* taps,
                            int radius, int n, float* out) noexcept {
  int i = 0;
  for (; i + 64 <= n; i += 64) blur_column_part<4, true>(above, below, taps, radius, i, 0xFFFF, out);
  const int rest = n - i;
  if (rest > 48)
    blur_column_part<4>(above, below, taps, radius, i, last_floats(rest), out);
  else if (rest > 32)
    blur_column_part<3>(above, below, taps, radius, i, last_floats(rest), out);
  else if (rest > 16)
    blur_column_part<2>(above, below, taps, radius, i, last_floats(rest), out);
  else if (rest > 0)
    blur_column_part<1>(above, below, taps, radius, i, last_floats(rest), out);
}

inline void lerp_rows_512(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                          std::int16_t* out) noexcept {
  const __m512i w = _mm512_set1_epi16(weight);
  int i = 0;
  for (; i + 32 <= n; i += 32)
    _mm512_storeu_si512(out + i, lerp_q15_512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i), w));
  for (; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
}
