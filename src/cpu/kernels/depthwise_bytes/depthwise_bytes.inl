// Depthwise convolution of bytes; included inside the namespace of each instruction set. A strip of the input is staged as
// integers of 16 bits, padding and all. The values of two taps are interleaved, so that one instruction multiplies both and
// adds them up: the sums of a group of channels are in two vectors.

#include "cpu/kernels/stage_bytes.inl"

/// M neighbouring outputs of one group of channels.
template <int M>
[[gnu::always_inline]] inline void depthwise_outputs(const DepthwiseBytesState& s, const char* x, std::int64_t pixel,
                                                     std::int64_t group, unsigned char* dst, std::int64_t channels) {
  constexpr std::int64_t kVector = kLanes * 4;
  const Sums start_low = load_sums(s.start + group * 2 * kLanes), start_high = load_sums(s.start + group * 2 * kLanes + kLanes);
  Sums low[M], high[M];
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m) low[m] = start_low, high[m] = start_high;
  const char* w = s.weights + group * s.pairs * 2 * kVector;
#pragma GCC unroll 1
  for (std::int64_t p = 0; p < s.pairs; ++p, w += 2 * kVector) {
    const Int w_low = load_words(w), w_high = load_words(w + kVector);
    const char* first = x + s.taps[2 * p];
    const char* second = x + s.taps[2 * p + 1];
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) {
      const Int a = load_words(first + m * pixel), b = load_words(second + m * pixel);
      low[m] = add_pairs(low[m], interleave_low(a, b), w_low);
      high[m] = add_pairs(high[m], interleave_high(a, b), w_high);
    }
  }
  const Vec least = broadcast(s.low), most = broadcast(s.high);
  const Int zero = broadcast_int(s.zero);
  const float* ratio = s.ratio + group * 2 * kLanes;
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m) {
    const Int l = to_int(min(most, max(least, to_float(low[m]) * load(ratio)))) + zero;
    const Int h = to_int(min(most, max(least, to_float(high[m]) * load(ratio + kLanes)))) + zero;
    if (channels == 2 * kLanes) {
      store_bytes(dst + m * s.dst_pixel, l, h);
    } else {
      unsigned char bytes[2 * kLanes];
      store_bytes(bytes, l, h);
      for (std::int64_t i = 0; i < channels; ++i) dst[m * s.dst_pixel + i] = bytes[i];
    }
  }
}

inline void depthwise_strip(const DepthwiseBytesState& s, const char* staged, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                            std::int64_t x1, unsigned char* image) {
  constexpr std::int64_t kPixels = 4, kSize = sizeof(Shorts::Element);
  const std::int64_t pixel = s.stage.stride_w * s.stage.pitch * kSize;
  for (std::int64_t y = y0; y < y1; ++y) {
    const char* row = staged + (y - y0) * s.stage.slot_y * s.stage.slot_bytes;
    for (std::int64_t g = 0; g < s.groups; ++g) {
      const std::int64_t c = g * 2 * kLanes, left = s.stage.channels - c;
      const std::int64_t channels = left < 2 * kLanes ? left : 2 * kLanes;
      const char* src = row + c * kSize;
      unsigned char* dst = image + (y * s.out_w + x0) * s.dst_pixel + c;
      std::int64_t x = 0;
      for (; x + kPixels <= x1 - x0; x += kPixels)
        depthwise_outputs<kPixels>(s, src + x * pixel, pixel, g, dst + x * s.dst_pixel, channels);
      for (; x < x1 - x0; ++x) depthwise_outputs<1>(s, src + x * pixel, pixel, g, dst + x * s.dst_pixel, channels);
    }
  }
}

inline void run_depthwise_bytes(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const DepthwiseBytesState*>(args.state);
  char* staged = static_cast<char*>(args.thread_scratch);
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands, band = task % s.bands;
    const auto* src = static_cast<const unsigned char*>(args.src[0]) + image * s.src_image;
    auto* dst = static_cast<unsigned char*>(args.dst[0]) + image * s.dst_image;
    const std::int64_t last_row = s.out_h * (band + 1) / s.bands;
    std::int64_t y1 = 0;
    for (std::int64_t y0 = s.out_h * band / s.bands; y0 < last_row; y0 = y1) {
      y1 = y0 + s.strip_rows < last_row ? y0 + s.strip_rows : last_row;
      std::int64_t x1 = 0;
      for (std::int64_t x0 = 0; x0 < s.out_w; x0 = x1) {
        x1 = x0 + s.strip_columns < s.out_w ? x0 + s.strip_columns : s.out_w;
        stage_strip<Shorts>(s.stage, src, y0, y1, x0, x1, staged);
        depthwise_strip(s, staged, y0, y1, x0, x1, dst);
      }
    }
  }
}
