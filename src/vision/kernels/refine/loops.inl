// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.

inline void add_row_u8_loop(const std::uint8_t* in, int n, std::uint16_t* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] = static_cast<std::uint16_t>(sum[i] + in[i]);
}

inline void add_row_u16_loop(const std::uint16_t* in, int shift, int n, std::uint16_t* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] = static_cast<std::uint16_t>(sum[i] + (in[i] >> shift));
}

inline void fold_loop(const std::uint16_t* sum, int cells, float scale, float* __restrict out) noexcept {
  for (int c = 0; c < cells; ++c) {
    const std::uint16_t* s = sum + c * kRefineCell;
    out[c] = static_cast<float>(s[0] + s[1] + s[2] + s[3]) * scale;
  }
}

inline void product_loop(const float* a, const float* b, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

inline void add_loop(const float* in, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] += in[i];
}

inline void subtract_loop(const float* in, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] -= in[i];
}

inline void box_loop(const float* in, int radius, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = in[i];
  for (int k = 1; k <= 2 * radius; ++k) {
    const float* shifted = in + k;
    for (int i = 0; i < n; ++i) out[i] += shifted[i];
  }
}

inline void solve_loop(const float* luma, const float* alpha, const float* luma_squared, const float* product,
                       float norm, float smoothness, int n, float* __restrict slope,
                       float* __restrict offset) noexcept {
  for (int i = 0; i < n; ++i) {
    const float mean_luma = luma[i] * norm, mean_alpha = alpha[i] * norm;
    float variance = luma_squared[i] * norm - mean_luma * mean_luma;
    variance = variance > 0.0f ? variance : 0.0f;
    const float a = (product[i] * norm - mean_luma * mean_alpha) / (variance + smoothness);
    slope[i] = a;
    offset[i] = mean_alpha - a * mean_luma;
  }
}

inline void quantise_loop(const float* in, float scale, int n, std::int16_t* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) {
    float v = in[i] * scale;
    v = v < 32767.0f ? v : 32767.0f;
    v = v > -32768.0f ? v : -32768.0f;
    const int rounded = static_cast<int>(v + 32768.5f) - 32768;
    out[i] = static_cast<std::int16_t>(rounded);
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
