// 1x1 convolution; included inside the namespace of each instruction set.

#include "cpu/kernels/tile/stored_tile.inl"

/// Pixels [p0, p1) with the register blocks [b0, b1) of these weights; `src`, pixels at the distance `src_pixel`, starts at p0.
inline void multiply_pixels(const PointwiseState& s, const float* weights, const float* src, std::int64_t src_pixel,
                            const Ends& ends, std::int64_t p0, std::int64_t p1, std::int64_t b0, std::int64_t b1) {
  Output out;
  out.residual_pixel = s.residual_pixel;
  out.dst_pixel = s.dst_pixel;
  out.epilogue = &s.epilogue;
  for (std::int64_t c0 = 0; c0 < s.channels; c0 += s.chunk) {
    const std::int64_t channels = smaller(s.chunk, s.channels - c0);
    out.resume = c0 > 0;
    out.partial = c0 + channels < s.channels;
    for (std::int64_t b = b0; b < b1; ++b) {
      const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks, filter = v0 * kLanes;
      const int vectors = static_cast<int>(v1 - v0);
      const Cut cut = cut_pixels(p1 - p0, tile_pixels(kLanes, vectors));
      Run run = {src + c0, weights + v0 * kLanes * s.channels + c0 * vectors * kLanes, channels};
      out.cuts = cut_sums(run.w, s.channels);
      out.bias = s.bias + filter;
      out.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
      out.twice = s.twice && v1 == s.vectors;
      std::int64_t dst_at = p0 * s.dst_pixel + filter, residual_at = p0 * s.residual_pixel + filter;
      const std::int64_t done = cut.larger * (cut.size + 1);
      if (done > 0) {
        run_stored_tile(ends, dst_at, residual_at, vectors, static_cast<int>(cut.size + 1), &run, 1, src_pixel, cut.larger, out);
        run.x = src + c0 + done * src_pixel;
        dst_at += done * s.dst_pixel;
        residual_at += done * s.residual_pixel;
      }
      run_stored_tile(ends, dst_at, residual_at, vectors, static_cast<int>(cut.size), &run, 1, src_pixel, cut.tiles - cut.larger,
                      out);
    }
  }
}

inline Ends ends_of(const PointwiseState& s, const void* residual, void* dst, float* sums) {
  return {residual, dst, s.residual_bf16, s.dst_bf16, s.residual_bf16 || s.dst_bf16 ? sums : nullptr};
}

/// The filters of the register blocks [begin, end), counted over all images, times their channels' gates.
template <class T>
inline void fold_gates(const PointwiseState& s, const T* gates, float* folded, std::int64_t begin, std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t image = task / s.blocks, b = task % s.blocks;
    const std::int64_t v0 = s.vectors * b / s.blocks, vectors = s.vectors * (b + 1) / s.blocks - v0;
    const T* gate = gates + image * s.gate_image;
    const float* w = s.weights + v0 * kLanes * s.channels;
    float* out = folded + image * s.weight_count + v0 * kLanes * s.channels;
#pragma GCC unroll 1
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const Vec factor = broadcast(widen(gate[c]));
#pragma GCC unroll 1
      for (std::int64_t v = 0; v < vectors; ++v, w += kLanes, out += kLanes) store(out, load(w) * factor);
    }
  }
}

