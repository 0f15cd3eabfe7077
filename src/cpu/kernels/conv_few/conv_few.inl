// Convolution to a few filters; included inside the namespace of each instruction set. kLanes neighbouring pixels have a
// vector of partial sums each, over the channels; a transposition adds them up to one vector of kLanes results.

#include "cpu/kernels/epilogue.inl"

/// One tap of kLanes pixels that are `pixel` elements apart.
template <class T>
[[gnu::always_inline]] inline void add_tap(Vec (&sums)[kLanes], const T* x, std::int64_t pixel, const float* w,
                                           std::int64_t channels) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    const Vec b = load(w + c);
#pragma GCC unroll 16
    for (int m = 0; m < kLanes; ++m) sums[m] = fma(load(x + m * pixel + c), b, sums[m]);
  }
  if (c == channels) return;
  const int some = static_cast<int>(channels - c);
  const Vec b = load(w + c);
#pragma GCC unroll 16
  for (int m = 0; m < kLanes; ++m) sums[m] = fma(load_first(x + m * pixel + c, some), b, sums[m]);
}

/// The same of pixels anywhere, one after the other.
template <class T>
inline void add_scattered_tap(Vec (&sums)[kLanes], const T* const (&x)[kLanes], const float* w, std::int64_t channels) {
  for (int m = 0; m < kLanes; ++m) {
    Vec sum = sums[m];
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) sum = fma(load(x[m] + c), load(w + c), sum);
    if (c < channels) sum = fma(load_first(x[m] + c, static_cast<int>(channels - c)), load(w + c), sum);
    sums[m] = sum;
  }
}

/// Adds the upper half of 2 * kWidth sums to the lower one, down to one.
template <int kWidth>
[[gnu::always_inline]] inline void fold(Vec (&sums)[kLanes]) {
#pragma GCC unroll 8
  for (int i = 0; i < kWidth; ++i) sums[i] = sums[i] + sums[i + kWidth];
  if constexpr (kWidth > 1) fold<kWidth / 2>(sums);
}
/// Lane i of the result is the total of sums[i].
[[gnu::always_inline]] inline Vec add_up(Vec (&sums)[kLanes]) {
  transpose(sums);
  fold<kLanes / 2>(sums);
  return sums[0];
}

/// kLanes pixels from (y, x) on, of which `count` exist, one filter.
template <class T>
inline Vec few_sums(const ConvFewState& s, const T* src, std::int64_t filter, std::int64_t y, std::int64_t x, int count) {
  Vec sums[kLanes];
#pragma GCC unroll 16
  for (int m = 0; m < kLanes; ++m) sums[m] = zero();
  const std::int64_t top = y * s.stride_h - s.pad_top, left = x * s.stride_w - s.pad_left;
  const std::int64_t span = (count - 1) * s.stride_w;
  const float* w = s.weights + filter * s.kernel_h * s.kernel_w * s.padded;
  for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
    const std::int64_t iy = top + ky * s.dilation_h;
    if (iy < 0 || iy >= s.in_h) continue;
    const T* row = src + iy * s.src_row;
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
      const std::int64_t ix = left + kx * s.dilation_w;
      const float* tap = w + (ky * s.kernel_w + kx) * s.padded;
      if (count == kLanes && ix >= 0 && ix + span < s.in_w) {
        add_tap(sums, row + ix * s.src_pixel, s.stride_w * s.src_pixel, tap, s.channels);
        continue;
      }
      if (ix >= s.in_w || ix + span < 0) continue;
      const T* pixels[kLanes];
      for (int m = 0; m < kLanes; ++m) {
        const std::int64_t at = ix + m * s.stride_w;
        pixels[m] = m < count && at >= 0 && at < s.in_w ? row + at * s.src_pixel : reinterpret_cast<const T*>(s.zeros);
      }
      add_scattered_tap(sums, pixels, tap, s.channels);
    }
  }
  return add_up(sums);
}

template <class Src, class Residual, class Result>
inline void few_row(const ConvFewState& s, const Src* src, const Residual* residual, Result* dst, std::int64_t y) {
  for (std::int64_t x = 0; x < s.out_w; x += kLanes) {
    const int count = s.out_w - x < kLanes ? static_cast<int>(s.out_w - x) : kLanes;
    for (std::int64_t f = 0; f < s.filters; ++f) {
      Vec v = few_sums(s, src, f, y, x, count) + broadcast(s.bias[f]);
      const std::int64_t at = y * s.out_w + x;
      if (residual != nullptr) {
        float r[kLanes] = {};
        for (int m = 0; m < count; ++m) r[m] = widen(residual[(at + m) * s.residual_pixel + f]);
        v = v + load(r);
      }
      v = activate(s.epilogue, v);
      Result* d = dst + at * s.dst_pixel + f;
      if (s.dst_pixel == 1) {
        store_first(d, count, v);
        continue;
      }
      Result values[kLanes];
      store(values, v);
      for (int m = 0; m < count; ++m) d[m * s.dst_pixel] = values[m];
    }
  }
}

template <class Src, class Residual, class Result>
inline void few_rows(const compiler::KernelArgs& args) {
  const ConvFewState& s = *static_cast<const ConvFewState*>(args.state);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands, band = task % s.bands;
    const std::int64_t y0 = s.out_h * band / s.bands, y1 = s.out_h * (band + 1) / s.bands;
    for (std::int64_t y = y0; y < y1; ++y)
      few_row(s, static_cast<const Src*>(args.src[0]) + image * s.src_image,
              s.has_residual ? static_cast<const Residual*>(args.src[3]) + image * s.residual_image : nullptr,
              static_cast<Result*>(args.dst[0]) + image * s.dst_image, y);
  }
}

template <class Src, class Residual>
inline void few_rows_from(const compiler::KernelArgs& args) {
  if (static_cast<const ConvFewState*>(args.state)->dst_bf16)
    few_rows<Src, Residual, Bf16>(args);
  else
    few_rows<Src, Residual, float>(args);
}

inline void run_conv_few(const compiler::KernelArgs& args) {
  const ConvFewState& s = *static_cast<const ConvFewState*>(args.state);
  if (s.src_bf16 && s.residual_bf16)
    few_rows_from<Bf16, Bf16>(args);
  else if (s.src_bf16)
    few_rows_from<Bf16, float>(args);
  else if (s.residual_bf16)
    few_rows_from<float, Bf16>(args);
  else
    few_rows_from<float, float>(args);
}
