// Convolution with moved taps: the samples of a strip of output pixels are brought together, and register tiles multiply them
// with the filters. Included inside the namespace of each instruction set.

#include "cpu/kernels/taps.inl"

using DeformTaps = PixelTaps<kDeformPixels>;

struct DeformCall {
  const DeformConvState* s;
  const float *src, *offsets, *mask;  ///< of an image
  float* dst;
};

/// Where tap (ky, kx), the `moved`th with an offset, reads for output pixels [begin, end).
[[gnu::noinline]] inline void find_taps(const DeformCall& call, std::int64_t begin, std::int64_t end, std::int64_t ky,
                                        std::int64_t kx, std::int64_t moved, DeformTaps& taps) {
  const DeformConvState& s = *call.s;
  const double height = static_cast<double>(s.in_h), width = static_cast<double>(s.in_w);
  std::int64_t row = begin / s.out_w, column = begin % s.out_w;
  for (std::int64_t i = 0; i < end - begin; ++i) {
    const float* offset = call.offsets + 2 * moved * s.offset_channel + row * s.offset_row + column * s.offset_pixel;
    const double y = static_cast<double>(row * s.stride_h - s.pad_top + ky * s.dilation_h) + static_cast<double>(offset[0]);
    const double x = static_cast<double>(column * s.stride_w - s.pad_left + kx * s.dilation_w) +
                     static_cast<double>(offset[s.offset_channel]);
    if (y > -1 && x > -1 && y < height && x < width) {
      const double factor =
          s.has_mask ? static_cast<double>(call.mask[moved * s.mask_channel + row * s.mask_row + column * s.mask_pixel]) : 1;
      const std::int64_t top = floor_of(y), left = floor_of(x);
      const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
      const double above = factor * (1 - down), below = factor * down;
      const std::int64_t at = top * s.src_row + left * s.src_pixel;
      const bool left_in = left >= 0, right_in = left + 1 < s.in_w, top_in = top >= 0, bottom_in = top + 1 < s.in_h;
      if (left_in && right_in && top_in && bottom_in) {
        taps.set_all(i, at, s.src_row, s.src_pixel, above, below, across);
      } else {
        taps.start(i);
        if (top_in && left_in) taps.add(i, at, above * (1 - across));
        if (top_in && right_in) taps.add(i, at + s.src_pixel, above * across);
        if (bottom_in && left_in) taps.add(i, at + s.src_row, below * (1 - across));
        if (bottom_in && right_in) taps.add(i, at + s.src_row + s.src_pixel, below * across);
      }
    } else {
      taps.start(i);
    }
    if (++column == s.out_w) column = 0, ++row;
  }
}

inline void sample_strip(const DeformCall& call, std::int64_t begin, std::int64_t end, float* samples) {
  const DeformConvState& s = *call.s;
  const std::int64_t channels = s.groups * s.channels, taps = s.kernel_h * s.kernel_w, pixel = taps * channels;
  DeformTaps places;
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t g = 0; g < s.offset_groups; ++g) {
      find_taps(call, begin, end, t / s.kernel_w, t % s.kernel_w, g * taps + t, places);
      const float* src = call.src + g * s.moved_together;
      float* to = samples + t * channels + g * s.moved_together;
      for (std::int64_t i = 0; i < end - begin; ++i) sample_channels(places, i, src, s.moved_together, to + i * pixel);
    }
}

/// Taps [t0, t1) of one block of filters, for a strip of `count` pixels; `w` are the filters of all taps.
inline void multiply_taps(const DeformConvState& s, const float* x, std::int64_t count, std::int64_t t0, std::int64_t t1,
                          int vectors, const float* w, Run* runs, Output out) {
  const std::int64_t all = s.groups * s.channels, pixel = s.kernel_h * s.kernel_w * all;
  const Cut cut = cut_pixels(count, tile_pixels(kLanes, vectors));
  // Larger tiles first.
  for (int larger = 1; larger >= 0; --larger) {
    const std::int64_t repeat = larger == 1 ? cut.larger : cut.tiles - cut.larger, pixels = cut.size + larger;
    if (repeat == 0) continue;
    int n = 0;
    if (s.groups == 1)
      runs[n++] = {x + t0 * all, w + t0 * all * vectors * kLanes, (t1 - t0) * all};
    else
      for (std::int64_t t = t0; t < t1; ++t) runs[n++] = {x + t * all, w + t * s.channels * vectors * kLanes, s.channels};
    run_tile(vectors, static_cast<int>(pixels), runs, n, pixel, repeat, out);
    x += repeat * pixels * pixel;
    out.dst += repeat * pixels * s.dst_pixel;
  }
}

/// All filters of a strip of `count` pixels, some taps at a time, whose filters stay in the second-level cache.
inline void multiply_strip(const DeformCall& call, const float* samples, std::int64_t count, Run* runs, float* dst) {
  const DeformConvState& s = *call.s;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  for (std::int64_t group = 0; group < s.groups; ++group)
    for (std::int64_t block = 0; block < s.blocks; ++block) {
      const std::int64_t v0 = s.vectors * block / s.blocks, v1 = s.vectors * (block + 1) / s.blocks;
      const int vectors = static_cast<int>(v1 - v0);
      const float* w = s.weights + (group * s.vectors + v0) * kLanes * taps * s.channels;
      Output out{};
      out.bias = s.bias + (group * s.vectors + v0) * kLanes;
      out.dst = dst + group * s.filters + v0 * kLanes;
      out.dst_pixel = s.dst_pixel;
      out.epilogue = &s.epilogue;
      out.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
      for (std::int64_t part = 0; part < s.tap_parts; ++part) {
        const std::int64_t t0 = taps * part / s.tap_parts, t1 = taps * (part + 1) / s.tap_parts;
        out.cuts = cut_sums(w + t0 * s.channels * vectors * kLanes, (t1 - t0) * s.channels);
        out.resume = part > 0;
        out.partial = part + 1 < s.tap_parts;
        multiply_taps(s, samples + group * s.channels, count, t0, t1, vectors, w, runs, out);
      }
    }
}

inline void run_deform_conv(const compiler::KernelArgs& args) {
  const DeformConvState& s = *static_cast<const DeformConvState*>(args.state);
  const std::int64_t plane = s.out_h * s.out_w, pixel = s.kernel_h * s.kernel_w * s.groups * s.channels;
  float* samples = static_cast<float*>(args.thread_scratch);
  Run* runs = reinterpret_cast<Run*>(samples + (s.strip * pixel + 15) / 16 * 16);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.strips, begin = task % s.strips * s.strip;
    const std::int64_t end = begin + s.strip < plane ? begin + s.strip : plane;
    DeformCall call{&s, static_cast<const float*>(args.src[0]) + image * s.src_image,
                    static_cast<const float*>(args.src[2]) + image * s.offset_image, nullptr,
                    static_cast<float*>(args.dst[0]) + image * s.dst_image};
    if (s.has_mask) call.mask = static_cast<const float*>(args.src[4]) + image * s.mask_image;
    sample_strip(call, begin, end, samples);
    multiply_strip(call, samples, end - begin, runs, call.dst + begin * s.dst_pixel);
  }
}
