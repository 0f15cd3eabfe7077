// Dense convolution of bfloat16; included inside the namespace of each instruction set. Words of two channels of M pixels meet
// N vectors of filters in registers over all taps and channels. Where the input needs a border, another type or an even number
// of channels, a strip of it is staged (stage_bf16.inl), so that addresses are arithmetic.

#include "cpu/kernels/stage_bf16.inl"
#include "cpu/kernels/tile/stored_tile.inl"

/// Words that follow each other in memory, from those of pixel 0 of the tile on.
struct PairRun {
  const char* x;
  const char* w;
};

/// The same for pixels at unrelated places.
struct ScatteredPairRun {
  const char* const* x;  ///< one pointer a pixel
  const char* w;
};

struct PairOutput {
  Output to;  ///< everything but the places of residual and result, which follow
  Ends ends;
  std::int64_t dst_at, residual_at;
  bool in_registers;  ///< an activation of a few instructions
  float* waiting;     ///< where the sums of a tile start (to.resume) and end (to.partial), if not in the result
};

/// `words` words of M pixels, `pixel` bytes apart from the one at `shift` on, times N vectors of filters.
template <int M, int N>
[[gnu::always_inline]] inline void multiply_pairs(Vec (&c)[M][N], const PairRun& run, std::int64_t shift, std::int64_t words,
                                                  std::int64_t pixel) {
  constexpr int kGroups = (M + 2) / 3;
  const char* q[kGroups];  // one pointer for three pixels: x, x + pixel, x + 2 pixel are address modes
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    q[g] = run.x + shift + 3 * g * pixel;
    asm("" : "+r"(q[g]));  // keep a third of M pointers
  }
  const char* w = run.w;
  const char* const end = w + words * (N * kLanes * 4);
#pragma GCC unroll 1
  for (; w != end; w += N * kLanes * 4) {
    Int b[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) b[n] = load_words(w + n * kLanes * 4);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const Int a = broadcast_word(q[m / 3] + (m % 3) * pixel);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = add_bf16_pairs(c[m][n], a, b[n]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) q[g] += 4;
  }
}

/// As before, pixels anywhere.
template <int M, int N>
[[gnu::always_inline]] inline void multiply_pairs(Vec (&c)[M][N], const ScatteredPairRun& run, std::int64_t,
                                                  std::int64_t words, std::int64_t) {
  const char* q[M];
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) q[m] = run.x[m];
  const char* w = run.w;
#pragma GCC unroll 1
  for (std::int64_t k = 0; k < words; ++k, w += N * kLanes * 4) {
    Int b[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) b[n] = load_words(w + n * kLanes * 4);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const Int a = broadcast_word(q[m] + k * 4);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = add_bf16_pairs(c[m][n], a, b[n]);
    }
  }
}

template <int M, int N, class Result>
[[gnu::always_inline]] inline void add_residual(Vec (&c)[M][N], const Output& out, const Result* residual) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    const Result* r = residual + m * out.residual_pixel;
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) c[m][n] = c[m][n] + load(r + n * kLanes);
    c[m][N - 1] = c[m][N - 1] + (out.tail == kLanes ? load(r + (N - 1) * kLanes) : load_first(r + (N - 1) * kLanes, out.tail));
  }
}

/// Asks for a residual that is wanted later: from memory, a tile would wait for it as long as for a quarter of its products.
template <int M, int N>
[[gnu::always_inline]] inline void ask_for_residual(const PairOutput& out, std::int64_t pixels) {
  const std::int64_t size = out.ends.residual_bf16 ? 2 : 4;
  const char* r = static_cast<const char*>(out.ends.residual) + (out.residual_at + pixels * out.to.residual_pixel) * size;
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) prefetch(r + m * out.to.residual_pixel * size + n * kLanes * size);
}

