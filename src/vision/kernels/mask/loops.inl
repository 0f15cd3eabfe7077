// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.
#include "vision/kernels/spread_loops.inl"

// exp by 2^n * polynomial; relative error below 3e-7, arguments outside -87..88 are clamped.
inline float fast_exp(float x) noexcept {
  x = x < 88.0f ? x : 88.0f;
  x = x > -87.0f ? x : -87.0f;
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const float shifted = x * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) * (1 << 23);
  float scale;
  __builtin_memcpy(&scale, &bits, 4);
  return p * scale;
}

inline void sigmoid_loop(const float* in, std::ptrdiff_t step, int n, float* __restrict out) noexcept {
  if (step == 1) {
    for (int i = 0; i < n; ++i) out[i] = 1.0f / (1.0f + fast_exp(-in[i]));
    return;
  }
  for (int i = 0; i < n; ++i) out[i] = 1.0f / (1.0f + fast_exp(-in[i * step]));
}

constexpr int kSoftmaxBlock = 64;

// Shares of one block. A pixel whose best selected (other) class is ahead of all others (selected ones) by
// more than `bound` has a share of one (zero); only the others need exponentials.
inline void softmax_block(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                          int channels, const std::uint8_t* selected, float bound, int n,
                          float* __restrict out) noexcept {
  float top[2][kSoftmaxBlock], total[kSoftmaxBlock], share[kSoftmaxBlock], value[kSoftmaxBlock];
  for (int i = 0; i < n; ++i) {
    top[0][i] = top[1][i] = -__builtin_inff();
    total[i] = share[i] = 0;
  }
  for (int c = 0; c < channels; ++c) {
    const float* p = in + c * channel_step;
    float* best = top[selected[c] != 0 ? 1 : 0];
    for (int i = 0; i < n; ++i) {
      const float v = p[i * pixel_step];
      best[i] = v > best[i] ? v : best[i];
    }
  }
  bool decided = true;
  for (int i = 0; i < n; ++i) {
    const float lead = top[1][i] - top[0][i];
    decided = decided && (lead > bound || lead < -bound);
    value[i] = top[0][i] > top[1][i] ? top[0][i] : top[1][i];
    out[i] = lead > bound ? 1.0f : 0.0f;
    top[1][i] = lead;
    top[0][i] = value[i];
  }
  if (decided) return;
  for (int c = 0; c < channels; ++c) {
    const float* p = in + c * channel_step;
    for (int i = 0; i < n; ++i) value[i] = p[i * pixel_step];
    for (int i = 0; i < n; ++i) value[i] = fast_exp(value[i] - top[0][i]);
    for (int i = 0; i < n; ++i) total[i] += value[i];
    if (selected[c] == 0) continue;
    for (int i = 0; i < n; ++i) share[i] += value[i];
  }
  for (int i = 0; i < n; ++i) {
    const bool open = !(top[1][i] > bound || top[1][i] < -bound);
    out[i] = open ? share[i] / total[i] : out[i];
  }
}

inline void softmax_share_loop(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                               int channels, const std::uint8_t* selected, float bound, int n,
                               float* out) noexcept {
  for (int i = 0; i < n; i += kSoftmaxBlock) {
    const int count = n - i < kSoftmaxBlock ? n - i : kSoftmaxBlock;
    softmax_block(in + i * pixel_step, pixel_step, channel_step, channels, selected, bound, count, out + i);
  }
}

inline void to_planes_from(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step, int begin,
                           int channels, int n, float* __restrict out, std::ptrdiff_t pitch) noexcept {
  for (int c = begin; c < channels; ++c) {
    const float* p = in + c * channel_step;
    float* to = out + c * pitch;
    if (pixel_step == 1) {
      __builtin_memcpy(to, p, static_cast<std::size_t>(n) * sizeof(float));
      continue;
    }
    for (int i = 0; i < n; ++i) to[i] = p[i * pixel_step];
  }
}
inline void to_planes_loop(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                           int channels, int n, float* out, std::ptrdiff_t pitch) noexcept {
  to_planes_from(in, pixel_step, channel_step, 0, channels, n, out, pitch);
}

