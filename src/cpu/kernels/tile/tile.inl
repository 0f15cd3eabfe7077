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

/// The activation of a tile's sums, or false where it is a costlier one.
template <int M, int N>
[[gnu::always_inline]] inline bool activate_sums(Vec (&c)[M][N], const Output& out) {
  const Activation activation = out.partial ? Activation::none : out.epilogue->activation;
  switch (activation) {
    case Activation::none: return true;
    case Activation::relu:
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = max(zero(), c[m][n]);
      return true;
    case Activation::clip: {
      const Vec low = broadcast(out.epilogue->alpha), high = broadcast(out.epilogue->beta);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = clamp(low, high, c[m][n]);
      return true;
    }
    case Activation::hard_swish:
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = hard_swish(c[m][n]);
      return true;
    default: return false;
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void finish_tile(Vec (&c)[M][N], const Output& out, float* dst) {
  const bool done = activate_sums<M, N>(c, out);
  store_tile<M, N>(c, out, dst);
  if (!done) activate_stored(out, dst, M, N);
}

/// Sums of a tile that are longer than kSumLength. Cuts lie at fixed products, whatever taps a tile leaves out, so that a
/// pixel's sum does not depend on the tile that it is in. Of kRow vectors of filters a product, the tile has N.
template <int M, int N, int kRow = N>
struct LongSum {
  const float* next;  ///< filters of the product before which to cut, or nullptr: no cuts
  Vec total[M][N];

  [[gnu::always_inline]] inline void start(const Output& out, Vec (&c)[M][N]) {
    next = nullptr;
    if (out.cuts == nullptr) return;
    next = out.cuts + kSumLength * kRow * kLanes;
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
      constexpr std::int64_t kStep = kSumLength * kRow * kLanes;
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

/// Lanes of `low` below the middle, those of `high` moved there from above it.
[[gnu::always_inline]] inline Vec join_halves(Vec low, Vec high) {
  alignas(64) static constexpr int kUp[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7};
  return select(first(kLanes / 2), low, permute(high, load_int(kUp)));
}
/// The upper half, in the lower one.
[[gnu::always_inline]] inline Vec upper_half(Vec a) {
  alignas(64) static constexpr int kDown[16] = {8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15};
  return permute(a, load_int(kDown));
}

/// `repeat` tiles of M pixels, an even number, and N vectors of filters, one behind the other, whose filters of a further vector
/// lie in both halves of it: sums with those are of two pixels each. The same sums in the same order as those of other tiles.
template <int M, int N>
void twin_tile(const Run& run, std::int64_t pixel, std::int64_t repeat, const Output& out) {
  constexpr int kGroups = (M + 2) / 3, kRow = N + 1;
  Output whole = out;  // of the N vectors
  whole.tail = kLanes;
  const auto load_twins = [&](const float* p, std::int64_t distance) __attribute__((always_inline)) {
    return join_halves(load_first(p + N * kLanes, out.tail), load_first(p + distance + N * kLanes, out.tail));
  };
  for (std::int64_t r = 0; r < repeat; ++r) {
    const float* const residual = out.residual == nullptr ? nullptr : out.residual + r * M * out.residual_pixel;
    float* const dst = out.dst + r * M * out.dst_pixel;
    Vec c[M][N], twins[M / 2][1];
    start_tile<M, N>(c, whole, residual, dst);
    const Vec bias = load(out.bias + N * kLanes);
#pragma GCC unroll 8
    for (int m = 0; m < M / 2; ++m) {
      twins[m][0] = out.resume ? load_twins(dst + 2 * m * out.dst_pixel, out.dst_pixel) : bias;
      if (residual != nullptr && !out.resume)
        twins[m][0] = twins[m][0] + load_twins(residual + 2 * m * out.residual_pixel, out.residual_pixel);
    }
    LongSum<M, N, kRow> sum;
    LongSum<M / 2, 1, kRow> twin_sum;
    sum.start(out, c);
    twin_sum.start(out, twins);
    const float* q[kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      q[g] = run.x + (r * M + 3 * g) * pixel;
      asm("" : "+r"(q[g]));
    }
    const float* w = run.w;
    const float* const end = w + run.length * (kRow * kLanes);
    while (w != end) {
      const float* const stop = sum.stop(w, end, c);
      twin_sum.stop(w, end, twins);
#pragma GCC unroll 1
      for (; w != stop; w += kRow * kLanes) {
        Vec b[kRow];
#pragma GCC unroll 4
        for (int n = 0; n < kRow; ++n) b[n] = load(w + n * kLanes);
#pragma GCC unroll 8
        for (int m = 0; m < M; m += 2) {
          const Vec a0 = broadcast(q[m / 3][(m % 3) * pixel]), a1 = broadcast(q[(m + 1) / 3][((m + 1) % 3) * pixel]);
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) {
            c[m][n] = fma(a0, b[n], c[m][n]);
            c[m + 1][n] = fma(a1, b[n], c[m + 1][n]);
          }
          twins[m / 2][0] = fma(select(first(kLanes / 2), a0, a1), b[N], twins[m / 2][0]);
        }
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) ++q[g];
      }
    }
    sum.finish(c);
    twin_sum.finish(twins);
    const bool done = activate_sums<M, N>(c, out);
    activate_sums<M / 2, 1>(twins, out);
    store_tile<M, N>(c, whole, dst);
#pragma GCC unroll 8
    for (int m = 0; m < M / 2; ++m) {
      store_first(dst + 2 * m * out.dst_pixel + N * kLanes, out.tail, twins[m][0]);
      store_first(dst + (2 * m + 1) * out.dst_pixel + N * kLanes, out.tail, upper_half(twins[m][0]));
    }
    if (!done) activate_stored(out, dst, M, N + 1);
  }
}

template <int N, int M>
inline void twin_tile_of(int pixels, const Run& run, std::int64_t pixel, std::int64_t repeat, const Output& out) {
  if constexpr (M > 2) {
    if (pixels != M) {
      twin_tile_of<N, M - 2>(pixels, run, pixel, repeat, out);
      return;
    }
  }
  twin_tile<M, N>(run, pixel, repeat, out);
}

/// `pixels` pixels and N vectors of filters and a further one whose filters lie in both halves.
template <int N>
void run_twins(Run run, std::int64_t pixel, std::int64_t pixels, Output out) {
  constexpr int kMost = N == 1 ? 12 : 6;
  const Cut pairs = pixels < 2 ? Cut{} : cut_pixels(pixels / 2, kMost / 2);
  const auto tiles_of = [&](std::int64_t size, std::int64_t tiles) __attribute__((always_inline)) {
    if (tiles <= 0) return;
    twin_tile_of<N, kMost>(static_cast<int>(size), run, pixel, tiles, out);
    run.x += tiles * size * pixel;
    out.dst += tiles * size * out.dst_pixel;
    if (out.residual != nullptr) out.residual += tiles * size * out.residual_pixel;
  };
  tiles_of(2 * (pairs.size + 1), pairs.larger);
  tiles_of(2 * pairs.size, pairs.tiles - pairs.larger);
  if (pixels % 2 != 0) tile<1, N + 1>(&run, 1, pixel, 1, out);
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

/// `pixels` pixels at a constant distance, where there is a better way than any tile's: this needs 32 registers.
inline bool run_of_one(int vectors, const Run& run, std::int64_t pixel, std::int64_t pixels, const Output& out) {
  if (vectors == 1 && run.length == kHeldChannels && pixel == kHeldChannels && !out.resume && out.cuts == nullptr) {
    run_held(run, pixels, out);
    return true;
  }
  if (!out.twice) return false;
  switch (vectors) {
    case 2: run_twins<1>(run, pixel, pixels, out); return true;
    case 3: run_twins<2>(run, pixel, pixels, out); return true;
    case 4: run_twins<3>(run, pixel, pixels, out); return true;
    default: return false;
  }
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
  if constexpr (kLanes == 16 && __is_same(R, Run))
    if (count == 1 && run_of_one(vectors, *runs, pixel, pixels * repeat, out)) return;
  switch (vectors) {
    case 1: run_tile_of<1, tile_pixels(kLanes, 1)>(pixels, runs, count, pixel, repeat, out); break;
    case 2: run_tile_of<2, tile_pixels(kLanes, 2)>(pixels, runs, count, pixel, repeat, out); break;
    case 3: run_tile_of<3, tile_pixels(kLanes, 3)>(pixels, runs, count, pixel, repeat, out); break;
    default:
      if constexpr (tile_vectors(kLanes) == 4) run_tile_of<4, tile_pixels(kLanes, 4)>(pixels, runs, count, pixel, repeat, out);
      break;
  }
}
