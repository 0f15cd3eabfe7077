// Transposed convolution as stride_h x stride_w ordinary ones, each over its own taps, whose outputs interleave; included
// inside the namespace of each instruction set.

#include "cpu/kernels/tile/stored_tile.inl"
#include "cpu/kernels/vectors.inl"

#include "cpu/kernels/conv_transpose/patch_rows.inl"

struct TransposeCall {
  const ConvTransposeState* s;
  const float* src;  ///< image and group
  std::int64_t src_row, src_pixel;
  Ends ends;
  Run* runs;
  ScatteredRun* scattered;
  const float** pointers;
};

/// Row j of one pair of phases, one block of filters.
inline void transpose_row(const TransposeCall& call, const TransposePhase& rows, const TransposePhase& columns,
                          std::int64_t j, std::int64_t dst_at, int vectors, const float* w, Output& out) {
  const ConvTransposeState& s = *call.s;
  const std::int64_t step = vectors * kLanes;
  const int most = tile_pixels(kLanes, vectors);
  const std::int64_t tiles = (columns.outputs + most - 1) / most;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t x0 = columns.outputs * t / tiles;
    const int pixels = static_cast<int>(columns.outputs * (t + 1) / tiles - x0);
    bool inner = true;
    for (std::int64_t kx = 0; kx < columns.taps; ++kx) {
      const std::int64_t x = x0 + columns.offsets[kx];
      inner = inner && x >= 0 && x + pixels <= s.in_w;
    }
    const std::int64_t tile_at = dst_at + x0 * out.dst_pixel;
    int count = 0;
    const float** p = call.pointers;
    for (std::int64_t ky = 0; ky < rows.taps; ++ky) {
      const std::int64_t y = j + rows.offsets[ky];
      if (y < 0 || y >= s.in_h) continue;
      const float* row = call.src + y * call.src_row;
      for (std::int64_t kx = 0; kx < columns.taps; ++kx) {
        const std::int64_t x = x0 + columns.offsets[kx];
        const float* tap = w + (ky * columns.taps + kx) * s.channels * step;
        if (inner) {
          call.runs[count++] = {row + x * call.src_pixel, tap, s.channels};
          continue;
        }
        if (x >= s.in_w || x + pixels <= 0) continue;
        for (int m = 0; m < pixels; ++m)
          p[m] = x + m >= 0 && x + m < s.in_w ? row + (x + m) * call.src_pixel : s.zeros;
        call.scattered[count++] = {p, tap, s.channels};
        p += pixels;
      }
    }
    if (inner)
      run_stored_tile(call.ends, tile_at, 0, vectors, pixels, call.runs, count, call.src_pixel, 1, out);
    else
      run_stored_tile(call.ends, tile_at, 0, vectors, pixels, call.scattered, count, out);
  }
}

/// Rows [j0, j1) of all phases with the register blocks [b0, b1).
inline void transpose_rows(const TransposeCall& call, std::int64_t group, std::int64_t b0, std::int64_t b1, std::int64_t j0,
                           std::int64_t j1) {
  const ConvTransposeState& s = *call.s;
  Output out;
  out.residual = nullptr;
  out.residual_pixel = 0;
  out.dst_pixel = s.dst_pixel * s.stride_w;
  out.epilogue = &s.epilogue;
  out.resume = out.partial = false;
  for (std::int64_t b = b0; b < b1; ++b) {
    const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
    const int vectors = static_cast<int>(v1 - v0);
    const float* w = s.weights + (group * s.vectors + v0) * kLanes * s.taps * s.channels;
    const std::int64_t left = s.filters - (v1 - 1) * kLanes;
    out.bias = s.bias + (group * s.vectors + v0) * kLanes;
    out.tail = static_cast<int>(left < kLanes ? left : kLanes);
    for (std::int64_t py = 0; py < s.stride_h; ++py)
      for (std::int64_t px = 0; px < s.stride_w; ++px) {
        const TransposePhase &rows = s.phases_h[py], &columns = s.phases_w[px];
        out.cuts = cut_sums(w, rows.taps * columns.taps * s.channels);
        for (std::int64_t j = j0; j < j1 && j < rows.outputs; ++j) {
          const std::int64_t dst_at = ((j * s.stride_h + py) * s.out_w + px) * s.dst_pixel + v0 * kLanes;
          transpose_row(call, rows, columns, j, dst_at, vectors, w, out);
        }
        w += rows.taps * columns.taps * s.channels * vectors * kLanes;
      }
  }
}

