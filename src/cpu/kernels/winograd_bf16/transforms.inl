// The transforms of F(4x4, 3x3) between pixels and what products are made of; included inside the namespace
// of each instruction set. Vectors come in pairs: of what is stored as bfloat16 that is a whole line.

#include "cpu/kernels/winograd/points.inl"

constexpr int kTile = 4, kSide = kTile + 2, kPositions = kSide * kSide;
using Points = WinogradPoints<kTile>;

/// a + factor x; factors 1 and -1 are known when compiling.
[[gnu::always_inline]] inline Vec add_scaled(Vec a, Vec x, double factor) {
  if (factor == 1) return a + x;
  if (factor == -1) return a - x;
  return fma(x, broadcast(static_cast<float>(factor)), a);
}

/// v = B^T d: even and odd powers of a pair of points are shared.
[[gnu::always_inline]] inline void transform_input(const Vec (&d)[kSide], Vec (&v)[kSide]) {
  constexpr Points::Table kTable = Points::kTable;
  v[0] = add_scaled(add_scaled(d[4], d[0], kTable.product[0][0]), d[2], kTable.product[0][1]);
  v[5] = add_scaled(add_scaled(d[5], d[1], kTable.product[0][0]), d[3], kTable.product[0][1]);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const Vec even = add_scaled(d[4], d[2], kTable.product[k + 1][0]);
    const Vec odd = add_scaled(d[3], d[1], kTable.product[k + 1][0]);
    v[1 + 2 * k] = add_scaled(even, odd, kTable.power[k][1]);
    v[2 + 2 * k] = add_scaled(even, odd, -kTable.power[k][1]);
  }
}

/// y = A^T m.
[[gnu::always_inline]] inline void transform_output(const Vec (&m)[kSide], Vec (&y)[kTile]) {
  constexpr Points::Table kTable = Points::kTable;
  const Vec even0 = m[1] + m[2], odd0 = m[1] - m[2], even1 = m[3] + m[4], odd1 = m[3] - m[4];
  const auto factor = [&](int pair, int power) {
    return broadcast(static_cast<float>(kTable.power[pair][power]));
  };
  y[0] = m[0] + (even0 + even1);
  y[1] = fma(odd1, factor(1, 1), odd0 * factor(0, 1));
  y[2] = fma(even1, factor(1, 2), even0 * factor(0, 2));
  y[3] = fma(odd1, factor(1, 3), fma(odd0, factor(0, 3), m[5]));
}

/// Where the transformed inputs of some tiles lie: [position][slice of words][tile][word of the slice].
struct Inputs {
  char* data;
  std::int64_t position_step, tiles;  ///< bytes; tiles that there is room for
};

/// Two vectors of a group of channels, as winograd_place orders them.
[[gnu::always_inline]] inline void load_group(const float* p, Vec& first, Vec& second) {
  first = load(p);
  second = load(p + kLanes);
}
[[gnu::always_inline]] inline void load_group(const Bf16* p, Vec& first, Vec& second) {
  const Int words = load_words(p);
  first = widen_lower(words);
  second = widen_upper(words);
}
/// The group at the end, which is not full.
template <class T>
[[gnu::always_inline]] inline void load_part(const T* p, int count, Vec& first, Vec& second) {
  first = count >= kLanes ? load(p) : load_first(p, count);
  second = count > kLanes ? load_first(p + kLanes, count - kLanes) : zero();
}

