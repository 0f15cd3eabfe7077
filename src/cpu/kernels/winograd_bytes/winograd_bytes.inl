// Exact 3x3 convolution of bytes by F(2x2, 3x3); included inside the namespace of each instruction set. A strip of tiles is
// transformed to integers of 16 bits; for each block of filters 16 matrix products give sums of 32 bits, which are
// transformed back to bytes.

#include "cpu/kernels/multiply_words.inl"

/// Where the outputs of a tile are: the first one.
struct ByteTile {
  std::int64_t y, x;
};

[[gnu::always_inline]] inline ByteTile tile_at(const WinogradBytesState& s, std::int64_t index) {
  const std::int64_t in_phase = s.tiles_y * s.tiles_x, phase = index / in_phase, at = index % in_phase;
  return {phase / s.dilation_w + at / s.tiles_x * 2 * s.dilation_h, phase % s.dilation_w + at % s.tiles_x * 2 * s.dilation_w};
}

/// The 16 pixels of a tile, all channels: T is how their bytes are signed.
template <class T>
void transform_pixels(const WinogradBytesState& s, const T* const (&pixels)[kWinogradPositions], char* dst) {
  const Int zero = broadcast_short(static_cast<short>(s.x_zero));
  const Int none = broadcast_short(0);
  for (std::int64_t c = 0; c < s.channels; c += 2 * kLanes, dst += kLanes * 4) {
    Int t[4][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Int d[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const T* p = pixels[i * 4 + j];
        d[i] = p == nullptr ? none : subtract_shorts(load_shorts(p + c), zero);
      }
      t[0][j] = subtract_shorts(d[0], d[2]);
      t[1][j] = add_shorts(d[1], d[2]);
      t[2][j] = subtract_shorts(d[2], d[1]);
      t[3][j] = subtract_shorts(d[1], d[3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      char* row = dst + i * 4 * s.position_bytes;
      store_words(row, subtract_shorts(t[i][0], t[i][2]));
      store_words(row + s.position_bytes, add_shorts(t[i][1], t[i][2]));
      store_words(row + 2 * s.position_bytes, subtract_shorts(t[i][2], t[i][1]));
      store_words(row + 3 * s.position_bytes, subtract_shorts(t[i][1], t[i][3]));
    }
  }
}

template <class T>
void transform_tiles(const WinogradBytesState& s, const T* image, std::int64_t first, std::int64_t count, char* transformed) {
  for (std::int64_t t = 0; t < count; ++t) {
    const ByteTile tile = tile_at(s, first + t);
    const T* pixels[kWinogradPositions];
    for (int i = 0; i < 4; ++i) {
      const std::int64_t y = tile.y - s.pad_top + i * s.dilation_h;
      for (int j = 0; j < 4; ++j) {
        const std::int64_t x = tile.x - s.pad_left + j * s.dilation_w;
        const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
        pixels[i * 4 + j] = inside ? image + y * s.src_row + x * s.src_pixel : nullptr;
      }
    }
    transform_pixels(s, pixels, transformed + t * s.channels * 2);
  }
}

/// `repeat` times M tiles x N vectors of filters of one position.
template <int M, int N>
void position_sums(const char* x, const char* w, std::int64_t words, std::int64_t pixel, std::int64_t repeat, int* dst) {
  for (std::int64_t r = 0; r < repeat; ++r, x += M * pixel, dst += M * N * kLanes) {
    Sums c[M][N];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = no_sums();
    multiply_run<Shorts, M, N>(c, x, w, words, pixel);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store_sums(dst + (m * N + n) * kLanes, c[m][n]);
  }
}

template <int N, int M>
void position_sums_of(int pixels, const char* x, const char* w, std::int64_t words, std::int64_t pixel, std::int64_t repeat,
                      int* dst) {
  if constexpr (M > 1) {
    if (pixels != M) {
      position_sums_of<N, M - 1>(pixels, x, w, words, pixel, repeat, dst);
      return;
    }
  }
  position_sums<M, N>(x, w, words, pixel, repeat, dst);
}

template <int N>
void all_sums(const WinogradBytesState& s, const char* transformed, const char* weights, std::int64_t count, int* sums) {
  constexpr int kMost = byte_tile_pixels(kLanes, N);
  const Cut cut = cut_pixels(count, kMost);
  const std::int64_t words = s.channels / 2, pixel = s.channels * 2;
  for (int p = 0; p < kWinogradPositions; ++p) {
    const char* x = transformed + p * s.position_bytes;
    int* dst = sums + p * s.strip * N * kLanes;
    if (cut.larger > 0)
      position_sums_of<N, kMost>(static_cast<int>(cut.size + 1), x, weights, words, pixel, cut.larger, dst);
    const std::int64_t done = cut.larger * (cut.size + 1);
    if (cut.tiles > cut.larger)
      position_sums_of<N, kMost>(static_cast<int>(cut.size), x + done * pixel, weights, words, pixel, cut.tiles - cut.larger,
                                 dst + done * N * kLanes);
    weights += words * N * kLanes * 4;
  }
}

/// A vector of filters of one tile: 16 sums, `step` integers apart, to four outputs.
inline void transform_back(const WinogradBytesState& s, const ByteTile& tile, const int* sums, std::int64_t step,
                           std::int64_t filter, unsigned char* image) {
  Sums t[2][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Sums a = load_sums(sums + j * step), b = load_sums(sums + (4 + j) * step), c = load_sums(sums + (8 + j) * step),
               d = load_sums(sums + (12 + j) * step);
    t[0][j] = a + b + c;
    t[1][j] = b - c - d;
  }
  const Sums bias = load_sums(s.bias + filter);
  const Vec ratio = load(s.ratio + filter), low = broadcast(s.low), high = broadcast(s.high);
  const Int zero = broadcast_int(s.y_zero);
  const std::int64_t left = s.filters - filter;
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const Sums pair[2] = {t[i][0] + t[i][1] + t[i][2], t[i][1] - t[i][2] - t[i][3]};
    const std::int64_t y = tile.y + i * s.dilation_h;
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const std::int64_t x = tile.x + j * s.dilation_w;
      if (y >= s.out_h || x >= s.out_w) continue;
      const Int result = to_int(min(high, max(low, to_float(quarter(pair[j]) + bias) * ratio))) + zero;
      unsigned char* dst = image + (y * s.out_w + x) * s.dst_pixel + filter;
      if (left >= kLanes) {
        store_bytes(dst, result);
      } else {
        unsigned char bytes[kLanes];
        store_bytes(bytes, result);
        for (std::int64_t k = 0; k < left; ++k) dst[k] = bytes[k];
      }
    }
  }
}

