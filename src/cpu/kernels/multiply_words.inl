// The innermost loop of the convolutions of bytes; included inside the namespace of each instruction set, after
// kernels/tile/tile.h.

#include "cpu/kernels/stage_bytes.inl"

/// `words` words of M pixels, `pixel` bytes apart, times N vectors of filters, added to sums in registers.
template <class Kind, int M, int N>
[[gnu::always_inline]] inline void multiply_run(Sums (&c)[M][N], const char* x, const char* w, std::int64_t words,
                                                std::int64_t pixel) {
  constexpr int kGroups = (M + 2) / 3;
  const char* q[kGroups];  // one pointer for three pixels: x, x + pixel, x + 2 pixel are address modes
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    q[g] = x + 3 * g * pixel;
    asm("" : "+r"(q[g]));  // keep a third of M pointers
  }
  const char* const end = w + words * (N * kLanes * 4);
#pragma GCC unroll 1
  for (; w != end; w += N * kLanes * 4) {
    Int b[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) b[n] = load_words(w + n * kLanes * 4);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const Int a = broadcast_word(q[m / 3] + (m % 3) * pixel);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = Kind::multiply(c[m][n], a, b[n]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) q[g] += 4;
  }
}
