// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.

inline void means_u8_loop(const std::uint8_t* const* rows, int cells, float scale, float* __restrict out) noexcept {
  for (int c = 0; c < cells; ++c) {
    int sum = 0;
    for (int k = 0; k < kRefineCell; ++k) {
      const std::uint8_t* p = rows[k] + c * kRefineCell;
      sum += p[0] + p[1] + p[2] + p[3];
    }
    out[c] = static_cast<float>(sum) * scale;
  }
}

inline void means_u16_loop(const std::uint16_t* const* rows, int shift, int cells, float scale,
                           float* __restrict out) noexcept {
  for (int c = 0; c < cells; ++c) {
    int sum = 0;
    for (int k = 0; k < kRefineCell; ++k) {
      const std::uint16_t* p = rows[k] + c * kRefineCell;
      sum += (p[0] >> shift) + (p[1] >> shift) + (p[2] >> shift) + (p[3] >> shift);
    }
    out[c] = static_cast<float>(sum) * scale;
  }
}

inline void add_moments_loop(const float* luma, const float* alpha, int n, std::ptrdiff_t pitch,
                             float* __restrict sums) noexcept {
  float* __restrict l = sums;
  float* __restrict a = sums + pitch;
  float* __restrict squared = sums + 2 * pitch;
  float* __restrict product = sums + 3 * pitch;
  for (int i = 0; i < n; ++i) {
    l[i] += luma[i];
    a[i] += alpha[i];
    squared[i] += luma[i] * luma[i];
    product[i] += luma[i] * alpha[i];
  }
}

inline void slide_moments_loop(const float* luma, const float* alpha, const float* old_luma, const float* old_alpha,
                               int n, std::ptrdiff_t pitch, float* __restrict sums) noexcept {
  float* __restrict l = sums;
  float* __restrict a = sums + pitch;
  float* __restrict squared = sums + 2 * pitch;
  float* __restrict product = sums + 3 * pitch;
  for (int i = 0; i < n; ++i) {
    l[i] += luma[i] - old_luma[i];
    a[i] += alpha[i] - old_alpha[i];
    squared[i] += luma[i] * luma[i] - old_luma[i] * old_luma[i];
    product[i] += luma[i] * alpha[i] - old_luma[i] * old_alpha[i];
  }
}

inline void solve_loop(const float* sums, std::ptrdiff_t pitch, int radius, float norm, float smoothness, int n,
                       float* __restrict slope, float* __restrict offset) noexcept {
  // Some windows at a time, so that their sums stay in registers.
  constexpr int kAtOnce = 16;
  for (int begin = 0; begin < n; begin += kAtOnce) {
    float window[4][kAtOnce] = {};
    const int count = n - begin < kAtOnce ? n - begin : kAtOnce;
    for (int m = 0; m < 4; ++m) {
      for (int k = 0; k <= 2 * radius; ++k) {
        const float* p = sums + m * pitch + begin + k;
        // Behind the end lies memory that may be read: the width is fixed, so that this becomes one vector.
        for (int i = 0; i < kAtOnce; ++i) window[m][i] += p[i];
      }
    }
    for (int i = 0; i < count; ++i) {
      const float mean_luma = window[0][i] * norm, mean_alpha = window[1][i] * norm;
      float variance = window[2][i] * norm - mean_luma * mean_luma;
      variance = variance > 0.0f ? variance : 0.0f;
      const float a = (window[3][i] * norm - mean_luma * mean_alpha) / (variance + smoothness);
      slope[begin + i] = a;
      offset[begin + i] = mean_alpha - a * mean_luma;
    }
  }
}

inline void add_loop(const float* in, int n, float* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] += in[i];
}

inline void slide_loop(const float* in, const float* old, int n, float* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] += in[i] - old[i];
}

inline void box_quantise_loop(const float* in, int radius, float scale, int n, std::int16_t* __restrict out) noexcept {
  constexpr int kAtOnce = 16;
  for (int begin = 0; begin < n; begin += kAtOnce) {
    float window[kAtOnce] = {};
    const int count = n - begin < kAtOnce ? n - begin : kAtOnce;
    for (int k = 0; k <= 2 * radius; ++k) {
      const float* p = in + begin + k;
      for (int i = 0; i < kAtOnce; ++i) window[i] += p[i];
    }
    for (int i = 0; i < count; ++i) {
      float v = window[i] * scale;
      v = v < 32767.0f ? v : 32767.0f;
      v = v > -32768.0f ? v : -32768.0f;
      const int rounded = static_cast<int>(v + 32768.5f) - 32768;
      out[begin + i] = static_cast<std::int16_t>(rounded);
    }
  }
}

constexpr int kHalf = 1 << (kRefineSlopeBits - 1);
constexpr int kOffsetShift = kRefineSlopeBits - kRefineOffsetBits;

inline void apply_u8_loop(const std::uint8_t* luma, const std::int16_t* slope, const std::int16_t* offset, int n,
                          std::uint8_t* __restrict alpha) noexcept {
  for (int i = 0; i < n; ++i) {
    int v = (slope[i] * luma[i] + offset[i] * (1 << kOffsetShift) + kHalf) >> kRefineSlopeBits;
    v = v < 255 ? v : 255;
    v = v > 0 ? v : 0;
    alpha[i] = static_cast<std::uint8_t>(v);
  }
}

inline void apply_u16_loop(const std::uint16_t* luma, int shift, const std::int16_t* slope,
                           const std::int16_t* offset, int top, int n, std::uint16_t* __restrict alpha) noexcept {
  constexpr int kFull = 255 << kRefineSlopeBits;
  const float scale = static_cast<float>(top) / static_cast<float>(kFull);
  for (int i = 0; i < n; ++i) {
    int v = slope[i] * (luma[i] >> shift) + offset[i] * (1 << kOffsetShift);
    v = v < kFull ? v : kFull;
    v = v > 0 ? v : 0;
    alpha[i] = static_cast<std::uint16_t>(static_cast<int>(static_cast<float>(v) * scale + 0.5f));
  }
}
