// Depthwise convolution over channels-last values: a vector is kLanes neighbouring channels of one pixel. T is what
// data are stored as, float or Bf16, or PairedBf16 (paired_tile.inl).
// Included inside the namespace of each instruction set.
//
// A task is a band of output rows of one image and a group of channels. It is walked in pieces of columns
// narrow enough that the rows two neighbouring pairs of output rows share stay in L1; a piece in pairs of
// rows from top to bottom, a pair one vector of channels after the other. Windows of 3x3 and 5x5 with stride
// 1 or 2 have tiles of their own, which also know the usual edges: taps above and below the map are left out
// by row, taps beside it when the code is generated. All else goes through a table of pointers, zeros for
// taps outside, made once for all channels of the task.
//
// A dilated convolution of stride 1 is several undilated ones: the outputs of one phase (position modulo
// dilation) only read inputs of one phase.

#include "cpu/kernels/depthwise/tile.inl"
#include "cpu/kernels/vectors.inl"

template <class T>
inline Lane<T> lane_of(const DepthwiseTask<T>& task, std::int64_t c) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t offset = c - task.first, left = task.last - c;
  return {&p,
          offset,
          task.residual == nullptr ? nullptr : task.residual + offset,
          task.dst + offset,
          p.weights + c * p.kernel_y * p.kernel_x,
          static_cast<const char*>(p.words) + c * p.channel_words * 4,
          load(p.bias + c),
          left < kLanes ? static_cast<int>(left) : kLanes};
}

template <class T>
inline const T* row_at(const DepthwiseTask<T>& task, std::int64_t row) {
  return task.src + row * task.p->src_row - (row >= task.wrap ? task.ring : 0);
}

/// Most input rows that a tile with unrolled taps reads.
constexpr int kMostRows = 5 + 2;

/// The rows y and y + 1; fills `at` where the window is small enough.
template <class T>
inline RowPair<T> pair_at(const DepthwiseTask<T>& task, std::int64_t y, const T* (&at)[kMostRows]) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t start = y * p.stride_y - p.pad_top;
  const int rows = y + 1 < task.bottom ? 2 : 1;
  const std::int64_t reach = (rows - 1) * p.stride_y + p.kernel_y;
  const std::int64_t left = p.src_height - start;
  std::int64_t first = start < 0 ? -start : 0, last = left < reach ? left : reach;
  if (last < 0) last = 0;
  if (first > last) first = last;
  for (std::int64_t i = first; i < last && i < kMostRows; ++i) at[i] = row_at(task, start + i);
  return {y, rows, first, last, at};
}

/// The taps of the tile at column x that touch the map; returns how many.
template <class T>
inline int fill_table(const DepthwiseTask<T>& task, TableTap<T>* taps, RowPair<T> pair, std::int64_t x) {
  const DepthwiseParams& p = *task.p;
  int count = 0;
  for (std::int64_t ky = 0; ky < p.kernel_y; ++ky) {
    for (std::int64_t kx = 0; kx < p.kernel_x; ++kx) {
      TableTap<T>& tap = taps[count];
      bool used = false;
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = (pair.y + r) * p.stride_y - p.pad_top + ky * p.dilation_y;
        const bool row_inside = r < pair.rows && row >= 0 && row < p.src_height;
        for (int c = 0; c < kColumns; ++c) {
          const std::int64_t column = (x + c) * p.stride_x - p.pad_left + kx * p.dilation_x;
          const bool inside = row_inside && x + c < p.dst_width && column >= 0 && column < p.src_width;
          used = used || inside;
          tap.at[r * kColumns + c] = inside ? row_at(task, row) + column * p.src_pixel : static_cast<const T*>(p.zeros);
        }
      }
      tap.weights = p.weights + (ky * p.kernel_x + kx) * kLanes;
      if (used) ++count;
    }
  }
  return count;
}

