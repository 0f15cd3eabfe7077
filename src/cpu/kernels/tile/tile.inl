// The register tile of every convolution that multiplies pixels by packed filters: M pixels x N vectors of filters stay in
// registers over all taps and channels. Included inside the namespace of each instruction set.

#include "cpu/kernels/epilogue.inl"

template <int M, int N>
[[gnu::always_inline]] inline void start_tile(Vec (&c)[M][N], const Output& out, const float* residual, const float* dst) {
  if (out.resume) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int n = 0; n < N - 1; ++n) c[m][n] = load(dst + m * out.dst_pixel + n * kLanes);
      c[m][N - 1] = load_first(dst + m * out.dst_pixel + (N - 1) * kLanes, out.tail);
    }
    return;
  }
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) {
    const Vec bias = load(out.bias + n * kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) c[m][n] = bias;
  }
  if (residual == nullptr) return;
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    const float* r = residual + m * out.residual_pixel;
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) c[m][n] = c[m][n] + load(r + n * kLanes);
    c[m][N - 1] = c[m][N - 1] + load_first(r + (N - 1) * kLanes, out.tail);
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void store_tile(const Vec (&c)[M][N], const Output& out, float* dst) {
  if (out.tail == kLanes) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(dst + m * out.dst_pixel + n * kLanes, c[m][n]);
    return;
  }
  const Mask tail = first(out.tail);
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) store(dst + m * out.dst_pixel + n * kLanes, c[m][n]);
    store(dst + m * out.dst_pixel + (N - 1) * kLanes, tail, c[m][N - 1]);
  }
}

/// The costlier activations, on stored sums.
[[gnu::noinline]] inline void activate_stored(const Output& out, float* dst, int pixels, int vectors) {
  for (int m = 0; m < pixels; ++m) {
    float* d = dst + m * out.dst_pixel;
    for (int n = 0; n < vectors - 1; ++n) store(d + n * kLanes, activate(*out.epilogue, load(d + n * kLanes)));
    float* last = d + (vectors - 1) * kLanes;
    store_first(last, out.tail, activate(*out.epilogue, load_first(last, out.tail)));
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void finish_tile(Vec (&c)[M][N], const Output& out, float* dst) {
  const Activation activation = out.partial ? Activation::none : out.epilogue->activation;
  switch (activation) {
    case Activation::none: break;
    case Activation::relu:
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = max(zero(), c[m][n]);
      break;
    case Activation::clip: {
      const Vec low = broadcast(out.epilogue->alpha), high = broadcast(out.epilogue->beta);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = clamp(low, high, c[m][n]);
      break;
    }
    case Activation::hard_swish:
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = hard_swish(c[m][n]);
      break;
    default:
      store_tile<M, N>(c, out, dst);
      activate_stored(out, dst, M, N);
      return;
  }
  store_tile<M, N>(c, out, dst);
}

/// Sums of a tile that are longer than kSumLength. Cuts lie at fixed products, whatever taps a tile leaves out, so that a
/// pixel's sum does not depend on the tile that it is in.
template <int M, int N>
struct LongSum {
  const float* next;  ///< filters of the product before which to cut, or nullptr: no cuts
  Vec total[M][N];

  [[gnu::always_inline]] inline void start(const Output& out, Vec (&c)[M][N]) {
    next = nullptr;
    if (out.cuts == nullptr) return;
    next = out.cuts + kSumLength * N * kLanes;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        total[m][n] = c[m][n];
        c[m][n] = zero();
      }
  }
  /// Where to stop before `end` at the latest, coming from `w`.
  [[gnu::always_inline]] inline const float* stop(const float* w, const float* end, Vec (&c)[M][N]) {
    if (next == nullptr) return end;
    if (w >= next) {
      constexpr std::int64_t kStep = kSumLength * N * kLanes;
      next += ((w - next) / kStep + 1) * kStep;
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          total[m][n] = total[m][n] + c[m][n];
          c[m][n] = zero();
        }
    }
    return next < end ? next : end;
  }
  [[gnu::always_inline]] inline void finish(Vec (&c)[M][N]) {
    if (next == nullptr) return;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = total[m][n] + c[m][n];
  }
};

/// Asks for a residual that is wanted later: from memory, a tile would wait for it as long as for a quarter of its products.
template <int M, int N>
[[gnu::always_inline]] inline void ask_for(const float* residual, const Output& out) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int n = 0; n < N; n += 16 / kLanes) prefetch(residual + m * out.residual_pixel + n * kLanes);
}

