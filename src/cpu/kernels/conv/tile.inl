// The register tile of every convolution that multiplies pixels by packed filters: M pixels x N vectors of filters stay in
// registers over all taps and channels. Included inside the namespace of each instruction set.

#include "cpu/kernels/epilogue.inl"

/// Most filters of a tile, in vectors, and most pixels beside that many vectors: M x N accumulators, N filters and one
/// pixel value fit the register file.
constexpr int kTileVectors = kRegisters == 32 ? 4 : 3;
constexpr int tile_pixels(int vectors) {
  if (kRegisters == 32) return vectors == 1 ? 12 : vectors == 2 ? 12 : vectors == 3 ? 8 : 6;
  return vectors == 1 ? 12 : vectors == 2 ? 6 : 4;
}

/// Products that follow each other in memory: `length` channels from `x` on (pixel 0 of the tile), filters from `w` on.
struct Run {
  const float* x;
  const float* w;
  std::int64_t length;
};
/// The same for pixels at unrelated places.
struct ScatteredRun {
  const float* const* x;  ///< one pointer a pixel
  const float* w;
  std::int64_t length;
};

/// Where a tile's sums start and end.
struct Output {
  const float* bias;      ///< of the tile's filters, padded to whole vectors
  const float* residual;  ///< pixel 0, or nullptr
  std::int64_t residual_pixel;
  float* dst;  ///< pixel 0
  std::int64_t dst_pixel;
  const Epilogue* epilogue;
  int tail;      ///< filters in the last vector
  bool resume;   ///< sums so far are in dst
  bool partial;  ///< more to come: store plain sums
};

template <int M, int N>
[[gnu::always_inline]] inline void start_tile(Vec (&c)[M][N], const Output& out) {
  if (out.resume) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int n = 0; n < N - 1; ++n) c[m][n] = load(out.dst + m * out.dst_pixel + n * kLanes);
      c[m][N - 1] = load_first(out.dst + m * out.dst_pixel + (N - 1) * kLanes, out.tail);
    }
    return;
  }
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) c[m][n] = load(out.bias + n * kLanes);
  if (out.residual == nullptr) return;
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    const float* r = out.residual + m * out.residual_pixel;
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) c[m][n] = c[m][n] + load(r + n * kLanes);
    c[m][N - 1] = c[m][N - 1] + load_first(r + (N - 1) * kLanes, out.tail);
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void store_tile(const Vec (&c)[M][N], const Output& out) {
  if (out.tail == kLanes) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(out.dst + m * out.dst_pixel + n * kLanes, c[m][n]);
    return;
  }
  const Mask tail = first(out.tail);
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) store(out.dst + m * out.dst_pixel + n * kLanes, c[m][n]);
    store(out.dst + m * out.dst_pixel + (N - 1) * kLanes, tail, c[m][N - 1]);
  }
}

/// The activations that are not a clamp, on stored sums.
[[gnu::noinline]] inline void activate_stored(const Output& out, int pixels, int vectors) {
  for (int m = 0; m < pixels; ++m) {
    float* d = out.dst + m * out.dst_pixel;
    for (int n = 0; n < vectors - 1; ++n) store(d + n * kLanes, activate(*out.epilogue, load(d + n * kLanes)));
    float* last = d + (vectors - 1) * kLanes;
    store_first(last, out.tail, activate(*out.epilogue, load_first(last, out.tail)));
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void finish_tile(Vec (&c)[M][N], const Output& out) {
  if (out.partial) {
    store_tile<M, N>(c, out);
    return;
  }
  const Epilogue& e = *out.epilogue;
  if (is_clamp(e)) {
    const Vec low = lower_bound(e), high = upper_bound(e);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = clamp(low, high, c[m][n]);
  } else if (e.activation == Activation::hard_swish) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = hard_swish(c[m][n]);
  } else {
    store_tile<M, N>(c, out);
    activate_stored(out, M, N);
    return;
  }
  store_tile<M, N>(c, out);
}

/// Pixels at a constant distance.
template <int M, int N>
void tile(const Run* runs, int count, std::int64_t pixel, const Output& out) {
  constexpr int kGroups = (M + 2) / 3;
  Vec c[M][N];
  start_tile<M, N>(c, out);
  for (int i = 0; i < count; ++i) {
    const float* q[kGroups];  // one pointer for three pixels: x, x + pixel, x + 2 pixel are address modes
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      q[g] = runs[i].x + 3 * g * pixel;
      asm("" : "+r"(q[g]));  // keep three, not M, pointers
    }
    const float* w = runs[i].w;
    const float* const end = w + runs[i].length * (N * kLanes);
#pragma GCC unroll 1
    for (; w != end; w += N * kLanes) {
      Vec b[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) b[n] = load(w + n * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Vec a = broadcast(q[m / 3][(m % 3) * pixel]);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = fma(a, b[n], c[m][n]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) ++q[g];
    }
  }
  finish_tile<M, N>(c, out);
}

/// Pixels anywhere.
template <int M, int N>
void tile(const ScatteredRun* runs, int count, std::int64_t, const Output& out) {
  Vec c[M][N];
  start_tile<M, N>(c, out);
  for (int i = 0; i < count; ++i) {
    const float* q[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) q[m] = runs[i].x[m];
    const float* w = runs[i].w;
    const std::int64_t length = runs[i].length;
#pragma GCC unroll 1
    for (std::int64_t k = 0; k < length; ++k, w += N * kLanes) {
      Vec b[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) b[n] = load(w + n * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Vec a = broadcast(q[m][k]);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = fma(a, b[n], c[m][n]);
      }
    }
  }
  finish_tile<M, N>(c, out);
}

template <int N, int M, class R>
void run_tile_of(int pixels, const R* runs, int count, std::int64_t pixel, const Output& out) {
  if constexpr (M > 1) {
    if (pixels != M) {
      run_tile_of<N, M - 1>(pixels, runs, count, pixel, out);
      return;
    }
  }
  tile<M, N>(runs, count, pixel, out);
}

/// Any tile: 1 <= vectors <= kTileVectors, 1 <= pixels <= tile_pixels(vectors).
template <class R>
void run_tile(int vectors, int pixels, const R* runs, int count, std::int64_t pixel, const Output& out) {
  switch (vectors) {
    case 1: run_tile_of<1, tile_pixels(1)>(pixels, runs, count, pixel, out); break;
    case 2: run_tile_of<2, tile_pixels(2)>(pixels, runs, count, pixel, out); break;
    case 3: run_tile_of<3, tile_pixels(3)>(pixels, runs, count, pixel, out); break;
    default:
      if constexpr (kTileVectors == 4) run_tile_of<4, tile_pixels(4)>(pixels, runs, count, pixel, out);
      break;
  }
}