inline void leaders_from(const float* in, std::ptrdiff_t channel_step, int channels, int begin, int n,
                         float* __restrict lead, std::uint8_t* __restrict number, float* largest) noexcept {
  float most = *largest;
  for (int i = begin; i < n; ++i) {
    float best = in[i], second = -__builtin_inff();
    const float size = best < 0 ? -best : best;
    most = size > most ? size : most;
    int index = 0;
    for (int c = 1; c < channels; ++c) {
      const float v = in[c * channel_step + i];
      const float magnitude = v < 0 ? -v : v;
      most = magnitude > most ? magnitude : most;
      second = v > best ? best : (v > second ? v : second);
      index = v > best ? c : index;
      best = v > best ? v : best;
    }
    lead[i] = best - second;
    number[i] = static_cast<std::uint8_t>(index);
  }
  *largest = most;
}
inline void leaders_loop(const float* in, std::ptrdiff_t channel_step, int channels, int n, float* lead,
                         std::uint8_t* number, float* largest) noexcept {
  leaders_from(in, channel_step, channels, 0, n, lead, number, largest);
}

inline std::int16_t to_q15(float v) noexcept {
  v = v > 0.0f ? v : 0.0f;
  v = v < 1.0f ? v : 1.0f;
  return static_cast<std::int16_t>(static_cast<std::int32_t>(v * 32767.0f + 0.5f));
}

inline void quantise_loop(const float* in, std::ptrdiff_t step, int n,
                          std::int16_t* __restrict out) noexcept {
  if (step == 1) {
    for (int i = 0; i < n; ++i) out[i] = to_q15(in[i]);
    return;
  }
  for (int i = 0; i < n; ++i) out[i] = to_q15(in[i * step]);
}

inline void lerp_rows_loop(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                           std::int16_t* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
}

inline void spread_loop(const std::int16_t* row, const SpreadTable& table,
                        std::int16_t* __restrict out) noexcept {
  for (int i = 0; i < table.count; ++i) out[i] = spread_at(row, table, i);
}

template <class T>
inline void spread_scaled_from(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                               int begin, T* __restrict out) noexcept {
  for (int i = begin; i < table.count; ++i)
    out[i] = static_cast<T>(multiply_q15(spread_at(row, table, i), multiplier));
}
inline void spread_u8_loop(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                           std::uint8_t* out) noexcept {
  spread_scaled_from(row, table, multiplier, 0, out);
}
inline void spread_u16_loop(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                            std::uint16_t* out) noexcept {
  spread_scaled_from(row, table, multiplier, 0, out);
}

template <class T>
inline void threshold_loop(const std::int16_t* in, std::int16_t threshold, T above, T below, int n,
                           T* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = in[i] > threshold ? above : below;
}
inline void threshold_u8_loop(const std::int16_t* in, std::int16_t threshold, std::uint8_t above,
                              std::uint8_t below, int n, std::uint8_t* out) noexcept {
  threshold_loop(in, threshold, above, below, n, out);
}
inline void threshold_u16_loop(const std::int16_t* in, std::int16_t threshold, std::uint16_t above,
                               std::uint16_t below, int n, std::uint16_t* out) noexcept {
  threshold_loop(in, threshold, above, below, n, out);
}

template <class T>
inline void ramp_loop(const std::int16_t* in, float threshold, float slope, float top, int n,
                      T* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) {
    float v = 0.5f + (static_cast<float>(in[i]) * (1.0f / 32767.0f) - threshold) * slope;
    v = v > 0.0f ? v : 0.0f;
    v = v < 1.0f ? v : 1.0f;
    out[i] = static_cast<T>(static_cast<std::int32_t>(v * top + 0.5f));
  }
}
inline void ramp_u8_loop(const std::int16_t* in, float threshold, float slope, float top, int n,
                         std::uint8_t* out) noexcept {
  ramp_loop(in, threshold, slope, top, n, out);
}
inline void ramp_u16_loop(const std::int16_t* in, float threshold, float slope, float top, int n,
                          std::uint16_t* out) noexcept {
  ramp_loop(in, threshold, slope, top, n, out);
}

