// The register tiles of depthwise convolution: kRows x C outputs of one vector of channels, C columns. T is what data are
// stored as, float or Bf16; filters, biases and sums are floats. Included inside the namespace of each instruction set.

#include "cpu/kernels/epilogue.inl"

constexpr int kRows = 2;
/// Columns of a tile, and of one with twice as many sums: sums of 25 products one after the other are long under way, and
/// neighbouring columns share most of their input.
constexpr int kColumns = 4;
constexpr int kWideColumns = kLanes == 16 ? 8 : kColumns;

/// One vector of channels of a task.
template <class T>
struct Lane {
  const DepthwiseParams* p;
  std::int64_t offset;  ///< of its channels in a pixel of the input, from the task's first on
  const T* residual;  ///< nullptr: none
  T* dst;
  const float* weights;  ///< [tap][kLanes]
  const char* words;     ///< see DepthwiseParams
  Vec bias;
  int count;  ///< channels in use: kLanes except at the end of the task's last group
};

/// Output rows y and, where `rows` is 2, y + 1. Of the input rows from y * stride - pad on, [first, last) are
/// in the map; `at` says where they lie, at column 0 and the task's first channel.
template <class T>
struct RowPair {
  std::int64_t y;
  int rows;
  std::int64_t first, last;
  const T* const* at;
};

template <bool kTail, class T>
[[gnu::always_inline]] inline Vec read(const T* p, int count) {
  if constexpr (kTail) return load_first(p, count);
  (void)count;
  return load(p);
}

template <bool kTail, class T>
[[gnu::always_inline]] inline void write(T* p, int count, Vec v) {
  if constexpr (kTail)
    store_first(p, count, v);
  else
    store(p, v);
}

/// The activations that are neither a clamp nor hard_swish, on stored sums.
[[gnu::noinline]] inline void activate_stored(const Lane<float>& lane, float* to, int rows, int columns) {
  const DepthwiseParams& p = *lane.p;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      float* at = to + r * p.dst_row + c * p.dst_pixel;
      store_first(at, lane.count, activate(p.epilogue, load_first(at, lane.count)));
    }
}

template <bool kTail, int C, class T>
[[gnu::always_inline]] inline void add_residual(const Lane<T>& lane, RowPair<T> pair, std::int64_t x, int columns,
                                                Vec (&sum)[kRows][C]) {
  const DepthwiseParams& p = *lane.p;
  const T* from = lane.residual + pair.y * p.residual_row + x * p.residual_pixel;
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
      if (r < pair.rows && c < columns)
        sum[r][c] = sum[r][c] + read<kTail>(from + r * p.residual_row + c * p.residual_pixel, lane.count);
}

/// The same, on sums that must not be rounded before.
template <class T>
[[gnu::noinline]] void store_activated(const Lane<T>& lane, const float* sums, int width, T* to, int rows, int columns) {
  const DepthwiseParams& p = *lane.p;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      store_first(to + r * p.dst_row + c * p.dst_pixel, lane.count,
                  activate(p.epilogue, load(sums + (r * width + c) * kLanes)));
}
template <int C, class T>
[[gnu::always_inline]] inline void store_activated(const Lane<T>& lane, T* to, int rows, int columns,
                                                   Vec (&sum)[kRows][C]) {
  float sums[kRows * C * kLanes];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) store(sums + (r * C + c) * kLanes, sum[r][c]);
  store_activated(lane, sums, C, to, rows, columns);
}

/// Residual, activation and store of a tile at column x, of which `columns` columns exist.
template <bool kTail, int C, class T>
[[gnu::always_inline]] inline void finish(const Lane<T>& lane, RowPair<T> pair, std::int64_t x, int columns,
                                          Vec (&sum)[kRows][C]) {
  const DepthwiseParams& p = *lane.p;
  T* to = lane.dst + pair.y * p.dst_row + x * p.dst_pixel;
  if (lane.residual != nullptr && !p.residual_last) add_residual<kTail>(lane, pair, x, columns, sum);
  const Activation activation = p.epilogue.activation;
  if (activation == Activation::relu) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[r][c] = max(zero(), sum[r][c]);
  } else if (activation == Activation::clip) {
    const Vec low = lower_bound(p.epilogue), high = upper_bound(p.epilogue);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[r][c] = clamp(low, high, sum[r][c]);
  } else if (activation == Activation::hard_swish) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[r][c] = hard_swish(sum[r][c]);
  }
  const bool later = !is_clamp(p.epilogue) && activation != Activation::hard_swish;
  if constexpr (sizeof(T) < sizeof(float)) {
    if (later) return store_activated(lane, to, pair.rows, columns, sum);
  }
  if (lane.residual != nullptr && p.residual_last) add_residual<kTail>(lane, pair, x, columns, sum);
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    if (r >= pair.rows) break;
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
      if (c < columns) write<kTail>(to + r * p.dst_row + c * p.dst_pixel, lane.count, sum[r][c]);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (later) activate_stored(lane, to, pair.rows, columns);
  }
}