inline void run_pointwise(const compiler::KernelArgs& args) {
  const PointwiseState& s = *static_cast<const PointwiseState*>(args.state);
  float* const folded = static_cast<float*>(args.shared_scratch);
  if (s.has_gate && args.phase == 0) {
    if (s.gate_bf16)
      fold_gates(s, static_cast<const Bf16*>(args.src[4]), folded, args.begin, args.end);
    else
      fold_gates(s, static_cast<const float*>(args.src[4]), folded, args.begin, args.end);
    return;
  }
  auto* const sums = static_cast<float*>(args.thread_scratch);
  float* const panel = sums + kStoredSums;
  const std::int64_t in_image = s.pixel_tasks * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t part = rest / s.splits, split = rest % s.splits;
    const std::int64_t p0 = s.units * part / s.pixel_tasks * kPixelUnit;
    const std::int64_t p1 = smaller(s.pixels, s.units * (part + 1) / s.pixel_tasks * kPixelUnit);
    const float* weights = s.has_gate ? folded + image * s.weight_count : s.weights;
    const Ends ends = ends_of(s, s.has_residual ? args.src[3] : nullptr, args.dst[0], sums)
                          .at_image(image * s.dst_image, image * s.residual_image);
    const std::int64_t src = image * s.src_image, b0 = s.blocks * split / s.splits, b1 = s.blocks * (split + 1) / s.splits;
    if (!s.src_bf16) {
      multiply_pixels(s, weights, static_cast<const float*>(args.src[0]) + src + p0 * s.src_pixel, s.src_pixel, ends, p0, p1, b0,
                      b1);
      continue;
    }
    for (std::int64_t p = p0; p < p1; p += s.panel) {
      const std::int64_t end = smaller(p1, p + s.panel);
      widen_pixels(static_cast<const Bf16*>(args.src[0]) + src + p * s.src_pixel, s.src_pixel, panel, end - p, s.channels);
      multiply_pixels(s, weights, panel, s.channels, ends, p, end, b0, b1);
    }
  }
}

/// N vectors of filters of one pixel. Each is read once in a run of the network, from memory or close to it, where processors
/// foresee no further than to the end of a page: two pages are asked for ahead.
template <int N>
void multiply_single(const PointwiseState& s, const float* src, const float* w, const float* bias, Ends& ends,
                     std::int64_t at, std::int64_t filters) {
  constexpr std::int64_t kAhead = 8192 / sizeof(float);
  Vec c[N];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) c[n] = load(bias + n * kLanes);
#pragma GCC unroll 1
  for (std::int64_t k = 0; k < s.channels; ++k, w += N * kLanes) {
    const Vec a = broadcast(src[k]);
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      prefetch(w + kAhead + n * kLanes);
      c[n] = fma(a, load(w + n * kLanes), c[n]);
    }
  }
  float sums[N * kLanes];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) store(sums + n * kLanes, c[n]);
  Output out{};
  out.epilogue = &s.epilogue;
  out.tail = static_cast<int>(filters - (N - 1) * kLanes);
  ends.sums = sums;
  finish_stored(ends, at, at, out, 1, N);
}

inline void run_single(const compiler::KernelArgs& args) {
  const PointwiseState& s = *static_cast<const PointwiseState*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.blocks, b = task % s.blocks;
    const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks, filter = v0 * kLanes;
    const float* src = nullptr;
    if (s.src_bf16) {
      auto* const widened = static_cast<float*>(args.thread_scratch);
      widen_row(static_cast<const Bf16*>(args.src[0]) + image * s.src_image, widened, s.channels);
      src = widened;
    } else {
      src = static_cast<const float*>(args.src[0]) + image * s.src_image;
    }
    const float* w = s.weights + v0 * kLanes * s.channels;
    const float* bias = s.bias + filter;
    Ends ends = ends_of(s, s.has_residual ? args.src[3] : nullptr, args.dst[0], nullptr)
                    .at_image(image * s.dst_image, image * s.residual_image);
    const std::int64_t filters = smaller(s.filters, v1 * kLanes) - filter;
    switch (v1 - v0) {
      case 1: multiply_single<1>(s, src, w, bias, ends, filter, filters); break;
      case 2: multiply_single<2>(s, src, w, bias, ends, filter, filters); break;
      case 3: multiply_single<3>(s, src, w, bias, ends, filter, filters); break;
      case 4: multiply_single<4>(s, src, w, bias, ends, filter, filters); break;
      case 5: multiply_single<5>(s, src, w, bias, ends, filter, filters); break;
      case 6: multiply_single<6>(s, src, w, bias, ends, filter, filters); break;
      case 7: multiply_single<7>(s, src, w, bias, ends, filter, filters); break;
      default: multiply_single<8>(s, src, w, bias, ends, filter, filters); break;
    }
  }
}
