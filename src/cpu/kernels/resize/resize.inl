// Resizing channels-last pictures, stored as T, float or Bf16; included inside the namespace of each instruction set.
// Any filter: the rows of an output row are combined into one row of the input's width, then its columns. Bilinear doubling
// has a kernel of its own, which makes two by two outputs of each two by two inputs.

#include "cpu/kernels/vectors.inl"

/// dst = the weighted sum of rows of the input, `n` adjacent elements of each.
template <class T>
inline void combine(const T* src, std::int64_t src_row, std::int64_t taps, const std::int32_t* index,
                    const float* weight, std::int64_t n, float* dst) {
  if (taps == 2) {
    const T *a = src + index[0] * src_row, *b = src + index[1] * src_row;
    const Vec wa = broadcast(weight[0]), wb = broadcast(weight[1]);
    cover_vectors(n, [&](std::int64_t i, int m) {
      store_part(dst + i, m, fma(wb, load_part(b + i, m), wa * load_part(a + i, m)));
    });
    return;
  }
  cover_vectors(n, [&](std::int64_t i, int m) {
    Vec sum = broadcast(weight[0]) * load_part(src + index[0] * src_row + i, m);
    for (std::int64_t k = 1; k < taps; ++k)
      sum = fma(broadcast(weight[k]), load_part(src + index[k] * src_row + i, m), sum);
    store_part(dst + i, m, sum);
  });
}

/// A row of the input's width: channels [c, c + n) of each pixel, `pixel` apart. Either one of the input, or combined.
template <class T>
struct ResizeRow {
  const T* own;
  const float* combined;
  std::int64_t pixel;
};

/// Whether two output rows read the same rows with the same weights.
inline bool same_taps(const ResizeTaps& taps, std::int64_t a, std::int64_t b) {
  for (std::int64_t k = 0; k < taps.taps; ++k)
    if (taps.index[a * taps.taps + k] != taps.index[b * taps.taps + k] ||
        taps.weight[a * taps.taps + k] != taps.weight[b * taps.taps + k])
      return false;
  return true;
}

/// The rows of output row `y` combined; where it is one row as it stands, that row itself.
template <class T>
inline ResizeRow<T> combined_row(const ResizeParams& p, const T* src, std::int64_t y, std::int64_t c, std::int64_t n,
                                 bool repeated, float* scratch) {
  const std::int32_t* index = p.vertical.index + y * p.vertical.taps;
  const float* weight = p.vertical.weight + y * p.vertical.taps;
  const bool dense = p.flat_index != nullptr;  // then a whole dense row of floats is needed
  constexpr bool kFloats = sizeof(T) == sizeof(float);
  if (weight[0] == 1 && p.vertical.taps == 1 && (!dense || (kFloats && p.src_pixel == p.channels)))
    return {src + index[0] * p.src_row + c, nullptr, p.src_pixel};
  if (repeated) return {nullptr, scratch, n};
  if (p.src_pixel == n) {
    combine(src, p.src_row, p.vertical.taps, index, weight, p.in_w * n, scratch);
  } else {
    for (std::int64_t x = 0; x < p.in_w; ++x)
      combine(src + x * p.src_pixel + c, p.src_row, p.vertical.taps, index, weight, n, scratch + x * n);
  }
  return {nullptr, scratch, n};
}

/// The columns of one output row, vectors along the channels; the input's row may be combined floats.
template <class From, class T>
inline void resize_columns(const ResizeParams& p, const From* row, std::int64_t pixel, std::int64_t n, T* dst) {
  const std::int64_t taps = p.horizontal.taps;
  const std::int32_t* index = p.horizontal.index;
  const float* weight = p.horizontal.weight;
  for (std::int64_t x = 0; x < p.out_w; ++x, index += taps, weight += taps, dst += p.dst_pixel) {
    const From* a = row + index[0] * pixel;
    const Vec wa = broadcast(weight[0]);
    if (taps == 1) {
      cover_vectors(n, [&](std::int64_t i, int m) { store_part(dst + i, m, load_part(a + i, m)); });
    } else if (taps == 2) {
      const From* b = row + index[1] * pixel;
      const Vec wb = broadcast(weight[1]);
      cover_vectors(n, [&](std::int64_t i, int m) {
        store_part(dst + i, m, fma(wb, load_part(b + i, m), wa * load_part(a + i, m)));
      });
    } else {
      cover_vectors(n, [&](std::int64_t i, int m) {
        Vec sum = wa * load_part(a + i, m);
        for (std::int64_t k = 1; k < taps; ++k)
          sum = fma(broadcast(weight[k]), load_part(row + index[k] * pixel + i, m), sum);
        store_part(dst + i, m, sum);
      });
    }
  }
}

