// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.

template <class T>
inline void sample_from(const SampleRow& a, int begin) noexcept {
  const T* row0 = static_cast<const T*>(a.row0);
  const T* row1 = static_cast<const T*>(a.row1);
  for (int i = begin; i < a.n; ++i) {
    const T* p = row0 + static_cast<std::ptrdiff_t>(a.index[i]) * a.step;
    const T* q = row1 + static_cast<std::ptrdiff_t>(a.index[i]) * a.step;
    const int w0 = a.weight[2 * i], w1 = a.weight[2 * i + 1];
    const float top = static_cast<float>(p[0] * w0 + p[a.step] * w1);
    const float bottom = static_cast<float>(q[0] * w0 + q[a.step] * w1);
    a.out[i] = (top + (bottom - top) * a.fraction) * (1.0f / 16384.0f);
  }
}

inline void sample_u8_loop(const SampleRow& a) noexcept { sample_from<std::uint8_t>(a, 0); }
inline void sample_u16_loop(const SampleRow& a) noexcept { sample_from<std::uint16_t>(a, 0); }

template <class T>
inline void accumulate_loop(const void* row, int step, float weight, float* __restrict sum, int n) noexcept {
  const T* p = static_cast<const T*>(row);
  if (step == 1) {
    for (int i = 0; i < n; ++i) sum[i] += weight * static_cast<float>(p[i]);
    return;
  }
  for (int i = 0; i < n; ++i) sum[i] += weight * static_cast<float>(p[static_cast<std::ptrdiff_t>(i) * step]);
}
inline void accumulate_u8_loop(const void* row, int step, float weight, float* sum, int n) noexcept {
  accumulate_loop<std::uint8_t>(row, step, weight, sum, n);
}
inline void accumulate_u16_loop(const void* row, int step, float weight, float* sum, int n) noexcept {
  accumulate_loop<std::uint16_t>(row, step, weight, sum, n);
}

inline float clamp_byte(float v) noexcept {
  v = v > 0.0f ? v : 0.0f;
  return v < 255.0f ? v : 255.0f;
}

// Values in out[0..2] are R, G, B in 0..255 after this.
inline void convert_colors(const ConvertRow& a) noexcept {
  const float* __restrict x = a.in[0];
  const float* __restrict y = a.in[1];
  const float* __restrict z = a.in[2];
  for (int c = 0; c < 3; ++c) {
    const float m0 = a.matrix[c][0], m1 = a.matrix[c][1], m2 = a.matrix[c][2], offset = a.offset[c];
    float* __restrict out = a.out[c];
    for (int i = 0; i < a.n; ++i) out[i] = clamp_byte(m0 * x[i] + m1 * y[i] + m2 * z[i] + offset);
  }
}

inline void convert_loop(const ConvertRow& a) noexcept {
  convert_colors(a);
  for (int c = 0; c < 3; ++c) {
    float* __restrict out = a.out[c];
    if (a.coverage != nullptr || a.row_coverage != 1.0f) {
      for (int i = 0; i < a.n; ++i) out[i] *= (a.coverage != nullptr ? a.coverage[i] : 1.0f) * a.row_coverage;
    }
    if (a.to_byte) {
      for (int i = 0; i < a.n; ++i) out[i] = static_cast<float>(static_cast<std::int32_t>(out[i] + 0.5f));
    }
  }
  if (a.gray) {
    float* __restrict r = a.out[0];
    const float* __restrict g = a.out[1];
    const float* __restrict b = a.out[2];
    const float scale = a.scale[0], bias = a.bias[0];
    for (int i = 0; i < a.n; ++i) r[i] = (0.299f * r[i] + 0.587f * g[i] + 0.114f * b[i]) * scale + bias;
    return;
  }
  for (int c = 0; c < 3; ++c) {
    float* __restrict out = a.out[c];
    const float scale = a.scale[c], bias = a.bias[c];
    for (int i = 0; i < a.n; ++i) out[i] = out[i] * scale + bias;
  }
}

inline void interleave3_from(const float* in0, const float* in1, const float* in2, float* __restrict out,
                             int begin, int n) noexcept {
  for (int i = begin; i < n; ++i) {
    out[3 * i] = in0[i];
    out[3 * i + 1] = in1[i];
    out[3 * i + 2] = in2[i];
  }
}
inline void interleave3_loop(const float* in0, const float* in1, const float* in2, float* out,
                             int n) noexcept {
  interleave3_from(in0, in1, in2, out, 0, n);
}
