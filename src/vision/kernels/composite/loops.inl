// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.
#include "vision/kernels/spread_loops.inl"

// v / (2^depth - 1), rounded to nearest, for v up to (2^depth - 1)^2.
template <int kDepth>
inline std::uint32_t divide_by_full(std::uint32_t v) noexcept {
  v += 1u << (kDepth - 1);
  return (v + (v >> kDepth)) >> kDepth;
}

template <class T, int kDepth>
inline T mix(T source, T background, T alpha) noexcept {
  constexpr std::uint32_t kFull = (1u << kDepth) - 1;
  return static_cast<T>(
      divide_by_full<kDepth>(std::uint32_t{source} * alpha + std::uint32_t{background} * (kFull - alpha)));
}

template <class T, int kDepth>
inline void blend_loop(const T* source, const T* background, const T* alpha, int begin, int n,
                       T* out) noexcept {
  for (int i = begin; i < n; ++i) out[i] = mix<T, kDepth>(source[i], background[i], alpha[i]);
}
inline void blend_u8_loop(const std::uint8_t* source, const std::uint8_t* background,
                          const std::uint8_t* alpha, int n, std::uint8_t* out) noexcept {
  blend_loop<std::uint8_t, 8>(source, background, alpha, 0, n, out);
}
inline void blend_u16_loop(const std::uint16_t* source, const std::uint16_t* background,
                           const std::uint16_t* alpha, int depth, int n, std::uint16_t* out) noexcept {
  if (depth == 10)
    blend_loop<std::uint16_t, 10>(source, background, alpha, 0, n, out);
  else
    blend_loop<std::uint16_t, 12>(source, background, alpha, 0, n, out);
}

template <class T, int kDepth>
inline void blend_flat_loop(const T* source, T background, const T* alpha, int begin, int n,
                            T* out) noexcept {
  for (int i = begin; i < n; ++i) out[i] = mix<T, kDepth>(source[i], background, alpha[i]);
}
inline void blend_flat_u8_loop(const std::uint8_t* source, std::uint8_t background, const std::uint8_t* alpha,
                               int n, std::uint8_t* out) noexcept {
  blend_flat_loop<std::uint8_t, 8>(source, background, alpha, 0, n, out);
}
inline void blend_flat_u16_loop(const std::uint16_t* source, std::uint16_t background,
                                const std::uint16_t* alpha, int depth, int n, std::uint16_t* out) noexcept {
  if (depth == 10)
    blend_flat_loop<std::uint16_t, 10>(source, background, alpha, 0, n, out);
  else
    blend_flat_loop<std::uint16_t, 12>(source, background, alpha, 0, n, out);
}

template <class T, int kDepth>
inline void blend_spread_loop(const T* source, const std::int16_t* row, const SpreadTable& table,
                              const T* alpha, int begin, T* out) noexcept {
  constexpr std::uint32_t kFull = (1u << kDepth) - 1;
  for (int i = begin; i < table.count; ++i) {
    if (alpha[i] == kFull) {
      out[i] = source[i];
      continue;
    }
    const T background = static_cast<T>(multiply_q15(spread_at(row, table, i), std::int16_t{1 << kDepth}));
    out[i] = mix<T, kDepth>(source[i], background, alpha[i]);
  }
}
inline void blend_spread_u8_loop(const std::uint8_t* source, const std::int16_t* row,
                                 const SpreadTable& table, const std::uint8_t* alpha,
                                 std::uint8_t* out) noexcept {
  blend_spread_loop<std::uint8_t, 8>(source, row, table, alpha, 0, out);
}
inline void blend_spread_u16_loop(const std::uint16_t* source, const std::int16_t* row,
                                  const SpreadTable& table, const std::uint16_t* alpha, int depth,
                                  std::uint16_t* out) noexcept {
  if (depth == 10)
    blend_spread_loop<std::uint16_t, 10>(source, row, table, alpha, 0, out);
  else
    blend_spread_loop<std::uint16_t, 12>(source, row, table, alpha, 0, out);
}

