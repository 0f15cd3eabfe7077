// First convolutions; included inside the namespace of each instruction set. Distances between pixels are
// known to the compiler, so that one pointer does for all pixels of a tile and a value is read once for all
// windows that it is in: with pointers and distances in registers, 27 products to 16 filters took longer by a
// third. Tiles that reach beyond a row's ends read a copy of their windows, with zeros around.

#include "cpu/kernels/tile/tile.inl"

/// The runs of a row of windows: that of a window lies `left` times the distance of pixels behind x[i]. The
/// next row of outputs reads the last `fresh` runs `next` floats further on, for the first time.
struct StemRuns {
  const float* const* x;
  std::int64_t count, fresh, next;
};

/// Adds a run of products to the sums of M pixels.
template <int M, int kForm>
[[gnu::always_inline]] inline void slide(const float* q, const float* w, Vec (&c)[M][1]) {
  constexpr int kLength = kStemForms[kForm].length, kDistance = kStemForms[kForm].distance;
  Vec b[kLength];
#pragma GCC unroll 16
  for (int k = 0; k < kLength; ++k) b[k] = load(w + k * kLanes);
#pragma GCC unroll 128
  for (int i = 0; i < (M - 1) * kDistance + kLength; ++i) {
    const Vec a = broadcast(q[i]);
#pragma GCC unroll 16
    for (int k = kLength - 1; k >= 0; --k)
      if (i >= k && (i - k) % kDistance == 0 && (i - k) / kDistance < M)
        c[(i - k) / kDistance][0] = fma(a, b[k], c[(i - k) / kDistance][0]);
  }
}

/// `repeat` tiles one behind the other, whose first window lies `at` floats behind the pointers.
template <int M, int kForm>
void stem_tiles(const StemRuns& runs, std::int64_t at, const float* weights, std::int64_t repeat,
                const Output& out) {
  constexpr int kLength = kStemForms[kForm].length, kDistance = kStemForms[kForm].distance;
  constexpr int kLine = 64 / sizeof(float);
  for (std::int64_t r = 0; r < repeat; ++r) {
    const Vec bias = load(out.bias);
    Vec c[M][1];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) c[m][0] = bias;
    const float* w = weights;
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < runs.count; ++i, w += kLength * kLanes) {
      const float* q = runs.x[i] + at + r * M * kDistance;
      asm("" : "+r"(q));  // else the compiler keeps a pointer a pixel
      if (i >= runs.count - runs.fresh) {
#pragma GCC unroll 8
        for (int ahead = 0; ahead < M * kDistance; ahead += kLine) prefetch(q + runs.next + ahead);
      }
      slide<M, kForm>(q, w, c);
    }
    finish_tile<M, 1>(c, out, out.dst + r * M * out.dst_pixel);
  }
}

/// Tiles of a row come in thirds of the largest, the last one moved left to end with the row.
template <int kForm>
inline void stem_tiles(int pixels, const StemRuns& runs, std::int64_t at, const float* weights,
                       std::int64_t repeat, const Output& out) {
  constexpr int kMost = stem_pixels(kLanes);
  if (pixels == kMost)
    stem_tiles<kMost, kForm>(runs, at, weights, repeat, out);
  else if (pixels == 2 * kMost / 3)
    stem_tiles<2 * kMost / 3, kForm>(runs, at, weights, repeat, out);
  else
    stem_tiles<kMost / 3, kForm>(runs, at, weights, repeat, out);
}

/// A row of windows: those of the rows [first, last) of the window that meet the picture.
struct StemRow {
  const ConvStemState* s;
  const float* line;  ///< where the picture's row under row `first` starts
  std::int64_t first, last;
};

/// Points runs to where they lie.
inline std::int64_t point_runs(const StemRow& row, const float** runs) {
  const ConvStemState& s = *row.s;
  std::int64_t count = 0;
  for (std::int64_t y = row.first; y < row.last; ++y)
    for (std::int64_t l = 0; l < s.lines; ++l)
      runs[count++] = row.line + (y - row.first) * s.src_row + l * s.src_plane;
  return count;
}

/// Copies the lines under a tile whose first window starts at column `left`, with zeros where they leave the
/// picture, and points runs there. Whole vectors are stored: what is read next waits longer for others.
inline void copy_window(const StemRow& row, std::int64_t left, std::int64_t columns, float* window,
                        const float** runs) {
  const ConvStemState& s = *row.s;
  const std::int64_t begin = (left < 0 ? smaller(-left, columns) : 0) * s.src_pixel;
  const std::int64_t end = smaller(columns, s.in_w - left) * s.src_pixel, all = columns * s.src_pixel;
  for (std::int64_t y = row.first; y < row.last; ++y)
    for (std::int64_t l = 0; l < s.lines; ++l, window += s.window_floats) {
      const float* const from = row.line + (y - row.first) * s.src_row + l * s.src_plane + left * s.src_pixel;
      for (std::int64_t i = 0; i < begin; i += kLanes) store(window + i, zero());
      std::int64_t i = begin;
      for (; i < end; i += kLanes)
        store(window + i, load_first(from + i, static_cast<int>(smaller(kLanes, end - i))));
      for (; i < all; i += kLanes) store(window + i, zero());
      *runs++ = window;
    }
}

