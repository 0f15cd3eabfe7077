// Dense convolution of bytes; included inside the namespace of each instruction set. A strip of the input is staged (see
// stage_bytes.inl), padding and all, so that addresses are arithmetic; M pixels x N vectors of filters stay in registers
// over all taps and channels, and leave as bytes.

#include "cpu/kernels/multiply_words.inl"

/// Words that follow each other in memory, from those of pixel 0 of the tile on.
struct ByteRun {
  const char* x;
  const char* w;
};

struct ByteOutput {
  const int* start;
  const float* ratio;
  const ConvBytesState* s;
  unsigned char* dst;
  std::int64_t dst_pixel;
  int tail;  ///< filters in the last vector
  std::int64_t ahead = 0;  ///< bytes before their use at which pixels are asked for; 0: they are not
  int* sums = nullptr;     ///< of the first pixel, where those of several slices are added up
  bool first = true, last = true;
};

/// What a slice but the first starts from.
constexpr int kNoSums[4 * kLanes] = {};

struct ByteRange {
  Vec low, high;
  Int zero;
};

[[gnu::always_inline]] inline Int quantised(Sums sums, Vec ratio, const ByteRange& range) {
  return to_int(min(range.high, max(range.low, to_float(sums) * ratio))) + range.zero;
}

/// `repeat` tiles of pixels at the distance `pixel`, one behind the other.
template <class Kind, int M, int N>
void byte_tile(const ByteRun* runs, std::int64_t count, std::int64_t words, std::int64_t pixel, std::int64_t repeat,
               const ByteOutput& out) {
  for (std::int64_t r = 0; r < repeat; ++r) {
    Sums c[M][N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      const Sums start = load_sums(out.start + n * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) c[m][n] = start;
    }
    if (out.ahead > 0 && count > 0)
      for (std::int64_t at = 0; at < M * pixel; at += 64) prefetch(runs[0].x + r * M * pixel + out.ahead + at);
    for (std::int64_t i = 0; i < count; ++i)
      multiply_run<Kind, M, N>(c, runs[i].x + r * M * pixel, runs[i].w, words, pixel);
    if (out.sums != nullptr) {
      int* sums = out.sums + r * M * N * kLanes;
      if (!out.first) {
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) c[m][n] = c[m][n] + load_sums(sums + (m * N + n) * kLanes);
      }
      if (!out.last) {
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) store_sums(sums + (m * N + n) * kLanes, c[m][n]);
        continue;
      }
    }
    unsigned char* dst = out.dst + r * M * out.dst_pixel;
    const ConvBytesState* s = out.s;
    asm("" : "+r"(s));  // the registers of the range are not taken from the sums
    if constexpr (N == 4) {
      if (s->saturates && out.tail == kLanes) {
        const Int zero = broadcast_short(static_cast<short>(s->zero));
        Vec ratio[N];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) ratio[n] = load(out.ratio + n * kLanes);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m)
          store_saturated(dst + m * out.dst_pixel, to_int(to_float(c[m][0]) * ratio[0]), to_int(to_float(c[m][1]) * ratio[1]),
                          to_int(to_float(c[m][2]) * ratio[2]), to_int(to_float(c[m][3]) * ratio[3]), zero);
        continue;
      }
    }
    const ByteRange range{broadcast(s->low), broadcast(s->high), broadcast_int(s->zero)};
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      const Vec ratio = load(out.ratio + n * kLanes);
      if (n == N - 1 && out.tail != kLanes) {
        for (int m = 0; m < M; ++m) {
          unsigned char bytes[kLanes];
          store_bytes(bytes, quantised(c[m][n], ratio, range));
          for (int i = 0; i < out.tail; ++i) dst[m * out.dst_pixel + n * kLanes + i] = bytes[i];
        }
      } else {
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) store_bytes(dst + m * out.dst_pixel + n * kLanes, quantised(c[m][n], ratio, range));
      }
    }
  }
}

template <class Kind, int N, int M>
void byte_tile_of(int pixels, const ByteRun* runs, std::int64_t count, std::int64_t words, std::int64_t pixel,
                  std::int64_t repeat, const ByteOutput& out) {
  if constexpr (M > 1) {
    if (pixels != M) {
      byte_tile_of<Kind, N, M - 1>(pixels, runs, count, words, pixel, repeat, out);
      return;
    }
  }
  byte_tile<Kind, M, N>(runs, count, words, pixel, repeat, out);
}

