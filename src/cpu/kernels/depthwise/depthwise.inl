// Depthwise convolution over channels-last values: a vector is kLanes neighbouring channels of one pixel.
// Included inside the namespace of each instruction set.
//
// A task is a band of output rows of one image and a group of channels. Its rows are walked in pairs, a pair
// in pieces that fit L1, a piece one vector of channels after the other in tiles of 2 x kColumns outputs
// whose sums stay in registers. Inside the map a tile needs no checks. At the top and bottom, taps outside
// are left out for the whole row. At the left and right, a table of pointers says where each tap of each
// column of the tile is, zeros for those outside; it is made once for all channels of the task.

#include "cpu/kernels/epilogue.inl"

constexpr int kColumns = 4;

/// A band of rows of one image and a group of channels.
struct DepthwiseTask {
  const DepthwiseParams* p;
  const float* src;       ///< row 0, column 0, at channel `first`
  const float* residual;  ///< nullptr: none
  float* dst;
  std::int64_t top, bottom, first, last;
  void* table;  ///< room for the taps of an edge tile
};

/// One vector of channels of a task.
struct Lane {
  const DepthwiseParams* p;
  const float* src;
  const float* residual;
  float* dst;
  const float* weights;  ///< [tap][kLanes]
  Vec bias;
  int count;  ///< channels in use: kLanes except at the end of the task's last group
};

/// Taps along y that lie inside the map.
struct TapRows {
  int first, last;
};

/// One tap of an edge tile: where it reads for each output, at the task's first channel.
struct EdgeTap {
  const float* at[2 * kColumns];
  const float* weights;  ///< of channel 0
};

template <bool kTail>
[[gnu::always_inline]] inline Vec read(const float* p, int count) {
  if constexpr (kTail) return load_first(p, count);
  (void)count;
  return load(p);
}

template <bool kTail>
[[gnu::always_inline]] inline void write(float* p, int count, Vec v) {
  if constexpr (kTail)
    store_first(p, count, v);
  else
    store(p, v);
}

/// The activations that are neither a clamp nor hard_swish, on stored sums.
[[gnu::noinline]] inline void activate_stored(const Lane& lane, float* to, int rows, int columns) {
  const DepthwiseParams& p = *lane.p;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      float* at = to + r * p.dst_row + c * p.dst_pixel;
      store_first(at, lane.count, activate(p.epilogue, load_first(at, lane.count)));
    }
}

/// Residual, activation and store of a tile at (y, x), of which `columns` columns exist.
template <bool kTail, int kRows>
[[gnu::always_inline]] inline void finish(const Lane& lane, std::int64_t y, std::int64_t x, int columns,
                                          Vec (&sum)[kRows][kColumns]) {
  const DepthwiseParams& p = *lane.p;
  float* to = lane.dst + y * p.dst_row + x * p.dst_pixel;
  if (lane.residual != nullptr) {
    const float* from = lane.residual + y * p.residual_row + x * p.residual_pixel;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        if (c < columns)
          sum[r][c] = sum[r][c] + read<kTail>(from + r * p.residual_row + c * p.residual_pixel, lane.count);
  }
  const bool clamped = is_clamp(p.epilogue);
  if (clamped) {
    const Vec low = lower_bound(p.epilogue), high = upper_bound(p.epilogue);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sum[r][c] = clamp(low, high, sum[r][c]);
  } else if (p.epilogue.activation == Activation::hard_swish) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sum[r][c] = hard_swish(sum[r][c]);
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c)
      if (c < columns) write<kTail>(to + r * p.dst_row + c * p.dst_pixel, lane.count, sum[r][c]);
  if (!clamped && p.epilogue.activation != Activation::hard_swish) activate_stored(lane, to, kRows, columns);
}

template <int kRows>
[[gnu::always_inline]] inline void start(const Lane& lane, Vec (&sum)[kRows][kColumns]) {
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) sum[r][c] = lane.bias;
}