inline void mark_beaten_loop(const float* a, const float* b, const float* d, const float* e, int best,
                             float doubt, int channels, std::int32_t* __restrict beaten) noexcept {
  const float of_a = a[best], of_b = b[best], of_d = d[best], of_e = e[best];
  for (int c = 0; c < channels; ++c)
    beaten[c] |=
        static_cast<std::int32_t>(of_a - a[c] > doubt) & static_cast<std::int32_t>(of_b - b[c] > doubt) &
        static_cast<std::int32_t>(of_d - d[c] > doubt) & static_cast<std::int32_t>(of_e - e[c] > doubt);
}

// First down, then across, each as a * (1 - t) + b * t: rounding keeps the order of values in this form,
// which the corner rule of ClassMapper relies on.
constexpr int kArgmaxBlock = 64;

inline void argmax_cell_loop(const ArgmaxCell& cell) noexcept {
  float best[kArgmaxBlock];
  std::int32_t index[kArgmaxBlock];
  for (int y = 0; y < cell.height; ++y) {
    const float down = cell.down[y], up = 1.0f - down;
    for (int begin = 0; begin < cell.width; begin += kArgmaxBlock) {
      const int n = cell.width - begin < kArgmaxBlock ? cell.width - begin : kArgmaxBlock;
      const float* across = cell.across + begin;
      for (int k = 0; k < cell.candidates; ++k) {
        const float left = cell.top_left[k] * up + cell.bottom_left[k] * down;
        const float right = cell.top_right[k] * up + cell.bottom_right[k] * down;
        const std::int32_t number = cell.candidate[k];
        if (k == 0) {
          for (int i = 0; i < n; ++i) {
            best[i] = left * (1.0f - across[i]) + right * across[i];
            index[i] = number;
          }
          continue;
        }
        for (int i = 0; i < n; ++i) {
          const float v = left * (1.0f - across[i]) + right * across[i];
          const bool better = v > best[i];
          best[i] = better ? v : best[i];
          index[i] = better ? number : index[i];
        }
      }
      std::uint8_t* out = cell.out + cell.stride * y + begin;
      for (int i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(index[i]);
    }
  }
}

template <class T>
inline void raise_loop(const T* __restrict in, T* __restrict out, int n) noexcept {
  for (int i = 0; i < n; ++i) out[i] = in[i] > out[i] ? in[i] : out[i];
}
template <class T>
inline void lower_loop(const T* __restrict in, T* __restrict out, int n) noexcept {
  for (int i = 0; i < n; ++i) out[i] = in[i] < out[i] ? in[i] : out[i];
}
template <class T>
inline void uniform_loop(const T* in, int n, std::int32_t* out) noexcept {
  int b = 0;
  for (; (b + 1) * kUniformBlock <= n; ++b) {
    const T* p = in + b * kUniformBlock;
    const T first = p[0];
    T differs = 0;
    for (int i = 0; i < kUniformBlock; ++i) differs = static_cast<T>(differs | (p[i] ^ first));
    out[b] = differs == 0 ? first : -1;
  }
  if (b * kUniformBlock == n) return;
  out[b] = in[b * kUniformBlock];
  for (int i = b * kUniformBlock; i < n; ++i)
    if (in[i] != in[b * kUniformBlock]) out[b] = -1;
}
template <class T>
inline void scale_loop(const T* __restrict in, std::uint32_t weight, std::uint32_t* __restrict sum,
                       int n) noexcept {
  for (int i = 0; i < n; ++i) sum[i] = weight * in[i];
}
template <class T>
inline void weigh_loop(const T* a, const T* b, std::uint32_t weight, std::uint32_t* __restrict sum,
                       int n) noexcept {
  for (int i = 0; i < n; ++i) sum[i] += weight * (std::uint32_t{a[i]} + b[i]);
}
template <class T>
inline void settle_loop(const std::uint32_t* __restrict sum, int shift, int n, T* __restrict out) noexcept {
  const std::uint32_t half = (1u << shift) >> 1;
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>((sum[i] + half) >> shift);
}
