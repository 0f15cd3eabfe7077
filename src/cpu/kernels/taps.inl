// Pixels read at positions that are computed: up to four weighted taps each; included inside the namespace of each
// instruction set.

/// The taps of kPixels positions: `count` of them, further ones have weight 0 and lie somewhere inside the picture.
template <int kPixels>
struct PixelTaps {
  int at[4][kPixels];
  float weight[4][kPixels];
  int count[kPixels];

  [[gnu::always_inline]] inline void start(std::int64_t i) {
    count[i] = 0;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      at[k][i] = 0;
      weight[k][i] = 0;
    }
  }
  [[gnu::always_inline]] inline void add(std::int64_t i, std::int64_t offset, double share) {
    at[count[i]][i] = static_cast<int>(offset);
    weight[count[i]++][i] = static_cast<float>(share);
  }
  /// The four around a position, in the order of rows.
  [[gnu::always_inline]] inline void set_all(std::int64_t i, std::int64_t offset, std::int64_t row, std::int64_t pixel,
                                             double above, double below, double across) {
    at[0][i] = static_cast<int>(offset);
    at[1][i] = static_cast<int>(offset + pixel);
    at[2][i] = static_cast<int>(offset + row);
    at[3][i] = static_cast<int>(offset + row + pixel);
    weight[0][i] = static_cast<float>(above * (1 - across));
    weight[1][i] = static_cast<float>(above * across);
    weight[2][i] = static_cast<float>(below * (1 - across));
    weight[3][i] = static_cast<float>(below * across);
    count[i] = 4;
  }
  /// Not where the weight is 0: an infinity beside a position leaves it alone.
  [[gnu::always_inline]] inline void add_used(std::int64_t i, std::int64_t offset, double share) {
    add(i, offset, share);
    if (static_cast<float>(share) == 0) --count[i];
  }
};

/// The largest whole number up to x, for |x| < 2^62.
[[gnu::always_inline]] inline std::int64_t floor_of(double x) {
  const auto whole = static_cast<std::int64_t>(x);
  return whole - (static_cast<double>(whole) > x ? 1 : 0);
}

/// The sums of `channels` adjacent channels over the taps of pixel i.
template <int kPixels>
[[gnu::always_inline]] inline void sample_channels(const PixelTaps<kPixels>& taps, std::int64_t i, const float* src,
                                                   std::int64_t channels, float* dst) {
  const int count = taps.count[i];
  const float *p0 = src + taps.at[0][i], *p1 = src + taps.at[1][i], *p2 = src + taps.at[2][i], *p3 = src + taps.at[3][i];
  const Vec w0 = broadcast(taps.weight[0][i]), w1 = broadcast(taps.weight[1][i]), w2 = broadcast(taps.weight[2][i]),
            w3 = broadcast(taps.weight[3][i]);
  const auto walk = [&](auto sum) __attribute__((always_inline)) {
    std::int64_t c = 0;
#pragma GCC unroll 1
    for (; c + kLanes <= channels; c += kLanes)
      store(dst + c, sum([&](const float* p) __attribute__((always_inline)) { return load(p + c); }));
    if (c < channels) {
      const int tail = static_cast<int>(channels - c);
      store_first(dst + c, tail, sum([&](const float* p) __attribute__((always_inline)) { return load_first(p + c, tail); }));
    }
  };
  switch (count) {
    case 4:
      walk([&](auto get) __attribute__((always_inline)) {
        return fma(get(p3), w3, fma(get(p2), w2, fma(get(p1), w1, get(p0) * w0)));
      });
      break;
    case 3:
      walk([&](auto get) __attribute__((always_inline)) { return fma(get(p2), w2, fma(get(p1), w1, get(p0) * w0)); });
      break;
    case 2:
      walk([&](auto get) __attribute__((always_inline)) { return fma(get(p1), w1, get(p0) * w0); });
      break;
    case 1:
      walk([&](auto get) __attribute__((always_inline)) { return get(p0) * w0; });
      break;
    default:
      walk([&](auto) __attribute__((always_inline)) { return zero(); });
      break;
  }
}