/// Widens the input rows that rows [j0, j1) read, and points the call there.
inline void widen_rows(TransposeCall& call, const Bf16* src, std::int64_t j0, std::int64_t j1, float* strip) {
  const ConvTransposeState& s = *call.s;
  const std::int64_t width = s.in_w * s.channels, top = j0 - s.rows_before;
  for (std::int64_t y = top < 0 ? 0 : top; y < smaller(s.in_h, j1 + s.rows_after); ++y)
    widen_pixels(src + y * s.src_row, s.src_pixel, strip + (y - top) * width, s.in_w, s.channels);
  call.src = strip - top * width;
  call.src_row = width;
  call.src_pixel = s.channels;
}

inline void run_conv_transpose(const compiler::KernelArgs& args) {
  const ConvTransposeState& s = *static_cast<const ConvTransposeState*>(args.state);
  char* scratch = static_cast<char*>(args.thread_scratch);
  auto* const strip = reinterpret_cast<float*>(scratch);
  auto* const sums = reinterpret_cast<float*>(scratch + s.strip_bytes);
  TransposeCall call;
  call.s = &s;
  call.runs = reinterpret_cast<Run*>(scratch + s.strip_bytes + kStoredSumBytes);
  call.scattered = reinterpret_cast<ScatteredRun*>(call.runs + s.most_taps);
  call.pointers = reinterpret_cast<const float**>(call.scattered + s.most_taps);
  const Ends ends{nullptr, args.dst[0], false, s.dst_bf16, s.dst_bf16 ? sums : nullptr};
  const std::int64_t in_image = s.bands * s.groups * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest / (s.groups * s.splits), part = rest % (s.groups * s.splits);
    const std::int64_t group = part / s.splits, split = part % s.splits;
    const std::int64_t src = image * s.src_image + group * s.channels;
    call.ends = ends.at_image(image * s.dst_image + group * s.filters, 0);
    const std::int64_t j0 = s.rows * band / s.bands, j1 = s.rows * (band + 1) / s.bands;
    const std::int64_t b0 = s.blocks * split / s.splits, b1 = s.blocks * (split + 1) / s.splits;
    if (!s.src_bf16) {
      call.src = static_cast<const float*>(args.src[0]) + src;
      call.src_row = s.src_row;
      call.src_pixel = s.src_pixel;
      transpose_rows(call, group, b0, b1, j0, j1);
      continue;
    }
    for (std::int64_t j = j0; j < j1; j += s.strip_rows) {
      const std::int64_t end = smaller(j1, j + s.strip_rows);
      widen_rows(call, static_cast<const Bf16*>(args.src[0]) + src, j, end, strip);
      transpose_rows(call, group, b0, b1, j, end);
    }
  }
}

/// The values of up to 2 x kLanes pixels, [channel][pixel]. Pixels beyond `pixels` repeat the last one.
template <class T>
inline void gather_planes(const T* src, std::int64_t src_pixel, int pixels, std::int64_t channels, float* planes) {
  for (int half = 0; half < 2; ++half) {
    const T* from[kLanes];
    for (int i = 0; i < kLanes; ++i) from[i] = src + smaller(half * kLanes + i, pixels - 1) * src_pixel;
    float* to = planes + half * kLanes;
    for (std::int64_t c = 0; c < channels; c += kLanes) {
      const int count = static_cast<int>(smaller(kLanes, channels - c));
      Vec r[kLanes];
      if (count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) r[i] = load(from[i] + c);
      } else {
        for (int i = 0; i < kLanes; ++i) r[i] = load_first(from[i] + c, count);
      }
      transpose(r);
      if (count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(to + (c + i) * 2 * kLanes, r[i]);
      } else {
        for (int i = 0; i < count; ++i) store(to + (c + i) * 2 * kLanes, r[i]);
      }
    }
  }
}

/// Four values of the patches of 2 x kLanes pixels: sums over `channels` planes.
[[gnu::always_inline]] inline void add_planes(const float* planes, const float* w, std::int64_t channels, Vec (&c)[4][2]) {
#pragma GCC unroll 1
  for (std::int64_t k = 0; k < channels; ++k, planes += 2 * kLanes, w += 4) {
    const Vec x0 = load(planes), x1 = load(planes + kLanes);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vec weight = broadcast(w[i]);
      c[i][0] = fma(x0, weight, c[i][0]);
      c[i][1] = fma(x1, weight, c[i][1]);
    }
  }
}

/// a0 b0 a1 b1 ...: 2 x kLanes numbers.
template <class T>
[[gnu::always_inline]] inline void store_interleaved(T* dst, const float* a, const float* b) {
  alignas(64) static constexpr int kOrder[2][16] = {{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7},
                                                    {8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15}};
  alignas(64) static constexpr float kOdd[16] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const Int low = load_int(kOrder[0]);
  const Int high = kLanes == 16 ? load_int(kOrder[1]) : load_int(kOrder[0] + kLanes);
  const Mask odd = less(zero(), load(kOdd));
  const Vec x = load(a), y = load(b);
  store(dst, select(odd, permute(y, low), permute(x, low)));
  store(dst + kLanes, select(odd, permute(y, high), permute(x, high)));
}