template <class T>
inline void table_columns(const DepthwiseTask<T>& task, std::int64_t x) {
  const int left = static_cast<int>(task.p->dst_width - x), columns = left < kColumns ? left : kColumns;
  TableTap<T>* const taps = static_cast<TableTap<T>*>(task.table);
  const T* at[kMostRows];
  for (std::int64_t y = task.top; y < task.bottom; y += kRows) {
    const RowPair<T> pair = pair_at(task, y, at);
    const int count = fill_table(task, taps, pair, x);
    for (std::int64_t c = task.first; c < task.last; c += kLanes) {
      const Lane<T> lane = lane_of(task, c);
      if (lane.count == kLanes)
        table_tile<false>(lane, c - task.first, pair, x, columns, taps, count);
      else
        table_tile<true>(lane, c - task.first, pair, x, columns, taps, count);
    }
  }
}

/// Columns that are walked together: tiles inside the map from `x` to `end`, and a tile at either edge.
struct Piece {
  std::int64_t x, end;
  std::int64_t left_x,
      left;  ///< the tile at the left edge and how many columns it lacks; none where left is 0
  std::int64_t right_x, right;  ///< likewise at the right edge
};

template <int kKernel, int kStride, int C, bool kTail, class T>
[[gnu::always_inline]] inline void run_piece(const Lane<T>& lane, RowPair<T> pair, const Piece& piece) {
  if (piece.left > 0) edge_columns<kKernel, kStride, C, kTail>(lane, pair, piece.left_x, piece.left, 0);
  if (piece.x < piece.end) inner_columns<kKernel, kStride, C, kTail>(lane, pair, piece.x, piece.end);
  if (piece.right > 0) edge_columns<kKernel, kStride, C, kTail>(lane, pair, piece.right_x, 0, piece.right);
}

/// Whether 2 kLanes channels from `c` on are done at once.
inline bool in_halves(const DepthwiseTask<PairedBf16>& task, std::int64_t c) {
  const Epilogue& e = task.p->epilogue;
  return c % (2 * kLanes) == 0 && c + 2 * kLanes <= task.last && task.residual == nullptr &&
         (is_clamp(e) || e.activation == Activation::hard_swish);
}
template <int kKernel, int kStride, int C>
void run_halves(const DepthwiseTask<PairedBf16>& task, std::int64_t c, RowPair<PairedBf16> pair,
                const Piece& piece);  // paired_tile.inl

template <int kKernel, int kStride, int C, class T>
void run_pieces(const DepthwiseTask<T>& task, const Piece& piece) {
  const T* at[kMostRows];
  for (std::int64_t y = task.top; y < task.bottom; y += kRows) {
    const RowPair<T> pair = pair_at(task, y, at);
    for (std::int64_t c = task.first; c < task.last; c += kLanes) {
      if constexpr (kPaired<T>) {
        if (in_halves(task, c)) {
          run_halves<kKernel, kStride, C>(task, c, pair, piece);
          c += kLanes;
          continue;
        }
      }
      const Lane<T> lane = lane_of(task, c);
      if (lane.count == kLanes)
        run_piece<kKernel, kStride, C, false>(lane, pair, piece);
      else
        run_piece<kKernel, kStride, C, true>(lane, pair, piece);
    }
  }
}

template <int kKernel, int kStride, int C, class T>
void run_task(const DepthwiseTask<T>& task) {
  constexpr std::int64_t kMostOutside = (kKernel - 1) / 2;
  const DepthwiseParams& p = *task.p;
  // Columns that the tile at x reaches to the left and right of the map.
  const auto left_of = [&](std::int64_t x) { return p.pad_left - x * kStride; };
  const auto right_of = [&](std::int64_t x) {
    return (x + C - 1) * kStride + kKernel - p.pad_left - p.src_width;
  };
  std::int64_t x = 0;
  Piece piece{};
  if (left_of(0) > 0 && p.dst_width >= C && left_of(0) <= kMostOutside && right_of(0) <= 0) {
    piece.left = left_of(0);
    x = C;
  }
  for (; left_of(x) > 0 && x < p.dst_width; x += kColumns) table_columns(task, x);
  while (x < p.dst_width || piece.left > 0) {
    piece.x = x;
    while (x + C <= p.dst_width && right_of(x) <= 0 && x < piece.x + p.piece) x += C;
    piece.end = x;
    // The last columns, where few taps are outside. Where they are not a whole tile it begins further left
    // and does some columns again, with the same result; not with a residual, which may be what the result is
    // written over.
    const std::int64_t last = p.dst_width - C, outside = right_of(last);
    if (x < p.dst_width && last >= 0 && x >= last && left_of(last) <= 0 && outside > 0 &&
        outside <= kMostOutside && (x == last || task.residual == nullptr)) {
      piece.right_x = last;
      piece.right = outside;
      x = p.dst_width;
    }
    if (piece.left == 0 && piece.right == 0 && piece.x == piece.end) break;
    run_pieces<kKernel, kStride, C>(task, piece);
    piece = Piece{};
  }
  for (; x < p.dst_width; x += kColumns) table_columns(task, x);
}