/// A tile whose taps all lie inside the map along x. A tap's weights are loaded once for the whole tile.
template <bool kTail, int kRows>
[[gnu::always_inline]] inline void tile(const Lane& lane, std::int64_t y, std::int64_t x, TapRows rows) {
  static_assert(kColumns == 4);
  const DepthwiseParams& p = *lane.p;
  Vec sum[kRows][kColumns];
  start(lane, sum);
  const std::int64_t step = p.stride_x * p.src_pixel, next = p.dilation_x * p.src_pixel;
  const float* line = lane.src + (y * p.stride_y - p.pad_top + rows.first * p.dilation_y) * p.src_row +
                      (x * p.stride_x - p.pad_left) * p.src_pixel;
  const float* w = lane.weights + rows.first * p.kernel_x * kLanes;
  for (int ky = rows.first; ky < rows.last; ++ky) {
    // Two pointers a row: the columns are at +0, +step, +2 step and +0, three steps on.
    const float* near[kRows];
    const float* far[kRows];
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      near[r] = line + r * p.stride_y * p.src_row;
      far[r] = near[r] + 3 * step;
      asm("" : "+r"(far[r]));
    }
#pragma GCC unroll 1
    for (int kx = 0; kx < p.kernel_x; ++kx) {
      const Vec weight = load(w);
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        sum[r][0] = fma(read<kTail>(near[r], lane.count), weight, sum[r][0]);
        sum[r][1] = fma(read<kTail>(near[r] + step, lane.count), weight, sum[r][1]);
        sum[r][2] = fma(read<kTail>(near[r] + 2 * step, lane.count), weight, sum[r][2]);
        sum[r][3] = fma(read<kTail>(far[r], lane.count), weight, sum[r][3]);
        near[r] += next;
        far[r] += next;
      }
      w += kLanes;
    }
    line += p.dilation_y * p.src_row;
  }
  finish<kTail, kRows>(lane, y, x, kColumns, sum);
}