/// Transforms the inputs of one tile, the t-th of those in `inputs`.
template <class T>
inline void gather_tile(const WinogradBf16State& s, const T* src, WinogradTile tile, const Inputs& inputs,
                        std::int64_t t) {
  const std::int64_t top = tile.y - s.pad_top, left = tile.x - s.pad_left;
  const std::int64_t row = s.dilation_h * s.src_row, column = s.dilation_w * s.src_pixel;
  const bool inner = top >= 0 && left >= 0 && top + (kSide - 1) * s.dilation_h < s.in_h &&
                     left + (kSide - 1) * s.dilation_w < s.in_w;
  const T* at[kSide][kSide];  // [column][row]
  if (!inner) {
    for (int j = 0; j < kSide; ++j)
      for (int i = 0; i < kSide; ++i) {
        const std::int64_t y = top + i * s.dilation_h, x = left + j * s.dilation_w;
        const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
        at[j][i] = inside ? src + y * s.src_row + x * s.src_pixel : reinterpret_cast<const T*>(s.zeros);
      }
  }
  const T* origin = src + top * s.src_row + left * s.src_pixel;
  // Most tiles are followed by the one on their right: its pixels are asked for meanwhile.
  const T* const ahead = origin + kTile * column;
  Vec columns[2][kSide][kSide];
  for (std::int64_t c = 0; c < s.channels; c += kWinogradGroup) {
    const std::int64_t left_channels = s.channels - c, word = c / 2;
    const std::int64_t slice = word / kWinogradWords * kWinogradWords;
    char* const out = inputs.data + 4 * (slice * inputs.tiles + t * word_row(s.words - slice) + word - slice);
    const bool whole = left_channels >= kWinogradGroup;
    Vec e[2][kSide];
#pragma GCC unroll 1
    for (int j = 0; j < kSide; ++j) {
      if (inner && j >= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < kSide; ++i) {
          const T* next = ahead + i * row + j * column + c;
          prefetch(next);
          if constexpr (sizeof(T) == 4) prefetch(next + kLanes);
        }
      }
      if (!whole) {
        const int some = static_cast<int>(left_channels);
#pragma GCC unroll 8
        for (int i = 0; i < kSide; ++i)
          load_part(inner ? origin + i * row + j * column + c : at[j][i] + c, some, e[0][i], e[1][i]);
      } else if (inner) {
#pragma GCC unroll 8
        for (int i = 0; i < kSide; ++i) load_group(origin + i * row + j * column + c, e[0][i], e[1][i]);
      } else {
#pragma GCC unroll 8
        for (int i = 0; i < kSide; ++i) load_group(at[j][i] + c, e[0][i], e[1][i]);
      }
      transform_input(e[0], columns[0][j]);
      transform_input(e[1], columns[1][j]);
    }
#pragma GCC unroll 1
    for (int i = 0; i < kSide; ++i) {
      Vec v[2][kSide];
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 8
        for (int j = 0; j < kSide; ++j) e[half][j] = columns[half][j][i];
        transform_input(e[half], v[half]);
      }
#pragma GCC unroll 8
      for (int j = 0; j < kSide; ++j)
        store_pair(reinterpret_cast<Bf16*>(out + (i * kSide + j) * inputs.position_step), v[0][j], v[1][j]);
#pragma GCC unroll 8
      for (int j = 0; j < kSide; ++j) prefetch(out + (i * kSide + j) * inputs.position_step + 64);
    }
  }
}

/// The columns of a tile's sums, some filters of it; the next line of sums is asked for.
[[gnu::always_inline]] inline void transform_columns(const float* sums, std::int64_t position_step,
                                                     Vec (&half)[kSide][kTile]) {
#pragma GCC unroll 1
  for (int j = 0; j < kSide; ++j) {
    Vec e[kSide];
#pragma GCC unroll 8
    for (int i = 0; i < kSide; ++i) e[i] = load(sums + (i * kSide + j) * position_step);
#pragma GCC unroll 8
    for (int i = 0; i < kSide; ++i) prefetch(sums + (i * kSide + j) * position_step + kLanes);
    transform_output(e, half[j]);
  }
}

/// A row of outputs from its columns.
[[gnu::always_inline]] inline void transform_row(const Vec (&half)[kSide][kTile], int row, Vec (&y)[kTile]) {
  Vec e[kSide];
#pragma GCC unroll 8
  for (int j = 0; j < kSide; ++j) e[j] = half[j][row];
  transform_output(e, y);
}

/// Outputs of a tile that exist.
struct Extent {
  int rows, columns;
};
inline Extent extent_of(const WinogradBf16State& s, WinogradTile tile) {
  const std::int64_t rows = (s.out_h - tile.y + s.dilation_h - 1) / s.dilation_h;
  const std::int64_t columns = (s.out_w - tile.x + s.dilation_w - 1) / s.dilation_w;
  return {static_cast<int>(smaller(rows, kTile)), static_cast<int>(smaller(columns, kTile))};
}