[[gnu::always_inline]] inline void put(float* p, float x) { *p = x; }
[[gnu::always_inline]] inline void put(Bf16* p, float x) { *p = to_bf16(x); }

/// One value of the patches of `pixels` pixels after the other, to where it belongs.
template <class T>
inline void scatter_patches(const ConvTransposeState& s, const float* values, int pixels, std::int64_t x, T* row) {
  const std::int64_t width = s.stride_w * s.filters;
  const bool dense = s.dst_pixel == s.filters;
  if (dense && width == 2 && pixels == 2 * kLanes) {
    store_interleaved(row + 2 * x, values, values + 2 * kLanes);
    store_interleaved(row + 2 * x + 2 * kLanes, values + kLanes, values + 3 * kLanes);
    return;
  }
  for (std::int64_t kx = 0; kx < s.stride_w; ++kx)
    for (std::int64_t f = 0; f < s.filters; ++f, values += 2 * kLanes) {
      T* dst = row + (x * s.stride_w + kx) * s.dst_pixel + f;
      for (int i = 0; i < pixels; ++i) put(dst + i * s.stride_w * s.dst_pixel, values[i]);
    }
}

/// Pixels in lanes, so that a patch of few values fills them: each value of the patch is a sum of planes.
template <class Src, class Result>
inline void multiply_patches(const compiler::KernelArgs& args) {
  const ConvTransposeState& s = *static_cast<const ConvTransposeState*>(args.state);
  constexpr int kPixels = 2 * kLanes;
  float* planes = static_cast<float*>(args.thread_scratch);
  float* values = planes + s.channels * kPixels;  // [patch, rounded up to 4][kPixels]
  const std::int64_t width = s.stride_w * s.filters;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands, band = task % s.bands;
    const Src* src = static_cast<const Src*>(args.src[0]) + image * s.src_image;
    Result* dst = static_cast<Result*>(args.dst[0]) + image * s.dst_image;
    const std::int64_t y0 = s.rows * band / s.bands, y1 = s.rows * (band + 1) / s.bands;
    if constexpr (sizeof(Result) == sizeof(float)) {
      if (is_patch_row(s)) {
        multiply_patch_rows(s, src, dst, y0, y1);
        continue;
      }
    }
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = 0; x < s.in_w; x += kPixels) {
        const int pixels = static_cast<int>(smaller(kPixels, s.in_w - x));
        gather_planes(src + y * s.src_row + x * s.src_pixel, s.src_pixel, pixels, s.channels, planes);
        for (std::int64_t o = 0; o < s.patch; o += 4) {
          const float* w = s.weights + o * s.channels;
          Vec c[4][2];
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) c[i][0] = c[i][1] = broadcast(s.bias[o + i]);
          add_planes(planes, w, smaller(s.channels, kSumLength), c);
          for (std::int64_t k = kSumLength; k < s.channels; k += kSumLength) {
            Vec more[4][2];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) more[i][0] = more[i][1] = zero();
            add_planes(planes + k * kPixels, w + 4 * k, smaller(s.channels - k, kSumLength), more);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
#pragma GCC unroll 2
              for (int j = 0; j < 2; ++j) c[i][j] = c[i][j] + more[i][j];
          }
          float* to = values + o * kPixels;
#pragma GCC unroll 1
          for (int i = 0; i < 4; ++i)
#pragma GCC unroll 2
            for (int j = 0; j < 2; ++j) store(to + i * kPixels + j * kLanes, c[i][j]);
        }
        for (std::int64_t i = 0; i < s.patch * kPixels; i += kLanes)
          store(values + i, activate(s.epilogue, load(values + i)));
        for (std::int64_t ky = 0; ky < s.stride_h; ++ky)
          scatter_patches(s, values + ky * width * kPixels, pixels, x, dst + (y * s.stride_h + ky) * s.out_w * s.dst_pixel);
      }
  }
}

inline void run_patches(const compiler::KernelArgs& args) {
  const ConvTransposeState& s = *static_cast<const ConvTransposeState*>(args.state);
  if (s.src_bf16 && s.dst_bf16)
    multiply_patches<Bf16, Bf16>(args);
  else if (s.src_bf16)
    multiply_patches<Bf16, float>(args);
  else if (s.dst_bf16)
    multiply_patches<float, Bf16>(args);
  else
    multiply_patches<float, float>(args);
}