/// Stride and dilation 1: an input row serves both output rows of the tile.
template <int kKernel>
[[gnu::always_inline]] inline void shared_tile(const Lane& lane, std::int64_t y, std::int64_t x) {
  const DepthwiseParams& p = *lane.p;
  constexpr int kPointers = (kColumns + kKernel - 1 + 2) / 3;
  Vec sum[2][kColumns];
  start(lane, sum);
  const std::int64_t pixel = p.src_pixel;
  const float* at[kPointers];
#pragma GCC unroll 4
  for (int i = 0; i < kPointers; ++i) {
    at[i] = lane.src + (y - p.pad_top) * p.src_row + (x - p.pad_left + 3 * i) * pixel;
    asm("" : "+r"(at[i]));
  }
#pragma GCC unroll 6
  for (int i = 0; i <= kKernel; ++i) {
    const float* w = lane.weights + i * kKernel * kLanes;
#pragma GCC unroll 5
    for (int kx = 0; kx < kKernel; ++kx) {
      const Vec upper = i < kKernel ? load(w + kx * kLanes) : zero();
      const Vec lower = i > 0 ? load(w + (kx - kKernel) * kLanes) : zero();
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const Vec v = load(at[(c + kx) / 3] + (c + kx) % 3 * pixel);
        if (i < kKernel) sum[0][c] = fma(v, upper, sum[0][c]);
        if (i > 0) sum[1][c] = fma(v, lower, sum[1][c]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kPointers; ++j) at[j] += p.src_row;
  }
  finish<false, 2>(lane, y, x, kColumns, sum);
}

/// Columns [x, end), whole tiles.
template <int kKernel, bool kTail, int kRows>
[[gnu::noinline]] void inner_columns(const Lane& lane, std::int64_t y, std::int64_t x, std::int64_t end,
                                     TapRows rows) {
  for (; x < end; x += kColumns) {
    if constexpr (kKernel > 0 && !kTail && kRows == 2)
      shared_tile<kKernel>(lane, y, x);
    else
      tile<kTail, kRows>(lane, y, x, rows);
  }
}

template <bool kTail, int kRows>
[[gnu::noinline]] void edge_columns(const Lane& lane, std::int64_t offset, std::int64_t y, std::int64_t x,
                                    int columns, const EdgeTap* taps, int count) {
  Vec sum[kRows][kColumns];
  start(lane, sum);
#pragma GCC unroll 1
  for (int t = 0; t < count; ++t) {
    const EdgeTap& tap = taps[t];
    const Vec weight = load(tap.weights + (lane.weights - lane.p->weights));
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        sum[r][c] = fma(read<kTail>(tap.at[r * kColumns + c] + offset, lane.count), weight, sum[r][c]);
  }
  finish<kTail, kRows>(lane, y, x, columns, sum);
}

/// The taps of the tile at (y, x) that touch the map; returns how many.
inline int edge_taps(const DepthwiseTask& task, std::int64_t y, std::int64_t x, int rows, TapRows tap_rows,
                     EdgeTap* taps) {
  const DepthwiseParams& p = *task.p;
  int count = 0;
  for (int ky = tap_rows.first; ky < tap_rows.last; ++ky) {
    for (int kx = 0; kx < p.kernel_x; ++kx) {
      EdgeTap& tap = taps[count];
      bool used = false;
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t column = (x + c) * p.stride_x - p.pad_left + kx * p.dilation_x;
        const bool inside = x + c < p.dst_width && column >= 0 && column < p.src_width;
        used = used || inside;
        for (int r = 0; r < rows; ++r) {
          const std::int64_t row = (y + r) * p.stride_y - p.pad_top + ky * p.dilation_y;
          tap.at[r * kColumns + c] = inside ? task.src + row * p.src_row + column * p.src_pixel : p.zeros;
        }
      }
      tap.weights = p.weights + (ky * p.kernel_x + kx) * kLanes;
      if (used) ++count;
    }
  }
  return count;
}

inline Lane lane_of(const DepthwiseTask& task, std::int64_t c) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t offset = c - task.first, left = task.last - c;
  return {&p,
          task.src + offset,
          task.residual == nullptr ? nullptr : task.residual + offset,
          task.dst + offset,
          p.weights + c * p.kernel_y * p.kernel_x,
          load(p.bias + c),
          left < kLanes ? static_cast<int>(left) : kLanes};
}

template <int kRows>
void edge_tile(const DepthwiseTask& task, std::int64_t y, std::int64_t x, TapRows rows) {
  const DepthwiseParams& p = *task.p;
  auto* taps = static_cast<EdgeTap*>(task.table);
  const int count = edge_taps(task, y, x, kRows, rows, taps);
  const int columns = x + kColumns <= p.dst_width ? kColumns : static_cast<int>(p.dst_width - x);
  for (std::int64_t c = task.first; c < task.last; c += kLanes) {
    const Lane lane = lane_of(task, c);
    if (lane.count == kLanes)
      edge_columns<false, kRows>(lane, c - task.first, y, x, columns, taps, count);
    else
      edge_columns<true, kRows>(lane, c - task.first, y, x, columns, taps, count);
  }
}

template <int kKernel, int kRows>
void run_rows(const DepthwiseTask& task, std::int64_t y, TapRows rows) {
  const DepthwiseParams& p = *task.p;
  std::int64_t x = 0;
  for (; x < p.inner_left && x < p.dst_width; x += kColumns) edge_tile<kRows>(task, y, x, rows);
  while (x + kColumns <= p.inner_right) {
    std::int64_t end = x + (p.inner_right - x) / kColumns * kColumns;
    if (end > x + p.piece) end = x + p.piece;
    for (std::int64_t c = task.first; c < task.last; c += kLanes) {
      const Lane lane = lane_of(task, c);
      if (lane.count == kLanes)
        inner_columns<kKernel, false, kRows>(lane, y, x, end, rows);
      else
        inner_columns<0, true, kRows>(lane, y, x, end, rows);
    }
    x = end;
  }
  for (; x < p.dst_width; x += kColumns) edge_tile<kRows>(task, y, x, rows);
}