template <int C, class T>
[[gnu::always_inline]] inline void start(const Lane<T>& lane, Vec (&sum)[kRows][C]) {
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) sum[r][c] = lane.bias;
}

/// What one input row contributes to the tile: to the upper output row with the filter row at `upper`, to the
/// lower with that at `lower`. The first kLeft columns of the window's reach, and the last kRight, are
/// outside of the map.
template <int kKernel, int kStride, int kLeft, int kRight, bool kTail, bool kUpper, bool kLower, int C, class T>
[[gnu::always_inline]] inline void add_row(const Lane<T>& lane, const T* row, const float* upper,
                                           const float* lower, Vec (&sum)[kRows][C]) {
  constexpr int kReach = (C - 1) * kStride + kKernel;
  constexpr int kPointers = (kReach + 2) / 3;
  const std::int64_t pixel = lane.p->src_pixel;
  const T* at[kPointers];  // one for three columns: +0, +pixel, +2 pixel are address modes
#pragma GCC unroll 7
  for (int i = 0; i < kPointers; ++i) {
    at[i] = row + 3 * i * pixel;
    asm("" : "+r"(at[i]));
  }
  // Where registers hold a row's filters, or a pixel is widened first, each pixel is read once, for all taps. Sums are added up
  // in the same order either way.
  if constexpr (kLanes == 16 || sizeof(T) < sizeof(float)) {
#pragma GCC unroll 16
    for (int column = kLeft; column < kReach - kRight; ++column) {
      const Vec v = read<kTail>(at[column / 3] + column % 3 * pixel, lane.count);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        const int kx = column - c * kStride;
        if (kx < 0 || kx >= kKernel) continue;
        if (kUpper) sum[0][c] = fma(v, load(upper + kx * kLanes), sum[0][c]);
        if (kLower) sum[1][c] = fma(v, load(lower + kx * kLanes), sum[1][c]);
      }
    }
    return;
  }
#pragma GCC unroll 5
  for (int kx = 0; kx < kKernel; ++kx) {
    const Vec u = kUpper ? load(upper + kx * kLanes) : zero();
    const Vec l = kLower ? load(lower + kx * kLanes) : zero();
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const int column = c * kStride + kx;
      if (column < kLeft || column >= kReach - kRight) continue;
      const Vec v = read<kTail>(at[column / 3] + column % 3 * pixel, lane.count);
      if (kUpper) sum[0][c] = fma(v, u, sum[0][c]);
      if (kLower) sum[1][c] = fma(v, l, sum[1][c]);
    }
  }
}

template <int kKernel, int kStride, int C, int kLeft, int kRight, bool kTail, bool kWhole>
void paired_tile(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair, std::int64_t x);  // paired_tile.inl

