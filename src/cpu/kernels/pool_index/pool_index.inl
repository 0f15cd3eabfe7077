// Max pooling with indices, and unpooling, over pictures of any strides; included inside the namespace of each instruction set.

/// Neighbours that are compared at a time: channels of a pixel, or pixels of a row.
inline constexpr int kIndexLanes = 64;

/// Pixels whose indices wait for each other: planes of indices lie far apart.
inline constexpr int kBlockPixels = 16;

/// The largest so far of neighbours, and the cell of its plane.
struct IndexedBest {
  float value[kIndexLanes];
  std::int32_t cell[kIndexLanes];
};

/// The first cell of a window counts whatever it is, the others where they are greater: a NaN neither wins nor loses.
[[gnu::always_inline]] inline void take_cell(IndexedBest& best, bool first, const float* p, std::int64_t step, int count,
                                             std::int32_t cell, std::int32_t cell_step) {
  const auto walk = [&](int n, std::int64_t by) __attribute__((always_inline)) {
    if (first) {
      for (int i = 0; i < n; ++i) {
        best.value[i] = p[i * by];
        best.cell[i] = cell + i * cell_step;
      }
    } else {
      for (int i = 0; i < n; ++i) {
        const float x = p[i * by];
        const bool greater = x > best.value[i];
        best.cell[i] = greater ? cell + i * cell_step : best.cell[i];
        best.value[i] = greater ? x : best.value[i];
      }
    }
  };
  if (step == 1 && count == kIndexLanes)
    walk(kIndexLanes, 1);
  else if (step == 1)
    walk(count, 1);
  else
    walk(count, step);
}

[[gnu::always_inline]] inline long long index_of(const MaxIndexParams& p, std::int32_t cell, long long base) {
  if (cell < 0) return -1;
  return base + (p.column_major ? cell % p.in_w * p.in_h + cell / p.in_w : cell);
}

/// Taps of an axis that lie in the picture: [first, last).
struct IndexTaps {
  std::int64_t first, last;
};
[[gnu::always_inline]] inline IndexTaps index_taps(std::int64_t origin, std::int64_t size, std::int64_t kernel,
                                                   std::int64_t dilation) {
  IndexTaps taps{origin >= 0 ? 0 : (-origin + dilation - 1) / dilation,
                 size > origin ? (size - origin + dilation - 1) / dilation : 0};
  if (taps.last > kernel) taps.last = kernel;
  return taps;
}

/// The largest of `count` neighbours from channel c of output pixel (y, x) on: channels, or pixels whose windows have the same
/// taps.
template <bool kAcross>
[[gnu::always_inline]] inline void find_best(const MaxIndexParams& p, const float* src, std::int64_t y, std::int64_t x,
                                             IndexTaps rows, IndexTaps columns, std::int64_t c, int count, IndexedBest& best) {
  const std::int64_t top = y * p.stride_h - p.pad_top, left = x * p.stride_w - p.pad_left;
  bool first = true;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
    for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
      const std::int64_t iy = top + ky * p.dilation_h, ix = left + kx * p.dilation_w;
      take_cell(best, first, src + c * p.src.channel + iy * p.src.row + ix * p.src.pixel,
                kAcross ? p.src.channel : p.stride_w * p.src.pixel, count, static_cast<std::int32_t>(iy * p.in_w + ix),
                kAcross ? 0 : static_cast<std::int32_t>(p.stride_w));
      first = false;
    }
  if (!first) return;
  for (int i = 0; i < count; ++i) {
    best.value[i] = -__builtin_inff();
    best.cell[i] = -1;
  }
}

inline IndexTaps columns_at(const MaxIndexParams& p, std::int64_t x) {
  return index_taps(x * p.stride_w - p.pad_left, p.in_w, p.kernel_w, p.dilation_w);
}