/// Tiles of many columns where they hardly compute more, and none twice that may lie over its residual.
template <int kKernel, class T>
void run_dense_task(const DepthwiseTask<T>& task) {
  const std::int64_t width = task.p->dst_width, rest = width % kWideColumns;
  const bool wide = width > kWideColumns && (rest == 0 || (task.residual == nullptr && (rest > kColumns || width > 40)));
  if (wide)
    run_task<kKernel, 1, kWideColumns>(task);
  else
    run_task<kKernel, 1, kColumns>(task);
}

template <class T>
inline void run_any_task(const DepthwiseTask<T>& task) {
  const DepthwiseParams& p = *task.p;
  const bool square =
      p.kernel_y == p.kernel_x && p.stride_y == p.stride_x && p.dilation_y == 1 && p.dilation_x == 1;
  const std::int64_t kernel = square ? p.kernel_x : 0, stride = p.stride_x;
  if (kernel == 3 && stride == 1)
    run_dense_task<3>(task);
  else if (kernel == 3 && stride == 2)
    run_task<3, 2, kColumns>(task);
  else if (kernel == 5 && stride == 1)
    run_dense_task<5>(task);
  else if (kernel == 5 && stride == 2)
    run_task<5, 2, kColumns>(task);
  else
    for (std::int64_t x = 0; x < p.dst_width; x += kColumns) table_columns(task, x);
}

/// Copies the task's input rows with each channel repeated `multiplier` times; returns where row 0 would be.
template <class T>
inline const T* spread_channels(const DepthwiseTask<T>& task, T* scratch) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t low = task.top * p.stride_y - p.pad_top;
  const std::int64_t high = (task.bottom - 1) * p.stride_y - p.pad_top + (p.kernel_y - 1) * p.dilation_y + 1;
  const std::int64_t from = low < 0 ? 0 : low, to = high < p.src_height ? high : p.src_height;
  for (std::int64_t c = task.first; c < task.last; c += kLanes) {
    const std::int64_t first_in = c / p.multiplier, left = task.last - c;
    const int count = left < kLanes ? static_cast<int>(left) : kLanes;
    alignas(64) int lanes[kLanes];
    for (int i = 0; i < kLanes; ++i)
      lanes[i] = static_cast<int>((c + (i < count ? i : 0)) / p.multiplier - first_in);
    const Int places = load_int(lanes);
    const int used = lanes[count - 1] + 1;
    T* out = scratch + (c - task.first);
    for (std::int64_t y = from; y < to; ++y) {
      const T* in = task.src + y * p.src_row + first_in;
      for (std::int64_t x = 0; x < p.src_width; ++x, in += p.src_pixel, out += p.group)
        store_part(out, count, permute(load_part(in, used), places));
    }
  }
  return scratch - from * p.src_width * p.group;
}

/// One axis of the undilated convolution that outputs phase, phase + dilation, … are.
struct PhaseAxis {
  std::int64_t src;  ///< first input it reads
  std::int64_t pad, src_size, dst_size;
};

inline PhaseAxis phase_axis(std::int64_t phase, std::int64_t dilation, std::int64_t pad,
                            std::int64_t src_size, std::int64_t dst_size) {
  // Output phase + dilation u, tap k reads phase - pad + dilation (u + k) = src + dilation (u + k - new pad).
  const std::int64_t first = phase - pad, src = (first % dilation + dilation) % dilation;
  return {src, (src - first) / dilation, src < src_size ? (src_size - src + dilation - 1) / dilation : 0,
          phase < dst_size ? (dst_size - phase + dilation - 1) / dilation : 0};
}