template <int M, int N, class Result>
[[gnu::always_inline]] inline void store_pairs(const Vec (&c)[M][N], const Output& out, Result* dst) {
  if constexpr (N % 2 == 0 && sizeof(Result) < sizeof(float)) {
    if (out.tail == kLanes) {  // two vectors are rounded and stored in the time of one
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
        for (int n = 0; n < N; n += 2) store_pair(dst + m * out.dst_pixel + n * kLanes, c[m][n], c[m][n + 1]);
      return;
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N - 1; ++n) store(dst + m * out.dst_pixel + n * kLanes, c[m][n]);
    if (out.tail == kLanes)
      store(dst + m * out.dst_pixel + (N - 1) * kLanes, c[m][N - 1]);
    else
      store_first(dst + m * out.dst_pixel + (N - 1) * kLanes, out.tail, c[m][N - 1]);
  }
}

template <int M, int N>
[[gnu::always_inline]] inline void finish_pairs(Vec (&c)[M][N], const PairOutput& out, std::int64_t pixels) {
  if (!out.in_registers) {
    float* sums = out.ends.sums;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(sums + (m * N + n) * kLanes, c[m][n]);
    finish_stored(out.ends, out.dst_at + pixels * out.to.dst_pixel, out.residual_at + pixels * out.to.residual_pixel, out.to, M,
                  N);
    return;
  }
  if (out.ends.residual != nullptr) {
    const std::int64_t at = out.residual_at + pixels * out.to.residual_pixel;
    if (out.ends.residual_bf16)
      add_residual<M, N>(c, out.to, static_cast<const Bf16*>(out.ends.residual) + at);
    else
      add_residual<M, N>(c, out.to, static_cast<const float*>(out.ends.residual) + at);
  }
  if (out.to.epilogue->activation == Activation::hard_swish) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = hard_swish(c[m][n]);
  } else if (out.to.epilogue->activation != Activation::none) {
    const Vec low = lower_bound(*out.to.epilogue), high = upper_bound(*out.to.epilogue);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) c[m][n] = clamp(low, high, c[m][n]);
  }
  const std::int64_t at = out.dst_at + pixels * out.to.dst_pixel;
  if (out.ends.dst_bf16)
    store_pairs<M, N>(c, out.to, static_cast<Bf16*>(out.ends.dst) + at);
  else
    store_pairs<M, N>(c, out.to, static_cast<float*>(out.ends.dst) + at);
}

/// `repeat` tiles of pixels at the distance `pixel`, one behind the other.
template <int M, int N, class Run>
void pair_tile(const Run* runs, std::int64_t count, std::int64_t words, std::int64_t pixel, std::int64_t repeat,
               const PairOutput& out) {
  for (std::int64_t r = 0; r < repeat; ++r) {
    Vec c[M][N];
    if (out.to.resume) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) c[m][n] = load(out.waiting + (m * N + n) * kLanes);
    } else {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        const Vec bias = load(out.to.bias + n * kLanes);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) c[m][n] = bias;
      }
    }
    if (out.ends.residual != nullptr && r + 1 < repeat) ask_for_residual<M, N>(out, (r + 1) * M);
    for (std::int64_t i = 0; i < count; ++i) multiply_pairs<M, N>(c, runs[i], r * M * pixel, words, pixel);
    if (out.to.partial) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) store(out.waiting + (m * N + n) * kLanes, c[m][n]);
    } else {
      finish_pairs<M, N>(c, out, r * M);
    }
  }
}

template <int N, int M, class Run>
void pair_tile_of(int pixels, const Run* runs, std::int64_t count, std::int64_t words, std::int64_t pixel,
                  std::int64_t repeat, const PairOutput& out) {
  if constexpr (M > 1) {
    if (pixels != M) {
      pair_tile_of<N, M - 1>(pixels, runs, count, words, pixel, repeat, out);
      return;
    }
  }
  pair_tile<M, N>(runs, count, words, pixel, repeat, out);
}

