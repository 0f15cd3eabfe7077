// Pooling over channels-last pictures: vectors of channels, taps outside the input skipped. Included inside the namespace of
// each instruction set.

#include "cpu/kernels/vectors.inl"

/// The taps of one axis for the window that starts at `origin` (may be negative).
struct PoolTaps {
  std::int64_t begin, end;   ///< those inside the input: [begin, end)
  std::int64_t covered;      ///< those inside the input or its declared padding
};

inline std::int64_t taps_below(std::int64_t limit, std::int64_t origin, std::int64_t kernel, std::int64_t dilation) {
  if (dilation == 1 || limit <= origin) {  // nothing to divide
    const std::int64_t inside = limit > origin ? limit - origin : 0;
    return inside < kernel ? inside : kernel;
  }
  const std::int64_t count = (limit - origin + dilation - 1) / dilation;
  return count < kernel ? count : kernel;
}

inline PoolTaps pool_taps(std::int64_t origin, std::int64_t size, std::int64_t covered, std::int64_t kernel,
                          std::int64_t dilation) {
  PoolTaps taps;
  taps.begin = taps_below(0, origin, kernel, dilation);
  taps.end = taps_below(size, origin, kernel, dilation);
  taps.covered = taps_below(covered, origin, kernel, dilation);
  return taps;
}

/// The cells of one window that lie inside the input.
template <class T>
struct PoolCells {
  const T* corner;
  std::int64_t rows, columns, row_step, column_step;
  float divisor;
  std::int64_t fresh;  ///< columns before this one were read for the window on the left
  std::int64_t ahead;  ///< elements to pixels that are asked for: processors do not guess runs with gaps between them
};

struct Largest {
  static Vec start() { return broadcast(-__builtin_inff()); }
  static Vec add(Vec so_far, Vec x) { return max(x, so_far); }  // a NaN never wins
  static Vec finish(Vec so_far, float) { return so_far; }
};

struct Average {
  static Vec start() { return zero(); }
  static Vec add(Vec so_far, Vec x) { return so_far + x; }
  static Vec finish(Vec so_far, float divisor) { return so_far / broadcast(divisor); }
};

/// Outputs whose windows are some 4 KB apart in a row: what is asked for there is in time.
template <class T>
inline std::int64_t outputs_ahead(const PoolParams& p) {
  const std::int64_t bytes = p.stride_w * p.src_pixel * static_cast<std::int64_t>(sizeof(T));
  return 0 < bytes && bytes < 4096 ? 4096 / bytes : 1;
}

/// kCount vectors of channels of one output: neighbours from `channel` on, but the last one starts at `last` and has `tail`
/// lanes. A row of taps is summed apart, so that the error of a large window grows with its sides and not with its area.
template <class Kind, int kCount, class T>
[[gnu::always_inline]] inline void pool_vectors(const PoolCells<T>& cells, std::int64_t channel, std::int64_t last, int tail,
                                                T* dst) {
  constexpr int kVectorBytes = kLanes * static_cast<int>(sizeof(T)), kLineVectors = kVectorBytes < 64 ? 64 / kVectorBytes : 1;
  Vec total[kCount];
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) total[v] = Kind::start();
  for (std::int64_t y = 0; y < cells.rows; ++y) {
    const T* p = cells.corner + y * cells.row_step;
    Vec row[kCount];
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) row[v] = Kind::start();
    for (std::int64_t x = 0; x < cells.columns; ++x, p += cells.column_step) {
#pragma GCC unroll 4
      for (int v = 0; v < kCount - 1; ++v) row[v] = Kind::add(row[v], load(p + channel + v * kLanes));
      row[kCount - 1] = Kind::add(row[kCount - 1], load_part(p + last, tail));
      if (x < cells.fresh) continue;
#pragma GCC unroll 4
      for (int v = 0; v < kCount; v += kLineVectors) prefetch(p + cells.ahead + channel + v * kLanes);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) total[v] = Kind::add(total[v], row[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kCount - 1; ++v) store(dst + channel + v * kLanes, Kind::finish(total[v], cells.divisor));
  store_part(dst + last, tail, Kind::finish(total[kCount - 1], cells.divisor));
}