template <class Kind>
void run_byte_tile(int vectors, int pixels, const ByteRun* runs, std::int64_t count, std::int64_t words, std::int64_t pixel,
                   std::int64_t repeat, const ByteOutput& out) {
  switch (vectors) {
    case 1: byte_tile_of<Kind, 1, byte_tile_pixels(kLanes, 1)>(pixels, runs, count, words, pixel, repeat, out); break;
    case 2: byte_tile_of<Kind, 2, byte_tile_pixels(kLanes, 2)>(pixels, runs, count, words, pixel, repeat, out); break;
    case 3: byte_tile_of<Kind, 3, byte_tile_pixels(kLanes, 3)>(pixels, runs, count, words, pixel, repeat, out); break;
    default:
      if constexpr (tile_vectors(kLanes) == 4)
        byte_tile_of<Kind, 4, byte_tile_pixels(kLanes, 4)>(pixels, runs, count, words, pixel, repeat, out);
      break;
  }
}

/// A strip: outputs [y0, y1) x [x0, x1), staged.
struct ByteStrip {
  const char* staged;
  std::int64_t y0, y1, x0, x1;
};

/// The runs of pixels [x, x + pixels) of output row y. Rows of taps outside the picture, and columns that miss it for all
/// of the pixels, are left out where they add nothing.
template <class Kind>
std::int64_t list_runs(const ConvBytesState& s, const ByteStrip& strip, std::int64_t y, std::int64_t x, std::int64_t pixels,
                       const char* weights, std::int64_t run_weights, ByteRun* runs) {
  const ByteStage& in = s.stage;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename Kind::Element));
  std::int64_t count = 0;
  for (std::int64_t ky = 0; ky < in.kernel_h; ++ky) {
    const std::int64_t row = y * in.stride_h - in.pad_top + ky * in.dilation_h;
    if (s.skips && (row < 0 || row >= in.in_h)) continue;
    const char* src = strip.staged + ((y - strip.y0) * in.slot_y + ky * in.slot_ky) * in.slot_bytes +
                      (x - strip.x0) * in.stride_w * in.pitch * kSize;
    for (std::int64_t run = 0; run < s.runs; ++run) {
      if (s.skips && s.runs > 1) {
        const std::int64_t dilation = in.reach_w / (s.runs - 1);
        const std::int64_t first = x * in.stride_w - in.pad_left + run * dilation, last = first + (pixels - 1) * in.stride_w;
        if (last < 0 || first >= in.in_w) continue;
      }
      runs[count++] = {src + run * s.run_step, weights + (ky * s.runs + run) * run_weights};
    }
  }
  return count;
}

/// A block of filters, and the slice of their words that is multiplied.
struct ByteBlock {
  const char* weights;  ///< of the slice
  std::int64_t run_weights, words;
  int vectors;
  int* sums;  ///< of the strip
};

/// Pixels [x0, x1) of output row y, all of them inside the picture for the same taps or cut where they differ.
template <class Kind>
void byte_row(const ConvBytesState& s, const ByteStrip& strip, const ByteBlock& block, std::int64_t y, std::int64_t x0,
              std::int64_t x1, ByteOutput& out, unsigned char* image, ByteRun* runs) {
  const Cut cut = cut_pixels(x1 - x0, byte_tile_pixels(kLanes, block.vectors));
  const std::int64_t pixel = s.stage.stride_w * s.stage.pitch * static_cast<std::int64_t>(sizeof(typename Kind::Element));
  const bool trims = s.skips && s.runs > 1 && !s.direct;  // tiles differ in the runs that they skip
  std::int64_t x = x0;
  for (std::int64_t t = 0; t < cut.tiles;) {
    const std::int64_t pixels = t < cut.larger ? cut.size + 1 : cut.size;
    const std::int64_t repeat = trims ? 1 : (t < cut.larger ? cut.larger : cut.tiles) - t;
    const std::int64_t count = list_runs<Kind>(s, strip, y, x, pixels, block.weights, block.run_weights, runs);
    const std::int64_t place = (y - strip.y0) * (strip.x1 - strip.x0) + x - strip.x0;
    out.dst = image + (y * s.out_w + x) * s.dst_pixel;
    out.sums = block.sums == nullptr ? nullptr : block.sums + place * block.vectors * kLanes;
    run_byte_tile<Kind>(block.vectors, static_cast<int>(pixels), runs, count, block.words, pixel, repeat, out);
    t += repeat;
    x += repeat * pixels;
  }
}