template <class Run>
inline void run_pair_tile(int vectors, int pixels, const Run* runs, std::int64_t count, std::int64_t words,
                          std::int64_t pixel, std::int64_t repeat, const PairOutput& out) {
  switch (vectors) {
    case 1: pair_tile_of<1, tile_pixels(kLanes, 1)>(pixels, runs, count, words, pixel, repeat, out); break;
    case 2: pair_tile_of<2, tile_pixels(kLanes, 2)>(pixels, runs, count, words, pixel, repeat, out); break;
    case 3: pair_tile_of<3, tile_pixels(kLanes, 3)>(pixels, runs, count, words, pixel, repeat, out); break;
    default: pair_tile_of<4, tile_pixels(kLanes, 4)>(pixels, runs, count, words, pixel, repeat, out); break;
  }
}

/// Outputs [y0, y1) x [x0, x1); the first slot of `staged` is that of the first row of taps of y0, its first pixel the first
/// of x0.
struct PairStrip {
  const char* staged;
  std::int64_t y0, y1, x0, x1;
};

/// The runs of pixels [x, x + pixels) of output row y. Rows of taps outside the picture, and taps that miss it for all of the
/// pixels, are left out.
inline std::int64_t list_pair_runs(const ConvBf16State& s, const PairStrip& strip, std::int64_t y, std::int64_t x,
                                   std::int64_t pixels, const char* weights, std::int64_t run_weights, PairRun* runs) {
  const ByteStage& in = s.stage;
  std::int64_t count = 0;
  for (std::int64_t ky = 0; ky < in.kernel_h; ++ky) {
    const std::int64_t row = y * in.stride_h - in.pad_top + ky * in.dilation_h;
    if (row < 0 || row >= in.in_h) continue;
    const char* src = strip.staged + ((y - strip.y0) * in.slot_y + ky * in.slot_ky) * in.slot_bytes +
                      (x - strip.x0) * in.stride_w * in.pitch * static_cast<std::int64_t>(sizeof(Bf16));
    for (std::int64_t run = 0; run < s.runs; ++run) {
      if (s.runs > 1) {
        const std::int64_t first = x * in.stride_w - in.pad_left + run * s.dilation_w;
        if (first + (pixels - 1) * in.stride_w < 0 || first >= in.in_w) continue;
      }
      runs[count++] = {src + run * s.run_step, weights + (ky * s.runs + run) * run_weights};
    }
  }
  return count;
}

/// A block of filters: how many vectors, and everything of an output but its place.
struct PairBlock {
  int vectors;
  std::int64_t filter, run_weights;  ///< the first filter; bytes of a run's filters
  const char* weights;
  PairOutput out;
};

inline PairBlock pair_block_of(const ConvBf16State& s, std::int64_t block, const char* all_weights, const Ends& ends) {
  const std::int64_t v0 = s.vectors * block / s.blocks, v1 = s.vectors * (block + 1) / s.blocks;
  PairBlock b{};
  b.vectors = static_cast<int>(v1 - v0);
  b.filter = v0 * kLanes;
  b.run_weights = s.words * b.vectors * kLanes * 4;
  b.weights = all_weights + v0 * kLanes * 4 * s.words * s.runs * s.stage.kernel_h;
  b.out.to.bias = s.bias + b.filter;
  b.out.to.dst_pixel = s.dst_pixel;
  b.out.to.residual_pixel = s.residual_pixel;
  b.out.to.epilogue = &s.epilogue;
  b.out.to.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
  b.out.ends = ends;
  b.out.in_registers = is_clamp(s.epilogue) || s.epilogue.activation == Activation::hard_swish;
  return b;
}

[[gnu::always_inline]] inline void place_pairs(const ConvBf16State& s, const PairBlock& block, std::int64_t at,
                                               PairOutput& out) {
  out.dst_at = at * s.dst_pixel + block.filter;
  out.residual_at = at * s.residual_pixel + block.filter;
}