inline void run_winograd_bytes(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const WinogradBytesState*>(args.state);
  char* transformed = static_cast<char*>(args.thread_scratch);
  int* sums = reinterpret_cast<int*>(transformed + s.sums_offset);
  const std::int64_t in_image = s.parts * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, split = task % in_image / s.parts, part = task % s.parts;
    const auto* src = static_cast<const unsigned char*>(args.src[0]) + image * s.src_image;
    auto* dst = static_cast<unsigned char*>(args.dst[0]) + image * s.dst_image;
    const std::int64_t last = s.tiles * (part + 1) / s.parts;
    for (std::int64_t first = s.tiles * part / s.parts; first < last; first += s.strip) {
      const std::int64_t count = smaller(s.strip, last - first);
      if (s.is_signed)
        transform_tiles(s, reinterpret_cast<const signed char*>(src), first, count, transformed);
      else
        transform_tiles(s, src, first, count, transformed);
      for (std::int64_t b = s.blocks * split / s.splits; b < s.blocks * (split + 1) / s.splits; ++b) {
        const std::int64_t v0 = s.vectors * b / s.blocks, vectors = s.vectors * (b + 1) / s.blocks - v0;
        const char* weights = s.weights + v0 * kLanes * 4 * kWinogradPositions * (s.channels / 2);
        switch (vectors) {
          case 1: all_sums<1>(s, transformed, weights, count, sums); break;
          case 2: all_sums<2>(s, transformed, weights, count, sums); break;
          case 3: all_sums<3>(s, transformed, weights, count, sums); break;
          default:
            if constexpr (tile_vectors(kLanes) == 4) all_sums<4>(s, transformed, weights, count, sums);
            break;
        }
        for (std::int64_t t = 0; t < count; ++t) {
          const ByteTile tile = tile_at(s, first + t);
          for (std::int64_t v = 0; v < vectors; ++v)
            transform_back(s, tile, sums + (t * vectors + v) * kLanes, s.strip * vectors * kLanes, (v0 + v) * kLanes, dst);
        }
      }
    }
  }
}