/// A row of the input that is wanted as floats is one of floats.
[[gnu::always_inline]] inline const float* float_row(const float* row) { return row; }
[[gnu::always_inline]] inline const float* float_row(const Bf16*) { return nullptr; }

/// The columns of one output row, vectors along the row: few channels.
template <class T>
inline void resize_flat(const ResizeParams& p, const float* row, T* dst) {
  for_each_vector(p.out_w * p.channels, [&](std::int64_t i, int m) {
    Vec sum = load(p.flat_weight + i) * gather(row, load_int(p.flat_index + i));
    for (std::int64_t k = 1; k < p.horizontal.taps; ++k)
      sum = fma(load(p.flat_weight + k * p.flat_step + i), gather(row, load_int(p.flat_index + k * p.flat_step + i)), sum);
    store_part(dst + i, m, sum);
  });
}

template <class T>
inline void run_taps(const compiler::KernelArgs& args) {
  const ResizeParams& p = *static_cast<const ResizeParams*>(args.state);
  float* scratch = static_cast<float*>(args.thread_scratch);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const T* src = static_cast<const T*>(args.src[0]) + image * p.src_image;
    T* dst = static_cast<T*>(args.dst[0]) + image * p.dst_image;
    for (std::int64_t c = 0; c < p.channels; c += p.chunk) {
      const std::int64_t n = c + p.chunk < p.channels ? p.chunk : p.channels - c;
      for (std::int64_t y = y0; y < y1; ++y) {
        const bool repeated = y > y0 && same_taps(p.vertical, y, y - 1);
        const ResizeRow<T> row = combined_row(p, src, y, c, n, repeated, scratch);
        T* const out = dst + y * p.dst_row + c;
        if (p.flat_index != nullptr)
          resize_flat(p, row.own != nullptr ? float_row(row.own) : row.combined, out);
        else if (row.own != nullptr)
          resize_columns(p, row.own, row.pixel, n, out);
        else
          resize_columns(p, row.combined, row.pixel, n, out);
      }
    }
  }
}

/// Two vectors of values, one above and one below the middle between two input rows (or beside that between columns).
struct Halves {
  Vec near_a, near_b;
};
[[gnu::always_inline]] inline Halves between(Vec a, Vec b) {
  const Vec large = broadcast(0.75f), small = broadcast(0.25f);
  return {fma(small, b, large * a), fma(small, a, large * b)};
}

/// Output rows 2y + 1 and 2y + 2, between input rows y and y + 1 (clamped to the picture); nullptr where there is none.
template <class T>
struct RowPair {
  const T *above, *below;
  T *upper, *lower;
};

/// kCount vectors of channels at one column of both rows.
template <int kCount>
struct Column {
  Vec upper[kCount], lower[kCount];
};

template <int kCount, class T>
[[gnu::always_inline]] inline Column<kCount> load_column(const RowPair<T>& rows, std::int64_t at, int m) {
  Column<kCount> column;
#pragma GCC unroll 2
  for (int v = 0; v < kCount; ++v) {
    const Halves h = between(load_part(rows.above + at + v * kLanes, m), load_part(rows.below + at + v * kLanes, m));
    column.upper[v] = h.near_a;
    column.lower[v] = h.near_b;
  }
  return column;
}

/// Two neighbouring outputs of one row, between two columns.
template <int kCount, class T>
[[gnu::always_inline]] inline void store_between(T* row, std::int64_t pixel, int m, const Vec (&left)[kCount],
                                                 const Vec (&right)[kCount]) {
#pragma GCC unroll 2
  for (int v = 0; v < kCount; ++v) {
    const Halves h = between(left[v], right[v]);
    store_part(row + v * kLanes, m, h.near_a);
    store_part(row + pixel + v * kLanes, m, h.near_b);
  }
}
/// The border: the column itself.
template <int kCount, class T>
[[gnu::always_inline]] inline void store_border(T* row, int m, const Vec (&column)[kCount]) {
#pragma GCC unroll 2
  for (int v = 0; v < kCount; ++v) store_part(row + v * kLanes, m, column[v]);
}