inline void pair_block(const ConvBf16State& s, const PairStrip& strip, std::int64_t block_number, const char* all_weights,
                       const Ends& ends, PairRun* runs) {
  PairBlock block = pair_block_of(s, block_number, all_weights, ends);
  const std::int64_t pixel = s.stage.stride_w * s.stage.pitch * static_cast<std::int64_t>(sizeof(Bf16));
  const bool trims = s.runs > 1;  // tiles differ in the runs that they leave out
  for (std::int64_t y = strip.y0; y < strip.y1; ++y) {
    const std::int64_t x1 = smaller(strip.x1, s.outputs - y * s.out_w);
    const Cut cut = cut_pixels(x1 - strip.x0, tile_pixels(kLanes, block.vectors));
    std::int64_t x = strip.x0;
    for (std::int64_t t = 0; t < cut.tiles;) {
      const std::int64_t pixels = t < cut.larger ? cut.size + 1 : cut.size;
      const std::int64_t repeat = trims ? 1 : (t < cut.larger ? cut.larger : cut.tiles) - t;
      const std::int64_t count = list_pair_runs(s, strip, y, x, pixels, block.weights, block.run_weights, runs);
      place_pairs(s, block, y * s.out_w + x, block.out);
      run_pair_tile(block.vectors, static_cast<int>(pixels), runs, count, s.words, pixel, repeat, block.out);
      t += repeat;
      x += repeat * pixels;
    }
  }
}

/// Pixels one behind the other, each a single run.
inline void run_pixels(const ConvBf16State& s, const Bf16* src, const Bf16* residual, Bf16* dst, std::int64_t pixels,
                       std::int64_t b0, std::int64_t b1) {
  float sums[kPairPixels * 2 * kLanes];
  const Ends ends{residual, dst, true, true, sums};
  const std::int64_t pixel = s.stage.pitch * static_cast<std::int64_t>(sizeof(Bf16));
  for (std::int64_t b = b0; b < b1; ++b) {
    PairBlock block = pair_block_of(s, b, s.weights, ends);
    const Cut cut = cut_pixels(pixels, tile_pixels(kLanes, block.vectors));
    for (std::int64_t t = 0, x = 0; t < cut.tiles;) {
      const std::int64_t size = t < cut.larger ? cut.size + 1 : cut.size;
      const std::int64_t repeat = (t < cut.larger ? cut.larger : cut.tiles) - t;
      const PairRun run{reinterpret_cast<const char*>(src) + x * pixel, block.weights};
      place_pairs(s, block, x, block.out);
      run_pair_tile(block.vectors, static_cast<int>(size), &run, 1, s.words, pixel, repeat, block.out);
      t += repeat;
      x += repeat * size;
    }
  }
}

/// Runs [r0, r1) of a tile, counted by rows of taps; those that miss the picture for all pixels are left out.
inline std::int64_t list_scattered_runs(const ConvBf16State& s, const Bf16* src, std::int64_t y, std::int64_t x,
                                        std::int64_t pixels, std::int64_t r0, std::int64_t r1, const PairBlock& block,
                                        ScatteredPairRun* runs, const char** pointers) {
  const ByteStage& in = s.stage;
  std::int64_t count = 0;
  for (std::int64_t r = r0; r < r1; ++r) {
    const std::int64_t row = y * in.stride_h - in.pad_top + r / s.runs * in.dilation_h;
    const std::int64_t first = x * in.stride_w - in.pad_left + r % s.runs * s.dilation_w;
    if (row < 0 || row >= in.in_h || first >= in.in_w || first + (pixels - 1) * in.stride_w < 0) continue;
    runs[count++] = {pointers, block.weights + r * block.run_weights};
    for (std::int64_t m = 0; m < pixels; ++m) {
      const std::int64_t column = first + m * in.stride_w;
      const bool inside = column >= 0 && column < in.in_w;
      *pointers++ = inside ? reinterpret_cast<const char*>(src + row * in.src_row + column * in.src_pixel) : s.zeros;
    }
  }
  return count;
}