template <class T>
inline T chroma_alpha_at(const ChromaAlpha& a, int i) noexcept {
  const int last = a.luma_width - 1;
  const int middle = 2 * i < last ? 2 * i : last;
  const int right = 2 * i + 1 < last ? 2 * i + 1 : last;
  const int left = i > 0 ? 2 * i - 1 : 0;
  std::uint32_t sum = 0;
  for (int k = 0; k < a.rows; ++k) {
    const T* row = static_cast<const T*>(a.row[k]);
    sum += std::uint32_t{row[middle]} + row[right];
    if (a.cosited) sum += std::uint32_t{row[left]} + row[middle];
  }
  const int shift = (a.rows == 1 ? 0 : (a.rows == 2 ? 1 : 2)) + (a.cosited ? 2 : 1);
  return static_cast<T>((sum + (1u << (shift - 1))) >> shift);
}
template <class T>
inline void chroma_alpha_from(const ChromaAlpha& a, int begin, int end) noexcept {
  T* out = static_cast<T*>(a.out);
  for (int i = begin; i < end; ++i) out[i] = chroma_alpha_at<T>(a, i);
}
inline void chroma_alpha_u8_loop(const ChromaAlpha& a) noexcept {
  chroma_alpha_from<std::uint8_t>(a, 0, a.width);
}
inline void chroma_alpha_u16_loop(const ChromaAlpha& a) noexcept {
  chroma_alpha_from<std::uint16_t>(a, 0, a.width);
}

// Background counts fully where there is no alpha, by a hundredth from a quarter on, hardly from a half on
// and not at all where the foreground is full: what lies along the foreground's edge would bring its colour
// into the background.
inline std::uint32_t background_weight(std::uint32_t alpha, int depth) noexcept {
  const std::uint32_t full = (1u << depth) - 1, byte = alpha >> (depth - 8);
  const std::uint32_t outside = 64 * byte < 4095 ? 4095 - 64 * byte : 0;
  const std::uint32_t edge = byte < 127 ? 128 - byte : 1;
  return alpha == full ? 0 : (outside > edge ? outside : edge);
}

template <class T>
inline void cell_sums_from(const CellSums& a, int begin) noexcept {
  const T* value = static_cast<const T*>(a.value);
  const T* alpha = static_cast<const T*>(a.alpha);
  for (int i = begin; i < a.n; i += 1 << a.shift) {
    const int end = i + (1 << a.shift) < a.n ? i + (1 << a.shift) : a.n;
    std::uint32_t weights = 0, values = 0;
    for (int k = i; k < end; ++k) {
      const std::uint32_t w = background_weight(alpha[k], a.depth);
      weights += w;
      values += w * value[k];
    }
    if (a.weight_sum != nullptr) a.weight_sum[i >> a.shift] += weights;
    a.value_sum[i >> a.shift] += values;
  }
}
inline void cell_sums_u8_loop(const CellSums& a) noexcept { cell_sums_from<std::uint8_t>(a, 0); }
inline void cell_sums_u16_loop(const CellSums& a) noexcept { cell_sums_from<std::uint16_t>(a, 0); }

// Sums of a cell of 4 samples and up to 32 rows are below 2^31.
inline float cell_value(std::uint32_t sum) noexcept {
  return static_cast<float>(static_cast<std::int32_t>(sum));
}

inline void fold_cells_loop(const std::uint32_t* in, int per_cell, int n, float* __restrict out) noexcept {
  if (per_cell == 1) {
    for (int i = 0; i < n; ++i) out[i] = cell_value(in[i]);
  } else if (per_cell == 2) {
    for (int i = 0; i < n; ++i) out[i] = cell_value(in[2 * i]) + cell_value(in[2 * i + 1]);
  } else {
    for (int i = 0; i < n; ++i) {
      float sum = 0;
      for (int k = 0; k < per_cell; ++k) sum += cell_value(in[static_cast<std::ptrdiff_t>(i) * per_cell + k]);
      out[i] = sum;
    }
  }
}

constexpr int kBlurBlock = 16;

inline void blur_row_loop(const BlurRow& a) noexcept {
  int i = 0;
  for (; i + kBlurBlock <= a.n; i += kBlurBlock) {
    float sum[kBlurBlock];
    for (int j = 0; j < kBlurBlock; ++j) sum[j] = a.taps[0] * a.in[i + j];
    for (int k = 1; k <= a.radius; ++k) {
      const float tap = a.taps[k];
      const float* left = a.in + i - k;
      const float* right = a.in + i + k;
      for (int j = 0; j < kBlurBlock; ++j) sum[j] += tap * (left[j] + right[j]);
    }
    for (int j = 0; j < kBlurBlock; ++j) a.out[i + j] = sum[j];
  }
  for (; i < a.n; ++i) {
    float sum = a.taps[0] * a.in[i];
    for (int k = 1; k <= a.radius; ++k) sum += a.taps[k] * (a.in[i - k] + a.in[i + k]);
    a.out[i] = sum;
  }
}

