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

// As fast_exp.
inline __m256 fast_exp_256(__m256 x) noexcept {
  x = _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(88.0f)), _mm256_set1_ps(-87.0f));
  const __m256 magic = _mm256_set1_ps(12582912.0f);
  const __m256 n = _mm256_sub_ps(_mm256_add_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), magic), magic);
  const __m256 r = _mm256_add_ps(_mm256_sub_ps(x, _mm256_mul_ps(n, _mm256_set1_ps(0.693359375f))),
                                 _mm256_mul_ps(n, _mm256_set1_ps(2.12194440e-4f)));
  const auto step = [r](__m256 p, float next) {
    return _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(next));
  };
  __m256 p = _mm256_set1_ps(1.9875691500e-4f);
  p = step(p, 1.3981999507e-3f);
  p = step(p, 8.3334519073e-3f);
  p = step(p, 4.1665795894e-2f);
  p = step(p, 1.6666665459e-1f);
  p = step(p, 5.0000001201e-1f);
  p = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(p, r), r), r), _mm256_set1_ps(1.0f));
  const __m256i exponent = _mm256_add_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

// Eight values from each of eight rows that lie `step` apart, columns made rows.
inline void transpose_8x8(const float* in, std::ptrdiff_t step, __m256 (&out)[8]) noexcept {
  __m256 a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    const __m256 low = _mm256_loadu_ps(in + 2 * i * step), high = _mm256_loadu_ps(in + (2 * i + 1) * step);
    a[2 * i] = _mm256_unpacklo_ps(low, high);
    a[2 * i + 1] = _mm256_unpackhi_ps(low, high);
  }
  for (int i = 0; i < 2; ++i) {
    b[4 * i] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0x44);
    b[4 * i + 1] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0xEE);
    b[4 * i + 2] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0x44);
    b[4 * i + 3] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    out[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

inline void to_planes_256(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                          int channels, int n, float* out, std::ptrdiff_t pitch) noexcept {
  int done = 0;  // pixels
  int whole = 0;
  if (channel_step == 1) {
    whole = channels / 8 * 8;
    for (; done + 8 <= n; done += 8) {
      const float* p = in + done * pixel_step;
      for (int c = 0; c < whole; c += 8) {
        __m256 planes[8];
        transpose_8x8(p + c, pixel_step, planes);
        for (int k = 0; k < 8; ++k) _mm256_storeu_ps(out + (c + k) * pitch + done, planes[k]);
      }
    }
    to_planes_from(in, pixel_step, channel_step, whole, channels, done, out, pitch);
  }
  to_planes_loop(in + done * pixel_step, pixel_step, channel_step, channels, n - done, out + done, pitch);
}

// Thirty-two pixels side by side, their states in registers while the channels pass by.
inline void softmax_planes_32(const float* in, std::ptrdiff_t channel_step, int channels,
                              const std::uint8_t* selected, float bound, float* out) noexcept {
  constexpr int kVectors = 4;
  __m256 inside[kVectors], outside[kVectors];
  for (int j = 0; j < kVectors; ++j) inside[j] = outside[j] = _mm256_set1_ps(-__builtin_inff());
  for (int c = 0; c < channels; ++c) {
    const float* p = in + c * channel_step;
    // The larger of both, the old one if either is not a number.
    if (selected[c] != 0)
      for (int j = 0; j < kVectors; ++j) inside[j] = _mm256_max_ps(_mm256_loadu_ps(p + 8 * j), inside[j]);
    else
      for (int j = 0; j < kVectors; ++j) outside[j] = _mm256_max_ps(_mm256_loadu_ps(p + 8 * j), outside[j]);
  }
  const __m256 ahead = _mm256_set1_ps(bound), behind = _mm256_set1_ps(-bound);
  __m256 top[kVectors], decided[kVectors];
  __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (int j = 0; j < kVectors; ++j) {
    const __m256 lead = _mm256_sub_ps(inside[j], outside[j]);
    const __m256 is_one = _mm256_cmp_ps(lead, ahead, _CMP_GT_OQ);
    decided[j] = _mm256_or_ps(is_one, _mm256_cmp_ps(lead, behind, _CMP_LT_OQ));
    all = _mm256_and_ps(all, decided[j]);
    top[j] = _mm256_max_ps(outside[j], inside[j]);
    _mm256_storeu_ps(out + 8 * j, _mm256_and_ps(is_one, _mm256_set1_ps(1.0f)));
  }
  if (_mm256_movemask_ps(all) == 255) return;
  __m256 total[kVectors], share[kVectors];
  for (int j = 0; j < kVectors; ++j) total[j] = share[j] = _mm256_setzero_ps();
  for (int c = 0; c < channels; ++c) {
    const float* p = in + c * channel_step;
    __m256 value[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      value[j] = fast_exp_256(_mm256_sub_ps(_mm256_loadu_ps(p + 8 * j), top[j]));
      total[j] = _mm256_add_ps(total[j], value[j]);
    }
    if (selected[c] == 0) continue;
    for (int j = 0; j < kVectors; ++j) share[j] = _mm256_add_ps(share[j], value[j]);
  }
  for (int j = 0; j < kVectors; ++j)
    _mm256_storeu_ps(out + 8 * j, _mm256_blendv_ps(_mm256_div_ps(share[j], total[j]),
                                                   _mm256_loadu_ps(out + 8 * j), decided[j]));
}

inline void softmax_share_256(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                              int channels, const std::uint8_t* selected, float bound, int n,
                              float* out) noexcept {
  constexpr int kPixels = 32, kMostChannels = 256;
  int i = 0;
  if (pixel_step == 1) {
    for (; i + kPixels <= n; i += kPixels)
      softmax_planes_32(in + i, channel_step, channels, selected, bound, out + i);
  } else if (channels <= kMostChannels) {
    float planes[kMostChannels * kPixels];
    for (; i + kPixels <= n; i += kPixels) {
      to_planes_256(in + i * pixel_step, pixel_step, channel_step, channels, kPixels, planes, kPixels);
      softmax_planes_32(planes, kPixels, channels, selected, bound, out + i);
    }
  }
  softmax_share_loop(in + i * pixel_step, pixel_step, channel_step, channels, selected, bound, n - i,
                     out + i);
}

inline void leaders_256(const float* in, std::ptrdiff_t channel_step, int channels, int n, float* lead,
                        std::uint8_t* number, float* largest) noexcept {
  constexpr int kVectors = 4;
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  __m256 most = _mm256_set1_ps(*largest);
  int i = 0;
  for (; i + 8 * kVectors <= n; i += 8 * kVectors) {
    __m256 best[kVectors], second[kVectors];
    __m256i index[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      best[j] = _mm256_loadu_ps(in + i + 8 * j);
      second[j] = _mm256_set1_ps(-__builtin_inff());
      index[j] = _mm256_setzero_si256();
      most = _mm256_max_ps(_mm256_and_ps(best[j], magnitude), most);
    }
    for (int c = 1; c < channels; ++c) {
      const float* p = in + c * channel_step + i;
      const __m256i number_here = _mm256_set1_epi32(c);
      for (int j = 0; j < kVectors; ++j) {
        const __m256 v = _mm256_loadu_ps(p + 8 * j);
        const __m256 above = _mm256_cmp_ps(v, best[j], _CMP_GT_OQ);
        most = _mm256_max_ps(_mm256_and_ps(v, magnitude), most);
        second[j] = _mm256_blendv_ps(_mm256_max_ps(v, second[j]), best[j], above);
        best[j] = _mm256_blendv_ps(best[j], v, above);
        index[j] = _mm256_blendv_epi8(index[j], number_here, _mm256_castps_si256(above));
      }
    }
    for (int j = 0; j < kVectors; ++j) _mm256_storeu_ps(lead + i + 8 * j, _mm256_sub_ps(best[j], second[j]));
    // Words of the lower and upper halves alternate after both packings.
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_packus_epi32(index[0], index[1]), _mm256_packus_epi32(index[2], index[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(number + i),
                        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  }
  float lanes[8];
  _mm256_storeu_ps(lanes, most);
  for (int k = 0; k < 8; ++k) *largest = lanes[k] > *largest ? lanes[k] : *largest;
  leaders_from(in, channel_step, channels, i, n, lead, number, largest);
}