/// All filters at some tiles of a row, a vector of them at a time.
template <int kForm>
inline void stem_filters(const ConvStemState& s, std::int64_t first_row, int pixels, const StemRuns& runs,
                         std::int64_t at, std::int64_t repeat, float* dst, Output& out) {
  const std::int64_t row_floats = s.lines * kStemForms[kForm].length * kLanes;
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    out.bias = s.bias + v * kLanes;
    out.dst = dst + v * kLanes;
    out.tail = static_cast<int>(smaller(kLanes, s.filters - v * kLanes));
    stem_tiles<kForm>(pixels, runs, at, s.weights + (v * s.kernel_h + first_row) * row_floats, repeat, out);
  }
}

/// A row of outputs that starts at `dst`.
template <int kForm>
inline void stem_row(const StemRow& row, float* window, const float** runs, float* dst, Output& out) {
  const ConvStemState& s = *row.s;
  constexpr int kMost = stem_pixels(kLanes), kThird = kMost / 3;
  const std::int64_t count = point_runs(row, runs);
  const StemRuns inside{runs, count, smaller(count, s.stride_h * s.lines), s.stride_h * s.src_row};
  const StemRuns copied{runs + count, count, 0, 0};
  for (std::int64_t x = 0; x < s.out_w;) {
    const std::int64_t still = s.out_w - x;
    const int pixels = static_cast<int>(still >= kMost ? kMost : (still + kThird - 1) / kThird * kThird);
    if (pixels > still) x = s.out_w - pixels;
    const std::int64_t left = x * s.stride_w - s.pad_left, columns = (pixels - 1) * s.stride_w + s.kernel_w;
    std::int64_t repeat = 1;
    if (left >= 0 && left + columns <= s.in_w) {
      if (pixels == kMost)
        repeat = smaller(still / kMost, (s.in_w - left - columns) / (kMost * s.stride_w) + 1);
      stem_filters<kForm>(s, row.first, pixels, inside, left * s.src_pixel, repeat, dst + x * s.dst_pixel,
                          out);
    } else {
      copy_window(row, left, columns, window, runs + count);
      stem_filters<kForm>(s, row.first, pixels, copied, 0, 1, dst + x * s.dst_pixel, out);
    }
    x += repeat * pixels;
  }
}

template <int kForm>
void stem_form(const compiler::KernelArgs& args) {
  const ConvStemState& s = *static_cast<const ConvStemState*>(args.state);
  auto* const runs = static_cast<const float**>(args.thread_scratch);  // those of a row, and of a copied window
  auto* const window = reinterpret_cast<float*>(runs + 2 * s.kernel_h * s.lines);
  Output out{};
  out.dst_pixel = s.dst_pixel;
  out.epilogue = &s.epilogue;
  StemRow row;
  row.s = &s;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands, band = task % s.bands;
    const float* const src = static_cast<const float*>(args.src[0]) + image * s.src_image;
    float* const dst = static_cast<float*>(args.dst[0]) + image * s.dst_image;
    for (std::int64_t y = s.out_h * band / s.bands; y < s.out_h * (band + 1) / s.bands; ++y) {
      const std::int64_t top = y * s.stride_h - s.pad_top;
      row.first = top < 0 ? smaller(-top, s.kernel_h) : 0;
      row.last = smaller(s.kernel_h, s.in_h - top);
      if (row.last < row.first) row.last = row.first;
      row.line = src + (top + row.first) * s.src_row;
      stem_row<kForm>(row, window, runs, dst + y * s.out_w * s.dst_pixel, out);
    }
  }
}

template <int kForm>
void choose_stem_form(int form, const compiler::KernelArgs& args) {
  if constexpr (kForm + 1 < kStemFormCount) {
    if (form != kForm) {
      choose_stem_form<kForm + 1>(form, args);
      return;
    }
  }
  if constexpr (kLanes == 16 || kStemForms[kForm].length <= 3) stem_form<kForm>(args);
}

inline void run_conv_stem(const compiler::KernelArgs& args) {
  choose_stem_form<0>(static_cast<const ConvStemState*>(args.state)->form, args);
}
