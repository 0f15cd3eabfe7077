// Resizing planes whose columns are adjacent: vectors run along the rows. Included inside the namespace of each
// instruction set, behind resize.inl.
//
// A row of the input is stretched to the output's width once and kept for all output rows that read it; an output row is
// the weighted sum of such rows. Neighbouring outputs read neighbouring inputs: where a vector of them reads less than a
// vector's length, it is one load and one permutation a tap.

/// A row stretched: `dst` has out_w floats.
template <bool kNear>
inline void stretch_row(const PlanarParams& p, const float* src, float* dst) {
  const int in = p.in_w < kLanes ? static_cast<int>(p.in_w) : kLanes, out = p.out_w < kLanes ? static_cast<int>(p.out_w) : kLanes;
  const std::int64_t taps = p.taps;
  const std::int32_t *at = p.at, *index = p.index;
  const float* weight = p.weight;
  for (std::int64_t g = 0; g < p.groups; ++g, at += taps) {
    Vec sum = zero();
    for (std::int64_t k = 0; k < taps; ++k, index += kLanes, weight += kLanes) {
      const Int i = load_int(index);
      const Vec x = kNear ? permute(load_part(src + at[k], in), i) : gather(src, i);
      sum = k == 0 ? load(weight) * x : fma(load(weight), x, sum);
    }
    const std::int64_t o = g + 1 < p.groups || p.out_w < kLanes ? g * kLanes : p.out_w - kLanes;
    store_part(dst + o, out, sum);
  }
}

/// The most usual case: two taps close together, rows of at least a vector.
inline void stretch_row_linear(const PlanarParams& p, const float* src, float* dst) {
  const std::int32_t *at = p.at, *index = p.index;
  const float* weight = p.weight;
  for (std::int64_t g = 0; g < p.groups; ++g, at += 2, index += 2 * kLanes, weight += 2 * kLanes) {
    const Vec a = permute(load(src + at[0]), load_int(index));
    const Vec b = permute(load(src + at[1]), load_int(index + kLanes));
    const std::int64_t o = g + 1 < p.groups ? g * kLanes : p.out_w - kLanes;
    store(dst + o, fma(load(weight + kLanes), b, load(weight) * a));
  }
}

inline void stretch(const PlanarParams& p, const float* src, float* dst) {
  if (!p.near)
    stretch_row<false>(p, src, dst);
  else if (p.taps == 2 && p.in_w >= kLanes && p.out_w >= kLanes)
    stretch_row_linear(p, src, dst);
  else
    stretch_row<true>(p, src, dst);
}

/// The stretched form of input row `row`, made if it is not there.
inline const float* stretched(const PlanarParams& p, const float* src, std::int64_t row, std::int64_t* kept, float* rows) {
  const std::int64_t slot = row % p.slots;
  float* const at = rows + slot * p.row_step;
  if (kept[slot] != row) {
    stretch(p, src + row * p.src_row, at);
    kept[slot] = row;
  }
  return at;
}

/// dst = body(i, m) for vectors that cover n floats; past the caches where `far`, which saves reading what is overwritten.
template <class Body>
[[gnu::always_inline]] inline void cover_row(float* dst, std::int64_t n, bool far, Body body) {
  if (!far || n < 2 * kLanes) {
    cover_vectors(n, [&](std::int64_t i, int m) { store_part(dst + i, m, body(i, m)); });
    return;
  }
  constexpr std::uintptr_t kVector = kLanes * sizeof(float);
  const auto lead = static_cast<std::int64_t>((kVector - reinterpret_cast<std::uintptr_t>(dst) % kVector) % kVector / sizeof(float));
  if (lead > 0) store(dst, body(std::int64_t{0}, kLanes));
  std::int64_t i = lead;
  for (; i + kLanes <= n; i += kLanes) stream(dst + i, body(i, kLanes));
  if (i < n) store(dst + n - kLanes, body(n - kLanes, kLanes));
}

