// Included inside the namespace of each instruction set.

// Multiply-adds of independent accumulators in registers. Ten hide their latency everywhere.
inline double count_multiply_adds(long rounds) {
  constexpr int kChains = 10;
  Vec sums[kChains];
#pragma GCC unroll 10
  for (int i = 0; i < kChains; ++i) sums[i] = broadcast(static_cast<float>(i));
  const Vec a = broadcast(0.999f), b = broadcast(1e-3f);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = fma(sums[i], a, b);
    asm volatile("");
  }
  Vec total = zero();
#pragma GCC unroll 10
  for (int i = 0; i < kChains; ++i) total = total + sums[i];
  asm volatile("" ::"m"(total));
  return static_cast<double>(rounds) * kChains * kLanes;
}

inline float read_all(const float* p, std::size_t floats) {
  constexpr int kChains = 8;
  Vec most[kChains];
#pragma GCC unroll 8
  for (int i = 0; i < kChains; ++i) most[i] = zero();
  for (const float* end = p + floats; p < end; p += kChains * kLanes) {
#pragma GCC unroll 8
    for (int i = 0; i < kChains; ++i) most[i] = max(most[i], load(p + i * kLanes));
  }
#pragma GCC unroll 8
  for (int i = 1; i < kChains; ++i) most[0] = max(most[0], most[i]);
  return max_lane(most[0]);
}

inline void write_all(float* p, std::size_t floats) {
  const Vec value = broadcast(1.0f);
  for (float* end = p + floats; p < end; p += 4 * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) store(p + i * kLanes, value);
    asm volatile("" ::: "memory");  // else the compiler calls memset
  }
}

inline void stream_all(float* p, std::size_t floats) {
  const Vec value = broadcast(1.0f);
  for (float* end = p + floats; p < end; p += 4 * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) stream(p + i * kLanes, value);
  }
  stream_fence();
}