/// Turns the task into that of one phase of a dilated convolution; `p` becomes its parameters.
template <class T>
inline void enter_phase(DepthwiseTask<T>& task, DepthwiseParams& p, std::int64_t phase_y, std::int64_t phase_x) {
  const PhaseAxis y = phase_axis(phase_y, p.dilation_y, p.pad_top, p.src_height, p.dst_height);
  const PhaseAxis x = phase_axis(phase_x, p.dilation_x, p.pad_left, p.src_width, p.dst_width);
  task.src += y.src * p.src_row + x.src * p.src_pixel;
  task.dst += phase_y * p.dst_row + phase_x * p.dst_pixel;
  if (task.residual != nullptr) task.residual += phase_y * p.residual_row + phase_x * p.residual_pixel;
  p.src_row *= p.dilation_y, p.dst_row *= p.dilation_y, p.residual_row *= p.dilation_y;
  p.src_pixel *= p.dilation_x, p.dst_pixel *= p.dilation_x, p.residual_pixel *= p.dilation_x;
  p.pad_top = y.pad, p.src_height = y.src_size, p.dst_height = y.dst_size;
  p.pad_left = x.pad, p.src_width = x.src_size, p.dst_width = x.dst_size;
  p.dilation_y = p.dilation_x = 1;
  task.p = &p;
}

template <class T>
inline void run_all_phases(const DepthwiseTask<T>& whole) {
  if (whole.p->phases_y * whole.p->phases_x <= 1) {
    run_any_task(whole);
    return;
  }
  for (std::int64_t phase_y = 0; phase_y < whole.p->phases_y; ++phase_y)
    for (std::int64_t phase_x = 0; phase_x < whole.p->phases_x; ++phase_x) {
      DepthwiseParams p = *whole.p;
      DepthwiseTask<T> task = whole;
      enter_phase(task, p, phase_y, phase_x);
      task.top = 0, task.bottom = p.dst_height;
      if (task.bottom > 0) run_any_task(task);
    }
}

template <class T>
inline void run_depthwise(const compiler::KernelArgs& args) {
  const DepthwiseParams& whole = *static_cast<const DepthwiseParams*>(args.state);
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    std::int64_t left = t;
    const std::int64_t group = left % whole.groups;
    left /= whole.groups;
    const std::int64_t phase_x = left % whole.phases_x;
    left /= whole.phases_x;
    const std::int64_t phase_y = left % whole.phases_y;
    left /= whole.phases_y;
    // A band of every phase is a band of the picture: what one thread has of it, it has in other kernels too.
    const std::int64_t band = left % whole.bands, image = left / whole.bands;
    DepthwiseParams p = whole;
    DepthwiseTask<T> task{};
    task.p = &p;
    task.first = group * p.group;
    task.last = task.first + p.group < p.channels ? task.first + p.group : p.channels;
    task.src = static_cast<const T*>(args.src[0]) + image * p.src_image;
    if (p.has_residual)
      task.residual = static_cast<const T*>(args.src[3]) + image * p.residual_image + task.first;
    task.dst = static_cast<T*>(args.dst[0]) + image * p.dst_image + task.first;
    task.table = args.thread_scratch;
    task.wrap = kNoWrap;
    if (p.phases_y * p.phases_x > 1) enter_phase(task, p, phase_y, phase_x);
    task.top = band * p.band;
    task.bottom = task.top + p.band < p.dst_height ? task.top + p.band : p.dst_height;
    if (task.top >= task.bottom) continue;  // a phase may have fewer rows than another
    if (p.multiplier > 1) {
      task.src = spread_channels(
          task, reinterpret_cast<T*>(static_cast<float*>(args.thread_scratch) + p.table_floats));
      p.src_pixel = p.group;
      p.src_row = p.src_width * p.group;
    } else {
      task.src += task.first;
    }
    run_any_task(task);
  }
}
