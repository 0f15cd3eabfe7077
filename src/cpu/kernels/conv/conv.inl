// Dense convolution as an implicit matrix product; included inside the namespace of each instruction set.
// A tile is up to 12 neighbouring pixels of an output row. Where all its taps lie inside the image, their addresses are
// arithmetic; at the border each tap has a pointer a pixel, to zeros where it falls outside, and taps that miss the image
// for every pixel of the tile are skipped.

struct Tap {
  std::int64_t first, last;  ///< taps of one axis that hit the image: [first, last)
};

/// Taps of an axis inside [0, size) for the window that starts at `origin` (may be negative).
inline Tap valid_taps(std::int64_t origin, std::int64_t size, std::int64_t kernel, std::int64_t dilation) {
  Tap tap;
  tap.first = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
  tap.last = size > origin ? (size - origin + dilation - 1) / dilation : 0;
  if (tap.last > kernel) tap.last = kernel;
  if (tap.first > tap.last) tap.first = tap.last;
  return tap;
}

struct ConvCall {
  const ConvState* s;
  const float* src;  ///< image and group
  float* dst;
  const float* residual;
  Run* runs;
  ScatteredRun* scattered;
  const float** pointers;
};

/// A tile whose windows lie inside the image along x.
inline int inner_runs(const ConvCall& call, Tap rows, std::int64_t top, std::int64_t left, std::int64_t first_channel,
                      std::int64_t channels, std::int64_t step, const float* w) {
  const ConvState& s = *call.s;
  int count = 0;
  // Where neighbouring taps are neighbours in memory, a row of taps is one run.
  const bool whole_row = s.dilation_w == 1 && channels == s.src_pixel;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
    const float* x = call.src + (top + ky * s.dilation_h) * s.src_row + left * s.src_pixel + first_channel;
    const float* wy = w + ky * s.kernel_w * channels * step;
    if (whole_row) {
      call.runs[count++] = {x, wy, channels * s.kernel_w};
      continue;
    }
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx)
      call.runs[count++] = {x + kx * s.dilation_w * s.src_pixel, wy + kx * channels * step, channels};
  }
  return count;
}

inline int border_runs(const ConvCall& call, Tap rows, std::int64_t top, std::int64_t left, int pixels,
                       std::int64_t first_channel, std::int64_t channels, std::int64_t step, const float* w) {
  const ConvState& s = *call.s;
  int count = 0;
  const float** p = call.pointers;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
    const float* row = call.src + (top + ky * s.dilation_h) * s.src_row + first_channel;
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
      bool any_inside = false;
      for (int m = 0; m < pixels; ++m) {
        const std::int64_t x = left + m * s.stride_w + kx * s.dilation_w;
        const bool inside = x >= 0 && x < s.in_w;
        any_inside = any_inside || inside;
        p[m] = inside ? row + x * s.src_pixel : s.zeros;
      }
      if (!any_inside) continue;
      call.scattered[count++] = {p, w + (ky * s.kernel_w + kx) * channels * step, channels};
      p += pixels;
    }
  }
  return count;
}

/// One block of filters over rows [y0, y1), all of the input channels.
inline void conv_block(const ConvCall& call, std::int64_t group, std::int64_t block, std::int64_t y0, std::int64_t y1) {
  const ConvState& s = *call.s;
  const std::int64_t v0 = s.vectors * block / s.blocks, v1 = s.vectors * (block + 1) / s.blocks;
  const int vectors = static_cast<int>(v1 - v0);
  const std::int64_t step = vectors * kLanes, filter = v0 * kLanes;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  const float* block_weights = s.weights + (group * s.vectors + v0) * kLanes * taps * s.channels;
  const Cut cut = cut_pixels(s.out_w, tile_pixels(kLanes, vectors));
  const std::int64_t reach = (s.kernel_w - 1) * s.dilation_w;
  Output out;
  out.bias = s.bias + (group * s.vectors + v0) * kLanes;
  out.residual_pixel = s.residual_pixel;
  out.dst_pixel = s.dst_pixel;
  out.epilogue = &s.epilogue;
  out.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
  for (std::int64_t c0 = 0; c0 < s.channels; c0 += s.chunk) {
    const std::int64_t channels = smaller(s.chunk, s.channels - c0);
    const float* w = block_weights + c0 * taps * step;
    out.cuts = cut_sums(w, channels * taps);
    out.resume = c0 > 0;
    out.partial = c0 + channels < s.channels;
    for (std::int64_t y = y0; y < y1; ++y) {
      const std::int64_t top = y * s.stride_h - s.pad_top;
      const Tap rows = valid_taps(top, s.in_h, s.kernel_h, s.dilation_h);
      std::int64_t x = 0;
      for (std::int64_t t = 0; t < cut.tiles;) {
        const std::int64_t pixels = t < cut.larger ? cut.size + 1 : cut.size;
        const std::int64_t equal = (t < cut.larger ? cut.larger : cut.tiles) - t;  // tiles of this size from here on
        const std::int64_t left = x * s.stride_w - s.pad_left;
        const std::int64_t at = y * s.out_w + x;
        out.dst = call.dst + at * s.dst_pixel + filter;
        out.residual = call.residual != nullptr ? call.residual + at * s.residual_pixel + filter : nullptr;
        // Windows of the tile end before this place; so many tiles like it lie inside the image.
        const std::int64_t end = left + (pixels - 1) * s.stride_w + reach;
        std::int64_t repeat = 1;
        if (left >= 0 && end < s.in_w) {
          repeat = smaller(equal, (s.in_w - 1 - end) / (pixels * s.stride_w) + 1);
          const int count = inner_runs(call, rows, top, left, c0, channels, step, w);
          run_tile(vectors, static_cast<int>(pixels), call.runs, count, s.stride_w * s.src_pixel, repeat, out);
        } else {
          const int count = border_runs(call, rows, top, left, static_cast<int>(pixels), c0, channels, step, w);
          run_tile(vectors, static_cast<int>(pixels), call.scattered, count, out);
        }
        t += repeat;
        x += repeat * pixels;
      }
    }
  }
}

inline void run_conv(const compiler::KernelArgs& args) {
  const ConvState& s = *static_cast<const ConvState*>(args.state);
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  ConvCall call;
  call.s = &s;
  call.runs = static_cast<Run*>(args.thread_scratch);
  call.scattered = reinterpret_cast<ScatteredRun*>(call.runs + taps);
  call.pointers = reinterpret_cast<const float**>(call.scattered + taps);
  const std::int64_t in_image = s.bands * s.groups * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = s.filters_first ? rest % s.bands : rest / (s.groups * s.splits);
    const std::int64_t part = s.filters_first ? rest / s.bands : rest % (s.groups * s.splits);
    const std::int64_t group = part / s.splits, split = part % s.splits;
    call.src = static_cast<const float*>(args.src[0]) + image * s.src_image + group * s.channels;
    call.dst = static_cast<float*>(args.dst[0]) + image * s.dst_image + group * s.filters;
    call.residual = s.has_residual ? static_cast<const float*>(args.src[3]) + image * s.residual_image + group * s.filters
                                   : nullptr;
    const std::int64_t b0 = s.blocks * split / s.splits, b1 = s.blocks * (split + 1) / s.splits;
    const std::int64_t y0 = s.out_h * band / s.bands, y1 = s.out_h * (band + 1) / s.bands;
    for (std::int64_t b = b0; b < b1; ++b) conv_block(call, group, b, y0, y1);
  }
}
