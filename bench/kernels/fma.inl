// Multiply-adds of independent accumulators in registers: the ceiling of dense kernels. Included inside the namespace of
// each instruction set.

inline double fma_rate(long rounds) {
  constexpr int kChains = 10;
  Vec sums[kChains];
#pragma GCC unroll 10
  for (int i = 0; i < kChains; ++i) sums[i] = broadcast(static_cast<float>(i));
  Vec a = broadcast(0.999f), b = broadcast(1e-3f);
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
