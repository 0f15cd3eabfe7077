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
template <int kRows, bool kCosited>
inline void chroma_alpha_rows(const ChromaAlpha& a) noexcept {
  constexpr int kShift = (kRows == 1 ? 0 : (kRows == 2 ? 1 : 2)) + (kCosited ? 2 : 1);
  const __m256i ones = _mm256_set1_epi8(1);
  const __m256i half = _mm256_set1_epi16(1 << (kShift - 1));
  const std::uint8_t* row[kRows];
  for (int k = 0; k < kRows; ++k) row[k] = static_cast<const std::uint8_t*>(a.row[k]);
  auto* out = static_cast<std::uint8_t*>(a.out);
  const auto sixteen = [&](int i) {
    __m256i sum = half;
    for (int k = 0; k < kRows; ++k) {
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(load_u8(row[k] + 2 * i), ones));
      if (kCosited) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(load_u8(row[k] + 2 * i - 1), ones));
    }
    return _mm256_srli_epi16(sum, kShift);
  };
  int i = kCosited ? 1 : 0;
  chroma_alpha_from<std::uint8_t>(a, 0, i < a.width ? i : a.width);
  for (; i + 32 <= a.width && 2 * i + 64 <= a.luma_width; i += 32)
    store_u8(out + i, _mm256_permute4x64_epi64(_mm256_packus_epi16(sixteen(i), sixteen(i + 16)), 0xD8));
  if (i < a.width) chroma_alpha_from<std::uint8_t>(a, i, a.width);
}
inline void chroma_alpha_u8_256(const ChromaAlpha& a) noexcept {
  if (a.rows == 1)
    a.cosited ? chroma_alpha_rows<1, true>(a) : chroma_alpha_rows<1, false>(a);
  else if (a.rows == 2)
    a.cosited ? chroma_alpha_rows<2, true>(a) : chroma_alpha_rows<2, false>(a);
  else
    a.cosited ? chroma_alpha_rows<4, true>(a) : chroma_alpha_rows<4, false>(a);
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

inline __m256 load_f32(const float* p) noexcept { return _mm256_loadu_ps(p); }

// Thirty-two sums at a time stay in registers while the taps pass by.
inline void blur_row_256(const BlurRow& a) noexcept {
  int i = 0;
  for (; i + 32 <= a.n; i += 32) {
    const __m256 middle = _mm256_set1_ps(a.taps[0]);
    __m256 sum[4];
    for (int j = 0; j < 4; ++j) sum[j] = _mm256_mul_ps(middle, load_f32(a.in + i + 8 * j));
    for (int k = 1; k <= a.radius; ++k) {
      const __m256 tap = _mm256_set1_ps(a.taps[k]);
      const float* left = a.in + i - k;
      const float* right = a.in + i + k;
      for (int j = 0; j < 4; ++j)
        sum[j] = _mm256_add_ps(
            sum[j], _mm256_mul_ps(tap, _mm256_add_ps(load_f32(left + 8 * j), load_f32(right + 8 * j))));
    }
    for (int j = 0; j < 4; ++j) _mm256_storeu_ps(a.out + i + 8 * j, sum[j]);
  }
  const BlurRow rest = {a.in + i, a.taps, a.radius, a.n - i, a.out + i};
  blur_row_loop(rest);
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

inline __m256i load_u16(const std::uint16_t* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store_u16(std::uint16_t* p, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

// 16-bit samples of kDepth bits: products need 32 bits, which pairs of (sample, weight) give at once.
template <int kDepth>
inline __m256i mix_words(__m256i source, __m256i background, __m256i alpha) noexcept {
  const __m256i rest = _mm256_sub_epi16(_mm256_set1_epi16((1 << kDepth) - 1), alpha);
  const __m256i half = _mm256_set1_epi32(1 << (kDepth - 1));
  const auto divide = [&](__m256i v) {
    v = _mm256_add_epi32(v, half);
    return _mm256_srli_epi32(_mm256_add_epi32(v, _mm256_srli_epi32(v, kDepth)), kDepth);
  };
  const __m256i low =
      _mm256_madd_epi16(_mm256_unpacklo_epi16(source, background), _mm256_unpacklo_epi16(alpha, rest));
  const __m256i high =
      _mm256_madd_epi16(_mm256_unpackhi_epi16(source, background), _mm256_unpackhi_epi16(alpha, rest));
  return _mm256_packus_epi32(divide(low), divide(high));
}

template <int kDepth, class Background>
inline int blend_words(const std::uint16_t* source, Background background, const std::uint16_t* alpha, int n,
                       std::uint16_t* out) noexcept {
  const __m256i full = _mm256_set1_epi16((1 << kDepth) - 1);
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i a = load_u16(alpha + i);
    if (is_full(_mm256_cmpeq_epi16(a, full)))
      store_u16(out + i, load_u16(source + i));
    else if (is_zero(a))
      store_u16(out + i, background(i));
    else
      store_u16(out + i, mix_words<kDepth>(load_u16(source + i), background(i), a));
  }
  return i;
}

template <int kDepth>
inline void blend_depth_256(const std::uint16_t* source, const std::uint16_t* background,
                            const std::uint16_t* alpha, int n, std::uint16_t* out) noexcept {
  const int i = blend_words<kDepth>(
      source, [=](int at) { return load_u16(background + at); }, alpha, n, out);
  blend_loop<std::uint16_t, kDepth>(source, background, alpha, i, n, out);
}
inline void blend_u16_256(const std::uint16_t* source, const std::uint16_t* background,
                          const std::uint16_t* alpha, int depth, int n, std::uint16_t* out) noexcept {
  depth == 10 ? blend_depth_256<10>(source, background, alpha, n, out)
              : blend_depth_256<12>(source, background, alpha, n, out);
}

template <int kDepth>
inline void blend_flat_depth_256(const std::uint16_t* source, std::uint16_t background,
                                 const std::uint16_t* alpha, int n, std::uint16_t* out) noexcept {
  const __m256i flat = _mm256_set1_epi16(static_cast<short>(background));
  const int i = blend_words<kDepth>(
      source, [=](int) { return flat; }, alpha, n, out);
  blend_flat_loop<std::uint16_t, kDepth>(source, background, alpha, i, n, out);
}
inline void blend_flat_u16_256(const std::uint16_t* source, std::uint16_t background,
                               const std::uint16_t* alpha, int depth, int n, std::uint16_t* out) noexcept {
  depth == 10 ? blend_flat_depth_256<10>(source, background, alpha, n, out)
              : blend_flat_depth_256<12>(source, background, alpha, n, out);
}

template <int kDepth>
inline void blend_spread_depth_256(const std::uint16_t* source, const std::int16_t* row,
                                   const SpreadTable& table, const std::uint16_t* alpha,
                                   std::uint16_t* out) noexcept {
  const auto background = [&](int at) {
    return _mm256_mulhrs_epi16(spread_16(row, table, at), _mm256_set1_epi16(1 << kDepth));
  };
  const int i = blend_words<kDepth>(source, background, alpha, table.count, out);
  blend_spread_loop<std::uint16_t, kDepth>(source, row, table, alpha, i, out);
}
inline void blend_spread_u16_256(const std::uint16_t* source, const std::int16_t* row,
                                 const SpreadTable& table, const std::uint16_t* alpha, int depth,
                                 std::uint16_t* out) noexcept {
  if (table.base == nullptr) return blend_spread_u16_loop(source, row, table, alpha, depth, out);
  depth == 10 ? blend_spread_depth_256<10>(source, row, table, alpha, out)
              : blend_spread_depth_256<12>(source, row, table, alpha, out);
}

template <int kRows, bool kCosited>
inline void chroma_alpha_words(const ChromaAlpha& a) noexcept {
  constexpr int kShift = (kRows == 1 ? 0 : (kRows == 2 ? 1 : 2)) + (kCosited ? 2 : 1);
  const __m256i ones = _mm256_set1_epi16(1), half = _mm256_set1_epi32(1 << (kShift - 1));
  const std::uint16_t* row[kRows];
  for (int k = 0; k < kRows; ++k) row[k] = static_cast<const std::uint16_t*>(a.row[k]);
  auto* out = static_cast<std::uint16_t*>(a.out);
  const auto eight = [&](int i) {
    __m256i sum = half;
    for (int k = 0; k < kRows; ++k) {
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(load_u16(row[k] + 2 * i), ones));
      if (kCosited) sum = _mm256_add_epi32(sum, _mm256_madd_epi16(load_u16(row[k] + 2 * i - 1), ones));
    }
    return _mm256_srli_epi32(sum, kShift);
  };
  int i = kCosited ? 1 : 0;
  chroma_alpha_from<std::uint16_t>(a, 0, i < a.width ? i : a.width);
  for (; i + 16 <= a.width && 2 * i + 32 <= a.luma_width; i += 16)
    store_u16(out + i, _mm256_permute4x64_epi64(_mm256_packus_epi32(eight(i), eight(i + 8)), 0xD8));
  if (i < a.width) chroma_alpha_from<std::uint16_t>(a, i, a.width);
}
inline void chroma_alpha_u16_256(const ChromaAlpha& a) noexcept {
  if (a.rows == 1)
    a.cosited ? chroma_alpha_words<1, true>(a) : chroma_alpha_words<1, false>(a);
  else if (a.rows == 2)
    a.cosited ? chroma_alpha_words<2, true>(a) : chroma_alpha_words<2, false>(a);
  else
    a.cosited ? chroma_alpha_words<4, true>(a) : chroma_alpha_words<4, false>(a);
}

inline void cell_sums_u16_256(const CellSums& a) noexcept {
  if (a.shift != 2) return cell_sums_u16_loop(a);
  const auto* value = static_cast<const std::uint16_t*>(a.value);
  const auto* alpha = static_cast<const std::uint16_t*>(a.alpha);
  const __m256i full = _mm256_set1_epi16(static_cast<short>((1 << a.depth) - 1)), ones = _mm256_set1_epi16(1);
  const __m128i to_byte = _mm_cvtsi32_si128(a.depth - 8);
  // Sixteen samples make four sums, of which each 128-bit half holds two.
  const auto add_cells = [](std::uint32_t* sum, __m256i pairs) {
    const __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(pairs, pairs), 0x08);
    auto* p = reinterpret_cast<__m128i*>(sum);
    _mm_storeu_si128(p, _mm_add_epi32(_mm_loadu_si128(p), _mm256_castsi256_si128(sums)));
  };
  int i = 0;
  for (; i + 16 <= a.n; i += 16) {
    const __m256i opacity = load_u16(alpha + i);
    const __m256i is_whole = _mm256_cmpeq_epi16(opacity, full);
    if (is_full(is_whole)) continue;
    const __m256i byte = _mm256_srl_epi16(opacity, to_byte);
    const __m256i outside = _mm256_subs_epu16(_mm256_set1_epi16(4095), _mm256_slli_epi16(byte, 6));
    const __m256i edge = _mm256_max_epi16(_mm256_sub_epi16(_mm256_set1_epi16(128), byte), ones);
    const __m256i weight = _mm256_andnot_si256(is_whole, _mm256_max_epi16(outside, edge));
    add_cells(a.value_sum + i / 4, _mm256_madd_epi16(load_u16(value + i), weight));
    if (a.weight_sum != nullptr) add_cells(a.weight_sum + i / 4, _mm256_madd_epi16(weight, ones));
  }
  cell_sums_from<std::uint16_t>(a, i);
}