/// `repeat` tiles of pixels at a constant distance, one behind the other.
template <int M, int N>
void tile(const Run* runs, int count, std::int64_t pixel, std::int64_t repeat, const Output& out) {
  constexpr int kGroups = (M + 2) / 3;
  for (std::int64_t r = 0; r < repeat; ++r) {
    const std::int64_t shift = r * M * pixel;
    const float* const residual = out.residual == nullptr ? nullptr : out.residual + r * M * out.residual_pixel;
    float* const dst = out.dst + r * M * out.dst_pixel;
    Vec c[M][N];
    start_tile<M, N>(c, out, residual, dst);
    if (residual != nullptr && !out.resume && r + 1 < repeat) ask_for<M, N>(residual + M * out.residual_pixel, out);
    LongSum<M, N> sum;
    sum.start(out, c);
    for (int i = 0; i < count; ++i) {
      const float* q[kGroups];  // one pointer for three pixels: x, x + pixel, x + 2 pixel are address modes
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        q[g] = runs[i].x + shift + 3 * g * pixel;
        asm("" : "+r"(q[g]));  // keep a third of M pointers
      }
      const float* w = runs[i].w;
      const float* const end = w + runs[i].length * (N * kLanes);
      while (w != end) {
        const float* const stop = sum.stop(w, end, c);
#pragma GCC unroll 1
        for (; w != stop; w += N * kLanes) {
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
    }
    sum.finish(c);
    finish_tile<M, N>(c, out, dst);
  }
}

/// Pixels anywhere.
template <int M, int N>
void tile(const ScatteredRun* runs, int count, std::int64_t, std::int64_t, const Output& out) {
  Vec c[M][N];
  start_tile<M, N>(c, out, out.residual, out.dst);
  LongSum<M, N> sum;
  sum.start(out, c);
  for (int i = 0; i < count; ++i) {
    const float* q[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) q[m] = runs[i].x[m];
    const float* w = runs[i].w;
    const float* const end = w + runs[i].length * (N * kLanes);
    std::int64_t k = 0;
    while (w != end) {
      const float* const stop = sum.stop(w, end, c);
#pragma GCC unroll 1
      for (; w != stop; ++k, w += N * kLanes) {
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
  }
  sum.finish(c);
  finish_tile<M, N>(c, out, out.dst);
}

/// Channels of a pixel whose filters, a vector for each, stay in registers from tile to tile.
inline constexpr int kHeldChannels = 16;

/// M pixels of kHeldChannels channels that follow each other in memory.
template <int M>
[[gnu::always_inline]] inline void held_tile(const Vec (&w)[kHeldChannels], const float* x, const float* residual, float* dst,
                                             const Output& out) {
  Vec c[M][1];
  start_tile<M, 1>(c, out, residual, dst);
#pragma GCC unroll 16
  for (int k = 0; k < kHeldChannels; ++k)
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) c[m][0] = fma(broadcast(x[m * kHeldChannels + k]), w[k], c[m][0]);
  finish_tile<M, 1>(c, out, dst);
}

/// `pixels` pixels of kHeldChannels channels, densely packed. Between products there is nothing else to do, which takes a fifth off
/// the time of the tiles above.
inline void run_held(const Run& run, std::int64_t pixels, const Output& out) {
  Vec w[kHeldChannels];
#pragma GCC unroll 16
  for (int k = 0; k < kHeldChannels; ++k) w[k] = load(run.w + k * kLanes);
  const float* x = run.x;
  const float* residual = out.residual;
  float* dst = out.dst;
  const auto walk = [&]<int kPixels>() __attribute__((always_inline)) {
    for (; pixels >= kPixels; pixels -= kPixels) {
      held_tile<kPixels>(w, x, residual, dst, out);
      x += kPixels * kHeldChannels;
      dst += kPixels * out.dst_pixel;
      if (residual != nullptr) residual += kPixels * out.residual_pixel;
    }
  };
  walk.template operator()<8>();
  walk.template operator()<1>();
}

/// Whether run_held can do these tiles.
inline bool holds_filters(int vectors, const Run* runs, int count, std::int64_t pixel, const Output& out) {
  return vectors == 1 && count == 1 && runs->length == kHeldChannels && pixel == kHeldChannels && !out.resume;
}

template <int N, int M, class R>
void run_tile_of(int pixels, const R* runs, int count, std::int64_t pixel, std::int64_t repeat, const Output& out) {
  if constexpr (M > 1) {
    if (pixels != M) {
      run_tile_of<N, M - 1>(pixels, runs, count, pixel, repeat, out);
      return;
    }
  }
  tile<M, N>(runs, count, pixel, repeat, out);
}

template <class R>
void choose_tile(int vectors, int pixels, const R* runs, int count, std::int64_t pixel, std::int64_t repeat, const Output& out) {
  if constexpr (kLanes == 16 && __is_same(R, Run)) {  // 32 registers hold 16 filters and 8 sums
    if (holds_filters(vectors, runs, count, pixel, out)) {
      run_held(*runs, pixels * repeat, out);
      return;
    }
  }
  switch (vectors) {
    case 1: run_tile_of<1, tile_pixels(kLanes, 1)>(pixels, runs, count, pixel, repeat, out); break;
    case 2: run_tile_of<2, tile_pixels(kLanes, 2)>(pixels, runs, count, pixel, repeat, out); break;
    case 3: run_tile_of<3, tile_pixels(kLanes, 3)>(pixels, runs, count, pixel, repeat, out); break;
    default:
      if constexpr (tile_vectors(kLanes) == 4) run_tile_of<4, tile_pixels(kLanes, 4)>(pixels, runs, count, pixel, repeat, out);
      break;
  }
}
