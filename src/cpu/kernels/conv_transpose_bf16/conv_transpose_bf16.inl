// Transposed convolution of bfloat16 by taps; included inside the namespace of each instruction set. Words of
// two channels of M pixels meet N vectors of filters in registers over all channels.

#include "cpu/kernels/epilogue.inl"

/// One tap and register block over pixels that follow each other.
struct TapTile {
  const char* x;
  const char* w;
  std::int64_t words, src_step;  ///< bytes between two pixels
  const float* bias;
  void* dst;
  std::int64_t dst_step;  ///< elements between two results
  bool dst_bf16;
  const Epilogue* epilogue;
  int tail;  ///< filters in the last vector
};

template <int M, int N, class Result>
[[gnu::always_inline]] inline void store_tap(Vec (&c)[M][N], const TapTile& t, Result* dst) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) store(dst + m * t.dst_step + n * kLanes, c[m][n]);
    Result* const last = dst + m * t.dst_step + (N - 1) * kLanes;
    if (t.tail == kLanes)
      store(last, c[m][N - 1]);
    else
      store_first(last, t.tail, c[m][N - 1]);
  }
}

/// `repeat` register tiles, one behind the other. Moves x and dst on.
template <int M, int N>
void tap_tiles(TapTile& t, std::int64_t repeat) {
  constexpr int kGroups = (M + 2) / 3;
  for (std::int64_t r = 0; r < repeat; ++r) {
    Vec c[M][N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      const Vec bias = load(t.bias + n * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) c[m][n] = bias;
    }
    const char* q[kGroups];  // one pointer for three pixels: x, x + step, x + 2 step are address modes
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      q[g] = t.x + 3 * g * t.src_step;
      asm("" : "+r"(q[g]));  // keep a third of M pointers
    }
    const char* w = t.w;
    const char* const end = w + t.words * (N * kLanes * 4);
    const std::int64_t step = t.src_step;
#pragma GCC unroll 1
    for (; w != end; w += N * kLanes * 4) {
      Int b[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) b[n] = load_words(w + n * kLanes * 4);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Int a = broadcast_word(q[m / 3] + (m % 3) * step);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = add_bf16_pairs(c[m][n], a, b[n]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) q[g] += 4;
    }
    if (is_clamp(*t.epilogue)) {
      if (t.epilogue->activation != Activation::none) {
        const Vec low = lower_bound(*t.epilogue), high = upper_bound(*t.epilogue);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) c[m][n] = clamp(low, high, c[m][n]);
      }
    } else {
      // Many instructions: once, over sums in memory.
      alignas(64) float sums[M * N * kLanes];
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) store(sums + (m * N + n) * kLanes, c[m][n]);
#pragma GCC unroll 1
      for (int i = 0; i < M * N; ++i)
        store(sums + i * kLanes, activate(*t.epilogue, load(sums + i * kLanes)));
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = load(sums + (m * N + n) * kLanes);
    }
    t.x += M * step;
    if (t.dst_bf16) {
      auto* const dst = static_cast<Bf16*>(t.dst);
      store_tap<M, N>(c, t, dst);
      t.dst = dst + M * t.dst_step;
    } else {
      auto* const dst = static_cast<float*>(t.dst);
      store_tap<M, N>(c, t, dst);
      t.dst = dst + M * t.dst_step;
    }
  }
}

template <int N, int M>
void tap_tiles_of(int pixels, TapTile& t, std::int64_t repeat) {
  if constexpr (M > 1) {
    if (pixels != M) {
      tap_tiles_of<N, M - 1>(pixels, t, repeat);
      return;
    }
  }
  tap_tiles<M, N>(t, repeat);
}

template <int N>
void tap_row(TapTile t, std::int64_t pixels) {
  const Cut cut = cut_pixels(pixels, tile_pixels(kLanes, N));
  if (cut.larger > 0) tap_tiles_of<N, tile_pixels(kLanes, N)>(static_cast<int>(cut.size + 1), t, cut.larger);
  tap_tiles_of<N, tile_pixels(kLanes, N)>(static_cast<int>(cut.size), t, cut.tiles - cut.larger);
}

inline void run_conv_transpose(const compiler::KernelArgs& args) {
  const ConvTransposeBf16State& s = *static_cast<const ConvTransposeBf16State*>(args.state);
  const std::int64_t in_image = s.kernel_h * s.bands;
  const std::int64_t tap_weights = s.words * s.vectors * kLanes * 4;
  TapTile t{};
  t.words = s.words, t.src_step = s.src_pixel * static_cast<std::int64_t>(sizeof(Bf16));
  t.dst_step = s.kernel_w * s.dst_pixel, t.dst_bf16 = s.dst_bf16, t.epilogue = &s.epilogue;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    // Tasks of one row of taps follow each other, so that a thread keeps its filters.
    const std::int64_t image = task / in_image, ky = task % in_image / s.bands, band = task % s.bands;
    const auto* src = static_cast<const Bf16*>(args.src[0]) + image * s.src_image;
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx)
      for (std::int64_t b = 0; b < s.blocks; ++b) {
        const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
        t.w = s.weights + (ky * s.kernel_w + kx) * tap_weights + s.words * v0 * kLanes * 4;
        t.bias = s.bias + v0 * kLanes;
        t.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
        for (std::int64_t y = s.in_h * band / s.bands; y < s.in_h * (band + 1) / s.bands; ++y) {
          t.x = reinterpret_cast<const char*>(src + y * s.src_row);
          const std::int64_t at =
              image * s.dst_image + ((y * s.kernel_h + ky) * s.out_w + kx) * s.dst_pixel + v0 * kLanes;
          t.dst = s.dst_bf16 ? static_cast<void*>(static_cast<Bf16*>(args.dst[0]) + at)
                             : static_cast<void*>(static_cast<float*>(args.dst[0]) + at);
          switch (v1 - v0) {
            case 1:
              tap_row<1>(t, s.in_w);
              break;
            case 2:
              tap_row<2>(t, s.in_w);
              break;
            case 3:
              tap_row<3>(t, s.in_w);
              break;
            default:
              tap_row<4>(t, s.in_w);
              break;
          }
        }
      }
  }
}