template <class Kind>
void byte_block(const ConvBytesState& s, const ByteStrip& strip, std::int64_t number, unsigned char* image, ByteRun* runs,
                int* sums) {
  const std::int64_t v0 = s.vectors * number / s.blocks, v1 = s.vectors * (number + 1) / s.blocks, filter = v0 * kLanes;
  ByteBlock block;
  block.vectors = static_cast<int>(v1 - v0);
  block.run_weights = s.words * block.vectors * kLanes * 4;
  block.sums = s.slice_words < s.words ? sums : nullptr;
  const char* weights = s.weights + v0 * kLanes * 4 * s.words * s.runs * s.stage.kernel_h;
  ByteOutput out;
  // Pixels of few channels are multiplied as fast as memory brings them, if it is asked in time. The blocks that follow find them
  // near.
  constexpr std::int64_t kAhead = 2048, kFewWords = 128;
  const bool pixels_only = s.runs == 1 && s.stage.kernel_h == 1 && s.words <= kFewWords;
  out.ahead = s.direct && pixels_only ? kAhead : 0;
  out.ratio = s.ratio + filter;
  out.s = &s;
  out.dst_pixel = s.dst_pixel;
  out.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
  for (std::int64_t w = 0; w < s.words; w += s.slice_words) {
    ByteStrip slice = strip;
    slice.staged += w * 4;
    block.weights = weights + w * block.vectors * kLanes * 4;
    block.words = smaller(s.slice_words, s.words - w);
    out.first = w == 0;
    out.last = w + block.words == s.words;
    out.start = out.first ? s.start + filter : kNoSums;
    for (std::int64_t y = strip.y0; y < strip.y1; ++y) {
      if (!s.direct) {
        byte_row<Kind>(s, slice, block, y, strip.x0, strip.x1, out, image + filter, runs);
        continue;
      }
      for (std::int64_t i = 0; i + 1 < s.cut_count; ++i) {
        const std::int64_t x0 = s.cuts[i] > strip.x0 ? s.cuts[i] : strip.x0, x1 = smaller(s.cuts[i + 1], strip.x1);
        if (x0 < x1) byte_row<Kind>(s, slice, block, y, x0, x1, out, image + filter, runs);
      }
    }
  }
}

template <class Kind>
void run_conv_bytes(const compiler::KernelArgs& args) {
  const ConvBytesState& s = *static_cast<const ConvBytesState*>(args.state);
  auto* runs = static_cast<ByteRun*>(args.thread_scratch);
  char* staged = static_cast<char*>(args.thread_scratch) + byte_runs_bytes(s.stage.kernel_h * s.runs);
  int* sums = reinterpret_cast<int*>(static_cast<char*>(args.thread_scratch) + s.sums);
  const std::int64_t in_image = s.bands * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest % s.bands, split = rest / s.bands;
    const auto* src = static_cast<const unsigned char*>(args.src[0]) + image * s.src_image;
    auto* dst = static_cast<unsigned char*>(args.dst[0]) + image * s.dst_image;
    const std::int64_t last_row = s.out_h * (band + 1) / s.bands;
    ByteStrip strip;
    strip.staged = staged;
    for (strip.y0 = s.out_h * band / s.bands; strip.y0 < last_row; strip.y0 = strip.y1) {
      strip.y1 = smaller(strip.y0 + s.strip_rows, last_row);
      for (strip.x0 = 0; strip.x0 < s.out_w; strip.x0 = strip.x1) {
        strip.x1 = smaller(strip.x0 + s.strip_columns, s.out_w);
        if (s.direct)
          strip.staged = reinterpret_cast<const char*>(src) + (strip.y0 * s.stage.stride_h - s.stage.pad_top) * s.stage.src_row +
                         (strip.x0 * s.stage.stride_w - s.stage.pad_left) * s.stage.src_pixel;
        else
          stage_strip<Kind>(s.stage, src, strip.y0, strip.y1, strip.x0, strip.x1, staged);
        const std::int64_t b1 = s.blocks * (split + 1) / s.splits;
        for (std::int64_t b = s.blocks * split / s.splits; b < b1; ++b) byte_block<Kind>(s, strip, b, dst, runs, sums);
      }
    }
  }
}
