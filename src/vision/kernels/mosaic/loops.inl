// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.

inline void add_weighted_loop(const float* __restrict in, const float* __restrict weight, float row_weight,
                              int n, float* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] += in[i] * (weight[i] * row_weight);
}

inline void set_weighted_loop(const float* __restrict in, const float* __restrict weight, float row_weight,
                              int n, float* __restrict sum) noexcept {
  for (int i = 0; i < n; ++i) sum[i] = in[i] * (weight[i] * row_weight);
}

inline void lerp_loop(const float* a, const float* b, float weight, int n, float* __restrict out) noexcept {
  for (int i = 0; i < n; ++i) out[i] = a[i] + (b[i] - a[i]) * weight;
}

inline void spread_loop(const float* row, const SpreadTable& table, const float* fraction, int begin, int end,
                        float* __restrict out) noexcept {
  for (int i = begin; i < end; ++i) {
    const float* p = row + table.index[i];
    out[i - begin] = p[0] + (p[1] - p[0]) * fraction[i];
  }
}
