// Products of transformed pixels and filters: M tiles x N vectors of filters stay in registers over one slice
// of channels. Included inside the namespace of each instruction set.

/// A slice of channels of some tiles times one register block of filters.
struct Product {
  const float* x;       ///< [tile][row]
  std::int64_t row;     ///< floats between two tiles
  const float* w;       ///< [length][N x kLanes]
  std::int64_t length;  ///< channels
  float* sums;          ///< [tile][sums_step]
  std::int64_t sums_step;
  bool add;       ///< to the sums, else they start here
  bool sums_far;  ///< sums wait beyond the second-level cache: asked for before the products, they are there
                  ///< behind them
  /// Filters wanted next, and how far to go on for each channel: reading filters is as long as multiplying
  /// with them where they come from beyond the second-level cache, unless they are asked for in time.
  const float* ahead;
  std::int64_t ahead_step;
  /// Pixels wanted next, likewise, where they are shared and come from beyond that cache.
  const float* x_ahead;
  std::int64_t x_ahead_step;
};

/// Lines asked for each time.
constexpr int kAheadLines = 1;
constexpr std::int64_t kLineFloats = 16;
/// Vectors of a line.
constexpr int kSumVectors = 16 / kLanes;

/// `repeat` register tiles, one behind the other. Moves x, sums and ahead on.
template <int M, int N>
void product_tiles(Product& p, std::int64_t repeat) {
  constexpr int kGroups = (M + 2) / 3;
  for (std::int64_t r = 0; r < repeat; ++r) {
    Vec c[M][N];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = zero();
    const float* q[kGroups];  // one pointer for three tiles: x, x + row, x + 2 row are address modes
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      q[g] = p.x + 3 * g * p.row;
      asm("" : "+r"(q[g]));  // keep a third of M pointers
    }
    if (p.sums_far) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; n += kSumVectors) prefetch(p.sums + m * p.sums_step + n * kLanes);
    }
    const float* w = p.w;
    const float* const end = w + p.length * (N * kLanes);
    const float *ahead = p.ahead, *x_ahead = p.x_ahead;
    const std::int64_t row = p.row, ahead_step = p.ahead_step, x_ahead_step = p.x_ahead_step;
#pragma GCC unroll 1
    for (; w != end; w += N * kLanes) {
#pragma GCC unroll 2
      for (int i = 0; i < kAheadLines; ++i) prefetch(ahead + i * kLineFloats);
      ahead += ahead_step;
      prefetch(x_ahead);
      x_ahead += x_ahead_step;
      Vec b[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) b[n] = load(w + n * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Vec a = broadcast(q[m / 3][(m % 3) * row]);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = fma(a, b[n], c[m][n]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) ++q[g];
    }
    if (p.add) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = load(p.sums + m * p.sums_step + n * kLanes) + c[m][n];
    }
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(p.sums + m * p.sums_step + n * kLanes, c[m][n]);
    p.x += M * row;
    p.sums += M * p.sums_step;
    p.ahead = ahead, p.x_ahead = x_ahead;
  }
}

template <int N, int M>
void product_tiles_of(int tiles, Product& p, std::int64_t repeat) {
  if constexpr (M > 1) {
    if (tiles != M) {
      product_tiles_of<N, M - 1>(tiles, p, repeat);
      return;
    }
  }
  product_tiles<M, N>(p, repeat);
}

template <int N>
void product_of(Product p, std::int64_t tiles) {
  const Cut cut = cut_pixels(tiles, tile_pixels(kLanes, N));
  p.ahead_step = smaller(N * kLanes / cut.tiles, kAheadLines * kLineFloats);
  p.x_ahead_step = p.x_ahead == p.x ? 0 : cut.size + 1;
  if (cut.larger > 0)
    product_tiles_of<N, tile_pixels(kLanes, N)>(static_cast<int>(cut.size + 1), p, cut.larger);
  product_tiles_of<N, tile_pixels(kLanes, N)>(static_cast<int>(cut.size), p, cut.tiles - cut.larger);
}

inline void product(int vectors, const Product& p, std::int64_t tiles) {
  switch (vectors) {
    case 1:
      product_of<1>(p, tiles);
      break;
    case 2:
      product_of<2>(p, tiles);
      break;
    case 3:
      product_of<3>(p, tiles);
      break;
    default:
      if constexpr (tile_vectors(kLanes) == 4) product_of<4>(p, tiles);
      break;
  }
}