/// Two vectors of filters of a pixel; with kStream past the caches.
template <bool kStream>
[[gnu::always_inline]] inline void store_line(Bf16* d, Vec a, Vec b) {
  if constexpr (kStream)
    stream_pair(d, a, b);
  else
    store_pair(d, a, b);
}
template <bool kStream>
[[gnu::always_inline]] inline void store_line(float* d, Vec a, Vec b) {
  if constexpr (kStream) {
    stream(d, a);
    stream(d + kLanes, b);
  } else {
    store(d, a);
    store(d + kLanes, b);
  }
}

/// Two whole vectors of filters of a whole tile, under a clamp.
template <bool kStream, class Result>
[[gnu::always_inline]] inline void scatter_pair(const WinogradBf16State& s, const float* sums,
                                                std::int64_t position_step, std::int64_t filter, Vec low,
                                                Vec high, Result* dst) {
  Vec first[kSide][kTile], second[kSide][kTile];
  const Vec bias0 = load(s.bias + filter), bias1 = load(s.bias + filter + kLanes);
  transform_columns(sums, position_step, first);
  transform_columns(sums + kLanes, position_step, second);
  const std::int64_t row = s.dilation_h * s.out_w * s.dst_pixel, column = s.dilation_w * s.dst_pixel;
#pragma GCC unroll 1
  for (int i = 0; i < kTile; ++i) {
    Vec y0[kTile], y1[kTile];
    transform_row(first, i, y0);
    transform_row(second, i, y1);
#pragma GCC unroll 4
    for (int j = 0; j < kTile; ++j)
      store_line<kStream>(dst + i * row + j * column, clamp(low, high, y0[j] + bias0),
                          clamp(low, high, y1[j] + bias1));
  }
}

/// Transforms the sums of one tile, `width` filters from `filter` on, and stores the outputs that exist.
template <class Residual, class Result>
inline void scatter_tile(const WinogradBf16State& s, const float* sums, std::int64_t position_step,
                         WinogradTile tile, std::int64_t filter, std::int64_t width, const Residual* residual,
                         Result* dst, bool streamed) {
  const Extent extent = extent_of(s, tile);
  const Vec low = lower_bound(s.epilogue), high = upper_bound(s.epilogue);
  const std::int64_t corner = static_cast<std::int64_t>(tile.y) * s.out_w + tile.x;
  const bool plain =
      residual == nullptr && is_clamp(s.epilogue) && extent.rows == kTile && extent.columns == kTile;
  for (std::int64_t c = 0; c < width;) {
    if (plain && c + 2 * kLanes <= width && filter + c + 2 * kLanes <= s.filters) {
      Result* const corner_at = dst + corner * s.dst_pixel + filter + c;
      if (streamed && (filter + c) * static_cast<std::int64_t>(sizeof(Result)) % 64 == 0)
        scatter_pair<true>(s, sums + c, position_step, filter + c, low, high, corner_at);
      else
        scatter_pair<false>(s, sums + c, position_step, filter + c, low, high, corner_at);
      c += 2 * kLanes;
      continue;
    }
    Vec half[kSide][kTile];
    const Vec bias = load(s.bias + filter + c);
    const int count = static_cast<int>(smaller(s.filters - filter - c, kLanes));
    transform_columns(sums + c, position_step, half);
    for (int i = 0; i < extent.rows; ++i) {
      Vec y[kTile];
      transform_row(half, i, y);
      const std::int64_t pixel = corner + i * s.dilation_h * s.out_w;
      Result* d = dst + pixel * s.dst_pixel + filter + c;
      const Residual* r = residual + (residual != nullptr ? pixel * s.residual_pixel + filter + c : 0);
#pragma GCC unroll 1
      for (int j = 0; j < extent.columns; ++j) {
        Vec v = y[j] + bias;
        if (residual != nullptr) v = v + load_first(r + j * s.dilation_w * s.residual_pixel, count);
        store_first(d + j * s.dilation_w * s.dst_pixel, count, activate(s.epilogue, v));
      }
    }
    c += kLanes;
  }
}