/// All columns of a pair of rows for kCount vectors of channels from `c` on.
template <int kCount, class T>
[[gnu::always_inline]] inline void double_rows(const ResizeParams& p, const RowPair<T>& rows, std::int64_t c, int m) {
  T* upper = rows.upper != nullptr ? rows.upper + c : nullptr;
  T* lower = rows.lower != nullptr ? rows.lower + c : nullptr;
  Column<kCount> left = load_column<kCount>(rows, c, m);
  if (upper != nullptr) store_border(upper, m, left.upper);
  if (lower != nullptr) store_border(lower, m, left.lower);
  std::int64_t at = p.dst_pixel;  // of output column 2x - 1
  for (std::int64_t x = 1; x < p.in_w; ++x, at += 2 * p.dst_pixel) {
    const Column<kCount> right = load_column<kCount>(rows, x * p.src_pixel + c, m);
    if (upper != nullptr) store_between(upper + at, p.dst_pixel, m, left.upper, right.upper);
    if (lower != nullptr) store_between(lower + at, p.dst_pixel, m, left.lower, right.lower);
    left = right;
  }
  if (upper != nullptr) store_border(upper + at, m, left.upper);
  if (lower != nullptr) store_border(lower + at, m, left.lower);
}

template <class T>
inline void run_double(const compiler::KernelArgs& args) {
  const ResizeParams& p = *static_cast<const ResizeParams*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.bands, first_pair = task % p.bands * p.band;
    const std::int64_t last_pair = first_pair + p.band < p.in_h + 1 ? first_pair + p.band : p.in_h + 1;
    const T* src = static_cast<const T*>(args.src[0]) + image * p.src_image;
    T* dst = static_cast<T*>(args.dst[0]) + image * p.dst_image;
    for (std::int64_t pair = first_pair; pair < last_pair; ++pair) {
      const std::int64_t above = pair > 0 ? pair - 1 : 0, below = pair < p.in_h ? pair : p.in_h - 1;
      RowPair<T> rows{src + above * p.src_row, src + below * p.src_row, nullptr, nullptr};
      if (pair > 0) rows.upper = dst + (2 * pair - 1) * p.dst_row;
      if (pair < p.in_h) rows.lower = dst + 2 * pair * p.dst_row;
      std::int64_t c = 0;
      for (; c + 2 * kLanes <= p.channels; c += 2 * kLanes) double_rows<2>(p, rows, c, kLanes);
      if (c < p.channels && p.channels >= kLanes) {
        if (c + kLanes < p.channels) double_rows<1>(p, rows, c, kLanes);
        double_rows<1>(p, rows, p.channels - kLanes, kLanes);
      } else if (c < p.channels) {
        double_rows<1>(p, rows, c, static_cast<int>(p.channels - c));
      }
    }
  }
}

/// Bilinear with the four products of an output summed in a fixed order, every product and sum rounded: channels last.
template <class T>
inline void run_corners(const compiler::KernelArgs& args) {
  const ResizeParams& p = *static_cast<const ResizeParams*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const T* src = static_cast<const T*>(args.src[0]) + image * p.src_image;
    T* dst = static_cast<T*>(args.dst[0]) + image * p.dst_image;
    for (std::int64_t y = y0; y < y1; ++y) {
      const T *upper = src + p.vertical.index[2 * y] * p.src_row, *lower = src + p.vertical.index[2 * y + 1] * p.src_row;
      const float wu = p.vertical.weight[2 * y], wl = p.vertical.weight[2 * y + 1];
      for (std::int64_t x = 0; x < p.out_w; ++x) {
        const std::int64_t left = p.horizontal.index[2 * x] * p.src_pixel, right = p.horizontal.index[2 * x + 1] * p.src_pixel;
        const float a = p.horizontal.weight[2 * x], b = p.horizontal.weight[2 * x + 1];
        const Vec w11 = broadcast(a * wu), w12 = broadcast(b * wu), w21 = broadcast(a * wl), w22 = broadcast(b * wl);
        T* out = dst + y * p.dst_row + x * p.dst_pixel;
        cover_vectors(p.channels, [&](std::int64_t i, int m) {
          const Vec first = w11 * load_part(upper + left + i, m) + w12 * load_part(upper + right + i, m);
          store_part(out + i, m, first + w21 * load_part(lower + left + i, m) + w22 * load_part(lower + right + i, m));
        });
      }
    }
  }
}