/// A row of outputs in vectors of channels.
inline void max_row_across(const MaxIndexParams& p, const float* src, std::int64_t y, IndexTaps rows, float* dst,
                           long long* index, long long base) {
  IndexedBest best;
  std::int32_t cells[kIndexLanes][kBlockPixels];
  for (std::int64_t x0 = 0; x0 < p.out_w; x0 += kBlockPixels)
    for (std::int64_t c = 0; c < p.channels; c += kIndexLanes) {
      const std::int64_t pixels = p.out_w - x0 < kBlockPixels ? p.out_w - x0 : kBlockPixels;
      const int count = p.channels - c < kIndexLanes ? static_cast<int>(p.channels - c) : kIndexLanes;
      for (std::int64_t x = 0; x < pixels; ++x) {
        find_best<true>(p, src, y, x0 + x, rows, columns_at(p, x0 + x), c, count, best);
        float* to = dst + (x0 + x) * p.dst.pixel + c * p.dst.channel;
        for (int i = 0; i < count; ++i) to[i * p.dst.channel] = best.value[i];
        for (int i = 0; i < count; ++i) cells[i][x] = best.cell[i];
      }
      for (int i = 0; i < count; ++i) {
        long long* to = index + (c + i) * p.index.channel + x0 * p.index.pixel;
        const long long from = base + (c + i) * p.in_h * p.in_w;
        for (std::int64_t x = 0; x < pixels; ++x) to[x * p.index.pixel] = index_of(p, cells[i][x], from);
      }
    }
}

/// A row of outputs in vectors of pixels: windows that lie inside of the picture have the same taps.
inline void max_row_along(const MaxIndexParams& p, const float* src, std::int64_t y, IndexTaps rows, float* dst,
                          long long* index, long long base) {
  IndexedBest best;
  for (std::int64_t x = 0; x < p.out_w;) {
    const IndexTaps columns = columns_at(p, x);
    std::int64_t pixels = 1;
    if (columns.first == 0 && columns.last == p.kernel_w) {
      const std::int64_t end = x * p.stride_w - p.pad_left + (p.kernel_w - 1) * p.dilation_w;
      pixels = (p.in_w - 1 - end) / p.stride_w + 1;
      if (pixels > p.out_w - x) pixels = p.out_w - x;
      if (pixels > kIndexLanes) pixels = kIndexLanes;
    }
    for (std::int64_t c = 0; c < p.channels; ++c) {
      find_best<false>(p, src, y, x, rows, columns, c, static_cast<int>(pixels), best);
      float* to = dst + c * p.dst.channel + x * p.dst.pixel;
      long long* where = index + c * p.index.channel + x * p.index.pixel;
      const long long from = base + c * p.in_h * p.in_w;
      for (std::int64_t i = 0; i < pixels; ++i) to[i * p.dst.pixel] = best.value[i];
      for (std::int64_t i = 0; i < pixels; ++i) where[i * p.index.pixel] = index_of(p, best.cell[i], from);
    }
    x += pixels;
  }
}

inline void run_max_index(const compiler::KernelArgs& args) {
  const MaxIndexParams& p = *static_cast<const MaxIndexParams*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const float* src = static_cast<const float*>(args.src[0]) + image * p.src.image;
    float* dst = static_cast<float*>(args.dst[0]) + image * p.dst.image;
    long long* index = static_cast<long long*>(args.dst[1]) + image * p.index.image;
    const long long base = image * p.channels * p.in_h * p.in_w;
    for (std::int64_t y = y0; y < y1; ++y) {
      const IndexTaps rows = index_taps(y * p.stride_h - p.pad_top, p.in_h, p.kernel_h, p.dilation_h);
      if (p.src.channel == 1 && p.channels > 1)
        max_row_across(p, src, y, rows, dst + y * p.dst.row, index + y * p.index.row, base);
      else
        max_row_along(p, src, y, rows, dst + y * p.dst.row, index + y * p.index.row, base);
    }
  }
}

