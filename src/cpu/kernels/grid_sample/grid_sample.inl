// Sampling of pictures, bilinear or at the nearest pixel; included inside the namespace of each instruction set. Positions are
// found once a pixel, in doubles as the operator says; values are summed in vectors of channels or of pixels.

#include "cpu/kernels/taps.inl"

using GridTaps = PixelTaps<kGridPixels>;

/// `x` folded back into [low, low + range], as often as needed.
[[gnu::always_inline]] inline double reflect(double x, double low, double range) {
  if (range <= 0) return low;
  const double away = x > low ? x - low : low - x, period = 2 * range;
  // The quotient may be rounded; what is left of a whole number of periods is exact.
  double folded = away - static_cast<double>(static_cast<std::int64_t>(away / period)) * period;
  if (folded < 0) folded += period;
  if (folded > range) folded = period - folded;
  return low + folded;
}

[[gnu::always_inline]] inline double clamp_to(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

/// Where `position` lies between the `size` pixels of an axis.
[[gnu::always_inline]] inline double place_on(const GridSampleParams& p, float position, std::int64_t size) {
  const double at = static_cast<double>(position), n = static_cast<double>(size);
  double x = p.align_corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
  if (!(x < 0x1p40 && x > -0x1p40)) x = -1e6;
  if (p.border == GridBorder::edge) return clamp_to(x, 0, n - 1);
  if (p.border == GridBorder::reflection)
    return p.align_corners ? reflect(x, 0, n - 1) : clamp_to(reflect(x, -0.5, n), 0, n - 1);
  return x;
}

/// The taps of `count` pixels from column `column` of a row of the grid on, as those from `first` on.
template <bool kNearest>
[[gnu::noinline]] void find_taps(const GridSampleParams& p, const float* grid, std::int64_t count, std::int64_t first,
                                 GridTaps& taps) {
  const bool clamps = p.border != GridBorder::zeros;
  // A neighbour beyond the last pixel has weight 0 unless outside is zeros, where it is not read.
  const auto inside = [](std::int64_t at, std::int64_t size) { return at >= 0 && at < size; };
  for (std::int64_t i = first; i < first + count; ++i, grid += p.grid_pixel) {
    const double x = place_on(p, grid[0], p.in_w), y = place_on(p, grid[p.grid_axis], p.in_h);
    if constexpr (kNearest) {
      taps.start(i);
      constexpr double kRound = 0x1.8p52;  // adding it leaves no bits behind the point: ties go to even
      const double column = x + kRound - kRound, row = y + kRound - kRound;
      auto c = static_cast<std::int64_t>(column), r = static_cast<std::int64_t>(row);
      if (clamps) {
        c = c < 0 ? 0 : c >= p.in_w ? p.in_w - 1 : c;
        r = r < 0 ? 0 : r >= p.in_h ? p.in_h - 1 : r;
      }
      if (inside(c, p.in_w) && inside(r, p.in_h)) taps.add(i, r * p.src_row + c * p.src_pixel, 1);
    } else {
      const std::int64_t c = floor_of(x), r = floor_of(y);
      const double right = x - static_cast<double>(c), below = y - static_cast<double>(r);
      const std::int64_t at = r * p.src_row + c * p.src_pixel;
      // Inside, and at no column or row: all four count.
      if (c >= 0 && r >= 0 && c + 1 < p.in_w && r + 1 < p.in_h && right > 0x1p-60 && below > 0x1p-60) {
        taps.set_all(i, at, p.src_row, p.src_pixel, 1 - below, below, right);
        continue;
      }
      const bool left_in = inside(c, p.in_w), right_in = inside(c + 1, p.in_w);
      taps.start(i);
      if (inside(r, p.in_h)) {
        if (left_in) taps.add_used(i, at, (1 - below) * (1 - right));
        if (right_in) taps.add_used(i, at + p.src_pixel, (1 - below) * right);
      }
      if (inside(r + 1, p.in_h)) {
        if (left_in) taps.add_used(i, at + p.src_row, below * (1 - right));
        if (right_in) taps.add_used(i, at + p.src_row + p.src_pixel, below * right);
      }
      // What was left out last may stand behind the others.
      for (int k = taps.count[i]; k < 4; ++k) taps.at[k][i] = taps.at[0][i];
    }
  }
}

/// Vectors of `count` neighbouring pixels of a row, one channel after the other.
[[gnu::noinline]] inline void sample_planes(const GridSampleParams& p, const GridTaps& taps, const float* src,
                                            std::int64_t first, std::int64_t count, float* dst) {
  for (std::int64_t c = 0; c < p.channels; ++c, src += p.src_channel, dst += p.dst_channel) {
    for (std::int64_t i = 0; i < count; i += kLanes) {
      const std::int64_t at = first + i;
      const int now = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
      Vec sum = zero();
      // Further pixels of the vector are read by the taps of others, or by none: all lie inside.
      const int taps_now = p.nearest ? 1 : 4;
#pragma GCC unroll 4
      for (int k = 0; k < taps_now; ++k) {
        const Vec w = load(taps.weight[k] + at);
        const Vec value = gather(src, load_int(taps.at[k] + at));
        sum = sum + select(equal(w, zero()), zero(), value * w);
      }
      float* to = dst + i * p.dst_pixel;
      if (p.dst_pixel == 1) {
        if (now == kLanes)
          store(to, sum);
        else
          store_first(to, now, sum);
      } else {
        float values[kLanes];
        store(values, sum);
        for (int k = 0; k < now; ++k) to[k * p.dst_pixel] = values[k];
      }
    }
  }
}

template <bool kNearest>
inline void run_grid_sample_of(const GridSampleParams& p, const compiler::KernelArgs& args) {
  // Vectors of pixels that end behind the block read its spare places.
  GridTaps taps;
  for (std::int64_t i = 0; i < kGridPixels; ++i) taps.start(i);
  const std::int64_t plane = p.out_h * p.out_w;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / p.blocks, begin = task % p.blocks * p.block;
    const std::int64_t end = begin + p.block < plane ? begin + p.block : plane;
    const float* src = static_cast<const float*>(args.src[0]) + image * p.src_image;
    const float* grid = static_cast<const float*>(args.src[1]) + image * p.grid_image;
    float* dst = static_cast<float*>(args.dst[0]) + image * p.dst_image;
    std::int64_t row = begin / p.out_w, column = begin % p.out_w;
    for (std::int64_t o = begin; o < end;) {
      std::int64_t count = p.out_w - column;
      if (count > end - o) count = end - o;
      if (count > kGridPixels) count = kGridPixels;
      find_taps<kNearest>(p, grid + row * p.grid_row + column * p.grid_pixel, count, 0, taps);
      float* to = dst + row * p.dst_row + column * p.dst_pixel;
      if (p.along_channels)
        for (std::int64_t i = 0; i < count; ++i) sample_channels(taps, i, src, p.channels, to + i * p.dst_pixel);
      else
        sample_planes(p, taps, src, 0, count, to);
      o += count;
      column += count;
      if (column == p.out_w) column = 0, ++row;
    }
  }
}

inline void run_grid_sample(const compiler::KernelArgs& args) {
  const GridSampleParams& p = *static_cast<const GridSampleParams*>(args.state);
  if (p.nearest)
    run_grid_sample_of<true>(p, args);
  else
    run_grid_sample_of<false>(p, args);
}