/// The taps along y of output row `y` that lie inside the map.
inline TapRows tap_rows(const DepthwiseParams& p, std::int64_t y) {
  const std::int64_t start = y * p.stride_y - p.pad_top;
  std::int64_t first = start < 0 ? (-start + p.dilation_y - 1) / p.dilation_y : 0;
  std::int64_t last = start >= p.src_height ? 0 : (p.src_height - start - 1) / p.dilation_y + 1;
  if (last > p.kernel_y) last = p.kernel_y;
  if (first > last) first = last;
  return {static_cast<int>(first), static_cast<int>(last)};
}

template <int kKernel>
void run_task(const DepthwiseTask& task) {
  const DepthwiseParams& p = *task.p;
  for (std::int64_t y = task.top; y < task.bottom;) {
    if (y >= p.inner_top && y + 2 <= p.inner_bottom && y + 2 <= task.bottom) {
      run_rows<kKernel, 2>(task, y, {0, static_cast<int>(p.kernel_y)});
      y += 2;
    } else {
      run_rows<0, 1>(task, y, tap_rows(p, y));
      ++y;
    }
  }
}

/// Copies the task's input rows with each channel repeated `multiplier` times; returns where row 0 would be.
inline const float* spread_channels(const DepthwiseTask& task, float* scratch) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t low = task.top * p.stride_y - p.pad_top;
  const std::int64_t high = (task.bottom - 1) * p.stride_y - p.pad_top + (p.kernel_y - 1) * p.dilation_y + 1;
  const std::int64_t from = low < 0 ? 0 : low, to = high < p.src_height ? high : p.src_height;
  float* out = scratch;
  for (std::int64_t y = from; y < to; ++y) {
    for (std::int64_t x = 0; x < p.src_width; ++x) {
      const float* in = task.src + y * p.src_row + x * p.src_pixel;
      for (std::int64_t c = task.first; c < task.last; ++c) *out++ = in[c / p.multiplier];
      out += p.group - (task.last - task.first);
    }
  }
  return scratch - from * p.src_width * p.group;
}

inline void run_depthwise(const compiler::KernelArgs& args) {
  const DepthwiseParams& p = *static_cast<const DepthwiseParams*>(args.state);
  const bool unit = p.stride_y == 1 && p.stride_x == 1 && p.dilation_y == 1 && p.dilation_x == 1;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t group = t % p.groups, band = t / p.groups % p.bands, image = t / (p.groups * p.bands);
    DepthwiseTask task{};
    task.p = &p;
    task.top = band * p.band;
    task.bottom = task.top + p.band < p.dst_height ? task.top + p.band : p.dst_height;
    task.first = group * p.group;
    task.last = task.first + p.group < p.channels ? task.first + p.group : p.channels;
    task.src = static_cast<const float*>(args.src[0]) + image * p.src_image;
    if (p.has_residual)
      task.residual = static_cast<const float*>(args.src[3]) + image * p.residual_image + task.first;
    task.dst = static_cast<float*>(args.dst[0]) + image * p.dst_image + task.first;
    task.table = args.thread_scratch;
    DepthwiseParams spread;
    if (p.multiplier > 1) {
      spread = p;
      spread.src_pixel = p.group;
      spread.src_row = p.src_width * p.group;
      task.src = spread_channels(task, static_cast<float*>(args.thread_scratch) + p.table_floats);
      task.p = &spread;
    } else {
      task.src += task.first;
    }
    if (unit && p.kernel_y == 3 && p.kernel_x == 3)
      run_task<3>(task);
    else if (unit && p.kernel_y == 5 && p.kernel_x == 5)
      run_task<5>(task);
    else
      run_task<0>(task);
  }
}