template <class Kind, class T>
inline void pool_output(const PoolCells<T>& cells, std::int64_t channels, T* dst) {
  if (channels < kLanes) return pool_vectors<Kind, 1>(cells, 0, 0, static_cast<int>(channels), dst);
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) pool_vectors<Kind, 4>(cells, c, c + 3 * kLanes, kLanes, dst);
  const std::int64_t last = channels - kLanes;  // overlaps its neighbour where the rest is no whole vector
  switch ((channels - c + kLanes - 1) / kLanes) {
    case 1: pool_vectors<Kind, 1>(cells, c, last, kLanes, dst); break;
    case 2: pool_vectors<Kind, 2>(cells, c, last, kLanes, dst); break;
    case 3: pool_vectors<Kind, 3>(cells, c, last, kLanes, dst); break;
    case 4: pool_vectors<Kind, 4>(cells, c, last, kLanes, dst); break;
    default: break;
  }
}

/// The largest of each channel of kCount neighbours. A window of padding only holds the lowest number there is.
template <class T, int kCount>
inline void largest_bytes(const PoolCells<T>& cells, std::int64_t channel, std::int64_t count, T* dst) {
  T best[kCount];
  const T lowest = static_cast<T>(-1) < 0 ? static_cast<T>(-128) : static_cast<T>(0);
  for (int i = 0; i < kCount; ++i) best[i] = lowest;
  for (std::int64_t y = 0; y < cells.rows; ++y) {
    const T* p = cells.corner + y * cells.row_step + channel;
    for (std::int64_t x = 0; x < cells.columns; ++x, p += cells.column_step) {
      if (count == kCount) {
#pragma GCC unroll 1
        for (int i = 0; i < kCount; ++i) best[i] = p[i] > best[i] ? p[i] : best[i];
      } else {
        for (int i = 0; i < count; ++i) best[i] = p[i] > best[i] ? p[i] : best[i];
      }
    }
  }
  for (int i = 0; i < count; ++i) dst[channel + i] = best[i];
}

struct LargestByte {
  template <class T>
  static void output(const PoolCells<T>& cells, std::int64_t channels, T* dst) {
    constexpr int kCount = 64;
    for (std::int64_t c = 0; c < channels; c += kCount)
      largest_bytes<T, kCount>(cells, c, channels - c < kCount ? channels - c : kCount, dst);
  }
};

/// Of floats, or of Bf16 as floats.
template <class Kind>
struct OfFloats {
  template <class T>
  static void output(const PoolCells<T>& cells, std::int64_t channels, T* dst) {
    pool_output<Kind>(cells, channels, dst);
  }
};

template <class Output, class T>
inline void run_pool(const compiler::KernelArgs& args) {
  const PoolParams& p = *static_cast<const PoolParams*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const T* src = static_cast<const T*>(args.src[0]) + image * p.src_image;
    T* dst = static_cast<T*>(args.dst[0]) + image * p.dst_image;
    PoolCells<T> cells;
    cells.row_step = p.dilation_h * p.src_row;
    cells.column_step = p.dilation_w * p.src_pixel;
    cells.ahead = outputs_ahead<T>(p) * p.stride_w * p.src_pixel;
    for (std::int64_t y = y0; y < y1; ++y) {
      const std::int64_t top = y * p.stride_h - p.pad_top;
      const PoolTaps rows = pool_taps(top, p.in_h, p.covered_h, p.kernel_h, p.dilation_h);
      cells.rows = rows.end - rows.begin;
      for (std::int64_t x = 0; x < p.out_w; ++x) {
        const std::int64_t left = x * p.stride_w - p.pad_left;
        const PoolTaps columns = pool_taps(left, p.in_w, p.covered_w, p.kernel_w, p.dilation_w);
        cells.columns = columns.end - columns.begin;
        cells.fresh = cells.columns - p.stride_w;
        const std::int64_t count = p.count_padding ? rows.covered * columns.covered : cells.rows * cells.columns;
        cells.divisor = static_cast<float>(count > 0 ? count : 1);  // a window of padding only averages to 0
        cells.corner = src + (top + rows.begin * p.dilation_h) * p.src_row + (left + columns.begin * p.dilation_w) * p.src_pixel;
        Output::output(cells, p.channels, dst + y * p.dst_row + x * p.dst_pixel);
      }
    }
  }
}

inline void run_pool_bytes(const compiler::KernelArgs& args) {
  if (static_cast<const PoolParams*>(args.state)->is_signed)
    run_pool<LargestByte, signed char>(args);
  else
    run_pool<LargestByte, unsigned char>(args);
}