/// The same for pixels that a tap meets all or none of.
inline std::int64_t list_scattered_runs(const ConvBf16State& s, const Bf16* src, std::int64_t y, std::int64_t x, std::int64_t,
                                        std::int64_t r0, std::int64_t r1, const PairBlock& block, PairRun* runs, const char**) {
  const ByteStage& in = s.stage;
  std::int64_t count = 0;
  for (std::int64_t r = r0; r < r1; ++r) {
    const std::int64_t row = y * in.stride_h - in.pad_top + r / s.runs * in.dilation_h;
    const std::int64_t column = x * in.stride_w - in.pad_left + r % s.runs * s.dilation_w;
    if (row < 0 || row >= in.in_h || column < 0 || column >= in.in_w) continue;
    runs[count++] = {reinterpret_cast<const char*>(src + row * in.src_row + column * in.src_pixel),
                     block.weights + r * block.run_weights};
  }
  return count;
}

/// Rows [y0, y1) of outputs of a block of filters, group by group of their runs.
template <class Run>
void scattered_block(const ConvBf16State& s, const Bf16* src, std::int64_t y0, std::int64_t y1, std::int64_t block_number,
                     const char* all_weights, const Ends& ends, Run* runs, float* waiting) {
  PairBlock block = pair_block_of(s, block_number, all_weights, ends);
  const std::int64_t all = s.stage.kernel_h * s.runs;
  const std::int64_t pixel = s.stage.stride_w * s.stage.src_pixel * static_cast<std::int64_t>(sizeof(Bf16));
  auto** const pointers = reinterpret_cast<const char**>(runs + all);
  for (std::int64_t group = 0; group < s.groups; ++group) {
    block.out.to.resume = group > 0;
    block.out.to.partial = group + 1 < s.groups;
    block.out.waiting = waiting;
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t segment = 0; segment < s.segment_count; ++segment) {
        std::int64_t x = s.segments[segment];
        const Cut cut = cut_pixels(s.segments[segment + 1] - x, tile_pixels(kLanes, block.vectors));
        for (std::int64_t t = 0; t < cut.tiles; ++t) {
          const std::int64_t pixels = t < cut.larger ? cut.size + 1 : cut.size;
          const std::int64_t count = list_scattered_runs(s, src, y, x, pixels, all * group / s.groups,
                                                         all * (group + 1) / s.groups, block, runs, pointers);
          place_pairs(s, block, y * s.out_w + x, block.out);
          run_pair_tile(block.vectors, static_cast<int>(pixels), runs, count, s.words, pixel, 1, block.out);
          x += pixels;
          block.out.waiting += pixels * block.vectors * kLanes;
        }
      }
  }
}

/// Tasks [begin, end) of the first phase: some words of the filters of a register block, times their channels' gates.
template <class T>
inline void fold_pair_gates(const ConvBf16State& s, const T* gates, char* folded, std::int64_t begin, std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t image = task / (s.blocks * s.folds), b = task / s.folds % s.blocks, fold = task % s.folds;
    const std::int64_t first = s.words * fold / s.folds, last = s.words * (fold + 1) / s.folds;
    const std::int64_t v0 = s.vectors * b / s.blocks, vectors = s.vectors * (b + 1) / s.blocks - v0;
    const std::int64_t at = (v0 * s.words + first * vectors) * kLanes;
    const T* gate = gates + image * s.gate_image;
    const auto* w = reinterpret_cast<const float*>(s.weights) + at * 2;
    auto* out = reinterpret_cast<int*>(folded) + image * s.weight_words + at;
    for (std::int64_t word = first; word < last; ++word) {
      const std::int64_t c = word * 2;
      const Vec low = broadcast(widen(gate[c])), high = broadcast(c + 1 < s.stage.channels ? widen(gate[c + 1]) : 0.0f);
#pragma GCC unroll 1
      for (std::int64_t v = 0; v < vectors; ++v, w += 2 * kLanes, out += kLanes) {
        Bf16 lower[kLanes], upper[kLanes];
        store(lower, load(w) * low);
        store(upper, load(w + kLanes) * high);
        store_int(out, load_row_words(lower, upper));
      }
    }
  }
}