/// One tile of a kKernel x kKernel window. An input row serves both output rows where it can. kWhole: all
/// taps along y lie inside the map.
template <int kKernel, int kStride, int C, int kLeft, int kRight, bool kTail, bool kWhole, class T>
[[gnu::always_inline]] inline void window_tile(const Lane<T>& lane, RowPair<T> pair, std::int64_t x) {
  constexpr int kFilterRow = kKernel * kLanes, kRowCount = kKernel + kStride;
  if constexpr (kPaired<T>) {
    paired_tile<kKernel, kStride, C, kLeft, kRight, kTail, kWhole>(lane, pair, x);
    return;
  }
  const DepthwiseParams& p = *lane.p;
  Vec sum[kRows][C];
  start(lane, sum);
  std::int64_t i = kWhole ? 0 : pair.first;
  const std::int64_t column = (x * kStride - p.pad_left) * p.src_pixel + lane.offset;
  const float* w = lane.weights + i * kFilterRow;
  if constexpr (kWhole) {
#pragma GCC unroll 7
    for (int k = 0; k < kRowCount; ++k, w += kFilterRow) {
      const T* const row = pair.at[k] + column;
      if (k < kStride)
        add_row<kKernel, kStride, kLeft, kRight, kTail, true, false>(lane, row, w, w, sum);
      else if (k < kKernel)
        add_row<kKernel, kStride, kLeft, kRight, kTail, true, true>(lane, row, w, w - kStride * kFilterRow,
                                                                    sum);
      else
        add_row<kKernel, kStride, kLeft, kRight, kTail, false, true>(lane, row, w, w - kStride * kFilterRow,
                                                                     sum);
    }
  } else {
    for (; i < kStride && i < pair.last; ++i, w += kFilterRow)
      add_row<kKernel, kStride, kLeft, kRight, kTail, true, false>(lane, pair.at[i] + column, w, w, sum);
    for (; i < kKernel && i < pair.last; ++i, w += kFilterRow)
      add_row<kKernel, kStride, kLeft, kRight, kTail, true, true>(lane, pair.at[i] + column, w,
                                                                  w - kStride * kFilterRow, sum);
    for (; i < pair.last; ++i, w += kFilterRow)
      add_row<kKernel, kStride, kLeft, kRight, kTail, false, true>(lane, pair.at[i] + column, w,
                                                                   w - kStride * kFilterRow, sum);
  }
  finish<kTail>(lane, pair, x, C, sum);
}

/// Columns [x, end), whole tiles inside the map.
template <int kKernel, int kStride, int C, bool kTail, class T>
[[gnu::noinline]] void inner_columns(const Lane<T>& lane, RowPair<T> pair, std::int64_t x, std::int64_t end) {
  if (pair.first == 0 && pair.last == kKernel + kStride)
    for (; x < end; x += C) window_tile<kKernel, kStride, C, 0, 0, kTail, true>(lane, pair, x);
  else
    for (; x < end; x += C) window_tile<kKernel, kStride, C, 0, 0, kTail, false>(lane, pair, x);
}

template <int kKernel, int kStride, int C, int kLeft, int kRight, bool kTail, class T>
[[gnu::noinline]] void edge_column_tile(const Lane<T>& lane, RowPair<T> pair, std::int64_t x) {
  window_tile<kKernel, kStride, C, kLeft, kRight, kTail, false>(lane, pair, x);
}

/// A tile of whose window's reach `left` columns lie outside of the map, or `right`: at most (kKernel - 1)
/// / 2.
template <int kKernel, int kStride, int C, bool kTail, class T>
[[gnu::always_inline]] inline void edge_columns(const Lane<T>& lane, RowPair<T> pair, std::int64_t x,
                                                std::int64_t left, std::int64_t right) {
  if (left == 1) {
    edge_column_tile<kKernel, kStride, C, 1, 0, kTail>(lane, pair, x);
  } else if (right == 1) {
    edge_column_tile<kKernel, kStride, C, 0, 1, kTail>(lane, pair, x);
  } else if constexpr (kKernel == 5) {
    if (left == 2)
      edge_column_tile<kKernel, kStride, C, 2, 0, kTail>(lane, pair, x);
    else
      edge_column_tile<kKernel, kStride, C, 0, 2, kTail>(lane, pair, x);
  }
}

/// One tap of a tile: where it reads for each output, at the task's first channel.
template <class T>
struct TableTap {
  const T* at[kRows * kColumns];
  const float* weights;  ///< of channel 0
};

/// Any window: each tap reads through a table.
template <bool kTail, class T>
[[gnu::noinline]] void table_tile(const Lane<T>& lane, std::int64_t offset, RowPair<T> pair, std::int64_t x,
                                  int columns, const TableTap<T>* taps, int count) {
  Vec sum[kRows][kColumns];
  start(lane, sum);
  const std::int64_t channel = lane.weights - lane.p->weights;
#pragma GCC unroll 1
  for (int t = 0; t < count; ++t) {
    const TableTap<T>& tap = taps[t];
    const Vec weight = load(tap.weights + channel);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        sum[r][c] = fma(read<kTail>(tap.at[r * kColumns + c] + offset, lane.count), weight, sum[r][c]);
  }
  finish<kTail>(lane, pair, x, columns, sum);
}
