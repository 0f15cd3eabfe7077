// Transposed convolution as stride_h x stride_w ordinary ones, each over its own taps, whose outputs interleave; included
// inside the namespace of each instruction set.

struct TransposeCall {
  const ConvTransposeState* s;
  const float* src;  ///< image and group
  float* dst;
  Run* runs;
  ScatteredRun* scattered;
  const float** pointers;
};

/// Row j of one pair of phases, one block of filters.
inline void transpose_row(const TransposeCall& call, const TransposePhase& rows, const TransposePhase& columns,
                          std::int64_t j, float* dst, int vectors, const float* w, Output& out) {
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
    out.dst = dst + x0 * out.dst_pixel;
    int count = 0;
    const float** p = call.pointers;
    for (std::int64_t ky = 0; ky < rows.taps; ++ky) {
      const std::int64_t y = j + rows.offsets[ky];
      if (y < 0 || y >= s.in_h) continue;
      const float* row = call.src + y * s.src_row;
      for (std::int64_t kx = 0; kx < columns.taps; ++kx) {
        const std::int64_t x = x0 + columns.offsets[kx];
        const float* tap = w + (ky * columns.taps + kx) * s.channels * step;
        if (inner) {
          call.runs[count++] = {row + x * s.src_pixel, tap, s.channels};
          continue;
        }
        if (x >= s.in_w || x + pixels <= 0) continue;
        for (int m = 0; m < pixels; ++m)
          p[m] = x + m >= 0 && x + m < s.in_w ? row + (x + m) * s.src_pixel : s.zeros;
        call.scattered[count++] = {p, tap, s.channels};
        p += pixels;
      }
    }
    if (inner)
      run_tile(vectors, pixels, call.runs, count, s.src_pixel, 1, out);
    else
      run_tile(vectors, pixels, call.scattered, count, out);
  }
}

inline void run_conv_transpose(const compiler::KernelArgs& args) {
  const ConvTransposeState& s = *static_cast<const ConvTransposeState*>(args.state);
  TransposeCall call;
  call.s = &s;
  call.runs = static_cast<Run*>(args.thread_scratch);
  call.scattered = reinterpret_cast<ScatteredRun*>(call.runs + s.most_taps);
  call.pointers = reinterpret_cast<const float**>(call.scattered + s.most_taps);
  Output out;
  out.residual = nullptr;
  out.residual_pixel = 0;
  out.dst_pixel = s.dst_pixel * s.stride_w;
  out.epilogue = &s.epilogue;
  out.resume = out.partial = false;
  const std::int64_t in_image = s.bands * s.groups * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest / (s.groups * s.splits), part = rest % (s.groups * s.splits);
    const std::int64_t group = part / s.splits, split = part % s.splits;
    call.src = static_cast<const float*>(args.src[0]) + image * s.src_image + group * s.channels;
    call.dst = static_cast<float*>(args.dst[0]) + image * s.dst_image + group * s.filters;
    const std::int64_t j0 = s.rows * band / s.bands, j1 = s.rows * (band + 1) / s.bands;
    for (std::int64_t b = s.blocks * split / s.splits; b < s.blocks * (split + 1) / s.splits; ++b) {
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
            float* dst = call.dst + ((j * s.stride_h + py) * s.out_w + px) * s.dst_pixel + v0 * kLanes;
            transpose_row(call, rows, columns, j, dst, vectors, w, out);
          }
          w += rows.taps * columns.taps * s.channels * vectors * kLanes;
        }
    }
  }
}

/// Rows of input pixels times all taps and filters, then each patch to its place.
inline void run_patches(const compiler::KernelArgs& args) {
  const ConvTransposeState& s = *static_cast<const ConvTransposeState*>(args.state);
  float* sums = static_cast<float*>(args.thread_scratch);
  const int vectors = static_cast<int>(s.vectors);
  const std::int64_t step = s.vectors * kLanes, width = s.stride_w * s.filters;
  const Cut cut = cut_pixels(s.in_w, tile_pixels(kLanes, vectors));
  Output out;
  out.bias = s.bias;
  out.residual = nullptr;
  out.residual_pixel = 0;
  out.dst_pixel = step;
  out.epilogue = &s.epilogue;
  out.tail = kLanes;
  out.cuts = cut_sums(s.weights, s.channels);
  out.resume = out.partial = false;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands, band = task % s.bands;
    const float* src = static_cast<const float*>(args.src[0]) + image * s.src_image;
    float* dst = static_cast<float*>(args.dst[0]) + image * s.dst_image;
    for (std::int64_t y = s.rows * band / s.bands; y < s.rows * (band + 1) / s.bands; ++y) {
      Run run = {src + y * s.src_row, s.weights, s.channels};
      out.dst = sums;
      if (cut.larger > 0) {
        run_tile(vectors, static_cast<int>(cut.size + 1), &run, 1, s.src_pixel, cut.larger, out);
        run.x += cut.larger * (cut.size + 1) * s.src_pixel;
        out.dst += cut.larger * (cut.size + 1) * step;
      }
      run_tile(vectors, static_cast<int>(cut.size), &run, 1, s.src_pixel, cut.tiles - cut.larger, out);
      for (std::int64_t ky = 0; ky < s.stride_h; ++ky) {
        float* row = dst + (y * s.stride_h + ky) * s.out_w * s.dst_pixel;
        const float* from = sums + ky * width;
        if (s.dst_pixel == s.filters && width == 2) {
          for (std::int64_t x = 0; x < s.in_w; ++x) {
            row[2 * x] = from[x * step];
            row[2 * x + 1] = from[x * step + 1];
          }
          continue;
        }
        for (std::int64_t x = 0; x < s.in_w; ++x)
          for (std::int64_t kx = 0; kx < s.stride_w; ++kx)
            for (std::int64_t f = 0; f < s.filters; ++f)
              row[(x * s.stride_w + kx) * s.dst_pixel + f] = from[x * step + kx * s.filters + f];
      }
    }
  }
}