/// Every register block of [b0, b1) over the outputs of a band, staged or not.
inline void pair_band(const ConvBf16State& s, const compiler::KernelArgs& args, std::int64_t image, std::int64_t y0,
                      std::int64_t y1, std::int64_t b0, std::int64_t b1, const char* weights, const Ends& ends, PairRun* runs,
                      char* staged) {
  const std::int64_t src = image * s.src_image;
  if (s.scattered) {
    const Bf16* const picture = static_cast<const Bf16*>(args.src[0]) + src;
    auto* const waiting = reinterpret_cast<float*>(staged);
    for (std::int64_t b = b0; b < b1; ++b)
      if (s.even)
        scattered_block(s, picture, y0, y1, b, weights, ends, runs, waiting);
      else
        scattered_block(s, picture, y0, y1, b, weights, ends, reinterpret_cast<ScatteredPairRun*>(runs), waiting);
    return;
  }
  PairStrip strip;
  if (s.direct) {
    const std::int64_t above = s.stage.pad_top * s.stage.src_row;
    strip = {reinterpret_cast<const char*>(static_cast<const Bf16*>(args.src[0]) + src - above), 0, 0, 0, s.out_w};
    strip.staged += y0 * s.stage.slot_y * s.stage.slot_bytes;
    strip.y0 = y0, strip.y1 = y1;
    for (std::int64_t b = b0; b < b1; ++b) pair_block(s, strip, b, weights, ends, runs);
    return;
  }
  strip.staged = staged;
  for (strip.y0 = y0; strip.y0 < y1; strip.y0 = strip.y1) {
    strip.y1 = smaller(strip.y0 + s.strip_rows, y1);
    for (strip.x0 = 0; strip.x0 < s.out_w; strip.x0 = strip.x1) {
      strip.x1 = smaller(strip.x0 + s.strip_columns, s.out_w);
      if (s.src_bf16)
        stage_strip_bf16(s.stage, static_cast<const Bf16*>(args.src[0]) + src, strip.y0, strip.y1, strip.x0, strip.x1, staged);
      else
        stage_strip_bf16(s.stage, static_cast<const float*>(args.src[0]) + src, strip.y0, strip.y1, strip.x0, strip.x1, staged);
      for (std::int64_t b = b0; b < b1; ++b) pair_block(s, strip, b, weights, ends, runs);
    }
  }
}

inline void run_conv_bf16(const compiler::KernelArgs& args) {
  const ConvBf16State& s = *static_cast<const ConvBf16State*>(args.state);
  auto* const folded = static_cast<char*>(args.shared_scratch);
  if (s.has_gate && args.phase == 0) {
    if (s.gate_bf16)
      fold_pair_gates(s, static_cast<const Bf16*>(args.src[4]), folded, args.begin, args.end);
    else
      fold_pair_gates(s, static_cast<const float*>(args.src[4]), folded, args.begin, args.end);
    return;
  }
  char* scratch = static_cast<char*>(args.thread_scratch);
  auto* const sums = reinterpret_cast<float*>(scratch);
  auto* const runs = reinterpret_cast<PairRun*>(scratch + kStoredSumBytes);
  char* const staged = scratch + kStoredSumBytes + bf16_runs_bytes(s.stage.kernel_h * s.runs, s.scattered);
  const Ends ends{s.has_residual ? args.src[3] : nullptr, args.dst[0], s.residual_bf16, s.dst_bf16, sums};
  const std::int64_t in_image = s.bands * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest % s.bands, split = rest / s.bands;
    const char* weights = s.has_gate ? folded + image * s.weight_words * 4 : s.weights;
    pair_band(s, args, image, s.out_h * band / s.bands, s.out_h * (band + 1) / s.bands, s.blocks * split / s.splits,
              s.blocks * (split + 1) / s.splits, weights,
              ends.at_image(image * s.dst_image, image * s.residual_image), runs, staged);
  }
}