inline void fill_zeros(const UnpoolParams& p, float* dst, std::int64_t row) {
  float* to = dst + row / p.out_h * p.dst.image + row % p.out_h * p.dst.row;
  if (p.dst.channel == 1 && p.dst.pixel == p.channels) {
    for (std::int64_t i = 0; i < p.out_w * p.channels; ++i) to[i] = 0;
  } else if (p.dst.channel == 1) {
    for (std::int64_t x = 0; x < p.out_w; ++x)
      for (std::int64_t c = 0; c < p.channels; ++c) to[x * p.dst.pixel + c] = 0;
  } else {
    for (std::int64_t c = 0; c < p.channels; ++c)
      for (std::int64_t x = 0; x < p.out_w; ++x) to[c * p.dst.channel + x * p.dst.pixel] = 0;
  }
}

/// Values of one part of the channels whose indices lie in their own planes, or the others. Returns how many the others are.
template <bool kOwn>
inline long long scatter_part(const UnpoolParams& p, const float* src, const long long* index, float* dst, std::int64_t part) {
  const std::int64_t image = part / p.parts, c0 = part % p.parts * kUnpoolChannels;
  const std::int64_t c1 = c0 + kUnpoolChannels < p.channels ? c0 + kUnpoolChannels : p.channels;
  const long long plane = p.inner_h * p.inner_w, count = p.images * p.channels * plane;
  long long others = 0;
  // Planes of indices lie far apart: those of a block of pixels are read plane by plane.
  long long cells[kUnpoolChannels][kBlockPixels];
  for (std::int64_t y = 0; y < p.in_h; ++y)
    for (std::int64_t x0 = 0; x0 < p.in_w; x0 += kBlockPixels) {
      const std::int64_t pixels = p.in_w - x0 < kBlockPixels ? p.in_w - x0 : kBlockPixels;
      const long long* where = index + image * p.index.image + y * p.index.row + x0 * p.index.pixel;
      for (std::int64_t c = c0; c < c1; ++c)
        for (std::int64_t x = 0; x < pixels; ++x) cells[c - c0][x] = where[c * p.index.channel + x * p.index.pixel];
      const float* from = src + image * p.src.image + y * p.src.row + x0 * p.src.pixel;
      for (std::int64_t x = 0; x < pixels; ++x, from += p.src.pixel)
        for (std::int64_t c = c0; c < c1; ++c) {
          // Indices are the model's: the difference may wrap.
          const long long at = cells[c - c0][x];
          const unsigned long long cell =
              static_cast<unsigned long long>(at) - static_cast<unsigned long long>((image * p.channels + c) * plane);
          if (cell < static_cast<unsigned long long>(plane)) {
            if constexpr (kOwn) {
              const unsigned row = static_cast<unsigned>(cell) / static_cast<unsigned>(p.inner_w);
              const unsigned column = static_cast<unsigned>(cell) - row * static_cast<unsigned>(p.inner_w);
              dst[image * p.dst.image + c * p.dst.channel + row * p.dst.row + column * p.dst.pixel] = from[c * p.src.channel];
            }
          } else if constexpr (kOwn) {
            ++others;
          } else {
            const long long flat = at < 0 ? at + count : at;
            if (flat < 0 || flat >= count) continue;  // the model's fault
            const long long channel = flat / plane, rest = flat % plane;
            dst[channel / p.channels * p.dst.image + channel % p.channels * p.dst.channel + rest / p.inner_w * p.dst.row +
                rest % p.inner_w * p.dst.pixel] = from[c * p.src.channel];
          }
        }
    }
  return others;
}

inline void run_unpool(const compiler::KernelArgs& args) {
  const UnpoolParams& p = *static_cast<const UnpoolParams*>(args.state);
  const float* src = static_cast<const float*>(args.src[0]);
  const long long* index = static_cast<const long long*>(args.src[1]);
  float* dst = static_cast<float*>(args.dst[0]);
  long long* others = static_cast<long long*>(args.shared_scratch);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (args.phase == 0)
      fill_zeros(p, dst, task);
    else if (args.phase == 1)
      others[task] = scatter_part<true>(p, src, index, dst, task);
    else
      for (std::int64_t part = 0; part < p.images * p.parts; ++part)
        if (others[part] > 0) scatter_part<false>(p, src, index, dst, part);
  }
}