inline void run_planar(const compiler::KernelArgs& args) {
  const PlanarParams& p = *static_cast<const PlanarParams*>(args.state);
  std::int64_t* const kept = static_cast<std::int64_t*>(args.thread_scratch);
  float* const rows = reinterpret_cast<float*>(kept + p.slots);
  const std::int64_t taps = p.vertical.taps;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t plane = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const std::int64_t image = plane / p.channels, channel = plane % p.channels;
    const float* const src = static_cast<const float*>(args.src[0]) + image * p.src_image + channel * p.src_channel;
    float* const dst = static_cast<float*>(args.dst[0]) + image * p.dst_image + channel * p.dst_channel;
    for (std::int64_t s = 0; s < p.slots; ++s) kept[s] = -1;
    for (std::int64_t y = y0; y < y1; ++y) {
      const std::int32_t* index = p.vertical.index + y * taps;
      const float* weight = p.vertical.weight + y * taps;
      float* const out = dst + y * p.dst_row;
      if (taps == 1 && weight[0] == 1) {
        stretch(p, src + index[0] * p.src_row, out);
      } else if (taps == 2) {
        const float *a = stretched(p, src, index[0], kept, rows), *b = stretched(p, src, index[1], kept, rows);
        const Vec wa = broadcast(weight[0]), wb = broadcast(weight[1]);
        cover_row(out, p.out_w, p.far, [&](std::int64_t i, int m) { return fma(wb, load_part(b + i, m), wa * load_part(a + i, m)); });
      } else {
        for (std::int64_t k = 0; k < taps; ++k) stretched(p, src, index[k], kept, rows);
        cover_row(out, p.out_w, p.far, [&](std::int64_t i, int m) {
          Vec sum = broadcast(weight[0]) * load_part(rows + index[0] % p.slots * p.row_step + i, m);
          for (std::int64_t k = 1; k < taps; ++k)
            sum = fma(broadcast(weight[k]), load_part(rows + index[k] % p.slots * p.row_step + i, m), sum);
          return sum;
        });
      }
    }
  }
  if (p.far) stream_fence();
}

/// A row stretched as the left and the right neighbours of each column, which are not added up yet.
inline void stretch_corners(const PlanarParams& p, const float* src, float* dst) {
  const int in = p.in_w < kLanes ? static_cast<int>(p.in_w) : kLanes, out = p.out_w < kLanes ? static_cast<int>(p.out_w) : kLanes;
  const std::int32_t *at = p.at, *index = p.index;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int64_t o = g + 1 < p.groups || p.out_w < kLanes ? g * kLanes : p.out_w - kLanes;
    for (std::int64_t k = 0; k < 2; ++k, ++at, index += kLanes) {
      const Int i = load_int(index);
      store_part(dst + k * p.row_step + o, out, p.near ? permute(load_part(src + *at, in), i) : gather(src, i));
    }
  }
}

/// Bilinear with the four products of an output summed in a fixed order, every product and sum rounded.
inline void run_planar_corners(const compiler::KernelArgs& args) {
  const PlanarParams& p = *static_cast<const PlanarParams*>(args.state);
  std::int64_t* const kept = static_cast<std::int64_t*>(args.thread_scratch);
  float* const rows = reinterpret_cast<float*>(kept + p.slots);
  const float *left = p.corners, *right = p.corners + p.row_step;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t plane = task / p.bands, y0 = task % p.bands * p.band;
    const std::int64_t y1 = y0 + p.band < p.out_h ? y0 + p.band : p.out_h;
    const std::int64_t image = plane / p.channels, channel = plane % p.channels;
    const float* const src = static_cast<const float*>(args.src[0]) + image * p.src_image + channel * p.src_channel;
    float* const dst = static_cast<float*>(args.dst[0]) + image * p.dst_image + channel * p.dst_channel;
    for (std::int64_t s = 0; s < p.slots; ++s) kept[s] = -1;
    for (std::int64_t y = y0; y < y1; ++y) {
      const float* row[2];
      for (int k = 0; k < 2; ++k) {
        const std::int64_t from = p.vertical.index[2 * y + k], slot = from % p.slots;
        float* const at = rows + slot * 2 * p.row_step;
        if (kept[slot] != from) stretch_corners(p, src + from * p.src_row, at);
        kept[slot] = from;
        row[k] = at;
      }
      const Vec upper = broadcast(p.vertical.weight[2 * y]), lower = broadcast(p.vertical.weight[2 * y + 1]);
      cover_row(dst + y * p.dst_row, p.out_w, p.far, [&](std::int64_t i, int m) {
        const Vec a = load_part(left + i, m), b = load_part(right + i, m);
        const Vec first = a * upper * load_part(row[0] + i, m) + b * upper * load_part(row[0] + p.row_step + i, m);
        return first + a * lower * load_part(row[1] + i, m) + b * lower * load_part(row[1] + p.row_step + i, m);
      });
    }
  }
  if (p.far) stream_fence();
}
