// Products of transformed pixels and filters in words of two bfloat16: M tiles x N vectors of filters stay in
// registers over one slice of channels. Included inside the namespace of each instruction set.

/// A slice of channels of some tiles times one register block of filters.
struct Product {
  const char* x;     ///< [tile][row]
  std::int64_t row;  ///< bytes between two tiles
  const char* w;     ///< [words][N x kLanes]
  std::int64_t words;
  float* sums;  ///< [tile][sums_step]
  std::int64_t sums_step;
  bool add;  ///< to the sums, else they start here
  /// Filters and pixels wanted next, and how many bytes to go on for each word: they come from beyond the
  /// second-level cache, and reading them takes as long as multiplying unless they are asked for in time.
  const char *ahead, *x_ahead;
  std::int64_t ahead_step, x_ahead_step;
};

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
    const char* q[kGroups];  // one pointer for three tiles: x, x + row, x + 2 row are address modes
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      q[g] = p.x + 3 * g * p.row;
      asm("" : "+r"(q[g]));  // keep a third of M pointers
    }
    const char* w = p.w;
    const char* const end = w + p.words * (N * kLanes * 4);
    const char *ahead = p.ahead, *x_ahead = p.x_ahead;
    const std::int64_t row = p.row, ahead_step = p.ahead_step, x_ahead_step = p.x_ahead_step;
#pragma GCC unroll 1
    for (; w != end; w += N * kLanes * 4) {
      prefetch(ahead);
      ahead += ahead_step;
      prefetch(x_ahead);
      x_ahead += x_ahead_step;
      Int b[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) b[n] = load_words(w + n * kLanes * 4);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Int a = broadcast_word(q[m / 3] + (m % 3) * row);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = add_bf16_pairs(c[m][n], a, b[n]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) q[g] += 4;
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
  p.ahead_step = smaller(N * kLanes * 4 / cut.tiles, 64);
  p.x_ahead_step = (cut.size + 1) * 4;
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
      product_of<4>(p, tiles);
      break;
  }
}