inline void blur_column_loop(const float* const* above, const float* const* below, const float* taps,
                             int radius, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = taps[0] * above[0][i];
  for (int k = 1; k <= radius; ++k) {
    const float tap = taps[k];
    const float* a = above[k];
    const float* b = below[k];
    if (a != nullptr && b != nullptr) {
      for (int i = 0; i < n; ++i) out[i] += tap * (a[i] + b[i]);
    } else if (a != nullptr || b != nullptr) {
      const float* one = a != nullptr ? a : b;
      for (int i = 0; i < n; ++i) out[i] += tap * one[i];
    }
  }
}

inline void normalise_loop(const float* value, const float* weight, float scale, int n,
                           std::int16_t* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) {
    const float divisor = weight[i] > 0.0f ? weight[i] : 1.0f;
    const float v = weight[i] > 0.0f ? value[i] / divisor * scale + 0.5f : 0.0f;
    out[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(v));
  }
}

inline void lerp_rows_loop(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                           std::int16_t* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = lerp_q15(a[i], b[i], weight);
}

template <class T, int kDepth>
inline void multiply_loop(const T* a, const T* b, int n, T* out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>(divide_by_full<kDepth>(std::uint32_t{a[i]} * b[i]));
}
inline void multiply_u8_loop(const std::uint8_t* a, const std::uint8_t* b, int n,
                             std::uint8_t* out) noexcept {
  multiply_loop<std::uint8_t, 8>(a, b, n, out);
}
inline void multiply_u16_loop(const std::uint16_t* a, const std::uint16_t* b, int depth, int n,
                              std::uint16_t* out) noexcept {
  if (depth == 10)
    multiply_loop<std::uint16_t, 10>(a, b, n, out);
  else
    multiply_loop<std::uint16_t, 12>(a, b, n, out);
}

template <class T, int kDepth>
inline void veil_loop(const T* alpha, T opacity, int n, T* out) noexcept {
  constexpr std::uint32_t kFull = (1u << kDepth) - 1;
  for (int i = 0; i < n; ++i)
    out[i] = static_cast<T>(kFull - divide_by_full<kDepth>(std::uint32_t{alpha[i]} * opacity));
}
inline void veil_u8_loop(const std::uint8_t* alpha, std::uint8_t opacity, int n, std::uint8_t* out) noexcept {
  veil_loop<std::uint8_t, 8>(alpha, opacity, n, out);
}
inline void veil_u16_loop(const std::uint16_t* alpha, std::uint16_t opacity, int depth, int n,
                          std::uint16_t* out) noexcept {
  if (depth == 10)
    veil_loop<std::uint16_t, 10>(alpha, opacity, n, out);
  else
    veil_loop<std::uint16_t, 12>(alpha, opacity, n, out);
}

template <class T>
inline void erase_loop(const T* source, const T* alpha, T value, int n, T* out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = alpha[i] == 0 ? value : source[i];
}
inline void erase_u8_loop(const std::uint8_t* source, const std::uint8_t* alpha, std::uint8_t value, int n,
                          std::uint8_t* out) noexcept {
  erase_loop(source, alpha, value, n, out);
}
inline void erase_u16_loop(const std::uint16_t* source, const std::uint16_t* alpha, std::uint16_t value,
                           int n, std::uint16_t* out) noexcept {
  erase_loop(source, alpha, value, n, out);
}

inline void unpack_u8_loop(const std::uint8_t* in, int step, int n, std::uint8_t* __restrict out) noexcept {
  if (step == 2) {
    for (int i = 0; i < n; ++i) out[i] = in[2 * i];
  } else if (step == 3) {
    for (int i = 0; i < n; ++i) out[i] = in[3 * i];
  } else {
    for (int i = 0; i < n; ++i) out[i] = in[static_cast<std::ptrdiff_t>(i) * step];
  }
}
inline void pack_u8_loop(const std::uint8_t* in, int step, int n, std::uint8_t* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[static_cast<std::ptrdiff_t>(i) * step] = in[i];
}
