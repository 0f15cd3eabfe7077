// Plain loops, included by every unit inside its own namespace; the compiler vectorises them for the unit's
// instruction set.

inline void add_weighted_loop(const float* in, std::ptrdiff_t step, const float* weight, float row_weight, int n,
                              float* __restrict sum) noexcept {
  if (step == 1) {
    for (int i = 0; i < n; ++i) sum[i] += in[i] * (weight[i] * row_weight);
    return;
  }
  for (int i = 0; i < n; ++i) sum[i] += in[i * step] * (weight[i] * row_weight);
}

inline void raise_loop(const float* in, std::uint8_t channel, int n, float* __restrict best,
                       std::uint8_t* __restrict number) noexcept {
  for (int i = 0; i < n; ++i) {
    const bool above = in[i] > best[i];
    best[i] = above ? in[i] : best[i];
    number[i] = above ? channel : number[i];
  }
}
