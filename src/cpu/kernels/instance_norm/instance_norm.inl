// Instance normalisation along the lines of a LinesView; included inside the namespace of each instruction set. Vectors run
// along a contiguous plane, or across the channels of a pixel.

#include "cpu/kernels/epilogue.inl"
#include "cpu/kernels/lines.inl"

/// Sums of f(x) over elements [begin, end) of kCount vectors of neighbouring lines, the last one of `tail` lanes: four pixels
/// or more vectors at a time, so that additions do not wait for each other.
template <int kCount, class F>
[[gnu::always_inline]] inline void sum_across(const LinesView& view, const float* src, std::int64_t begin, std::int64_t end,
                                              int tail, Vec (&total)[kCount], F f) {
  constexpr int kPixels = 4 / kCount;
  const std::int64_t step = view.line[LinesView::kDims - 1].src_step;
  Vec part[kPixels][kCount];
#pragma GCC unroll 4
  for (int k = 0; k < kPixels; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) part[k][v] = zero();
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const float* p = src + at.src;
    std::int64_t i = 0;
    for (; i + kPixels <= n; i += kPixels, p += kPixels * step)
#pragma GCC unroll 4
      for (int k = 0; k < kPixels; ++k)
#pragma GCC unroll 4
        for (int v = 0; v < kCount; ++v)
          part[k][v] = part[k][v] + f(load_part(p + k * step + v * kLanes, v < kCount - 1 ? kLanes : tail), v);
    for (; i < n; ++i, p += step)
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v)
        part[0][v] = part[0][v] + f(load_part(p + v * kLanes, v < kCount - 1 ? kLanes : tail), v);
  });
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
    total[v] = part[0][v];
#pragma GCC unroll 4
    for (int k = 1; k < kPixels; ++k) total[v] = total[v] + part[k][v];
  }
}

/// Mean and sum of squared distances from it, of elements [begin, end) of kCount vectors of lines.
template <int kCount>
[[gnu::always_inline]] inline void moments_across(const LinesView& view, const float* src, std::int64_t begin,
                                                  std::int64_t end, int tail, float* mean, float* squares) {
  Vec m[kCount], s[kCount];
  sum_across<kCount>(view, src, begin, end, tail, m, [](Vec x, int) { return x; });
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) m[v] = m[v] / broadcast(static_cast<float>(end - begin));
  sum_across<kCount>(view, src, begin, end, tail, s, [&](Vec x, int v) { return (x - m[v]) * (x - m[v]); });
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
    store_part(mean + v * kLanes, v < kCount - 1 ? kLanes : tail, m[v]);
    store_part(squares + v * kLanes, v < kCount - 1 ? kLanes : tail, s[v]);
  }
}

/// Sum of f(x) over elements [begin, end) of one line whose elements are adjacent in runs.
template <class F>
[[gnu::always_inline]] inline float sum_along(const LinesView& view, const float* src, std::int64_t begin, std::int64_t end,
                                              F f) {
  Vec total[4] = {zero(), zero(), zero(), zero()};
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const float* p = src + at.src;
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) total[k] = total[k] + f(load(p + i + k * kLanes));
    for (; i + kLanes <= n; i += kLanes) total[0] = total[0] + f(load(p + i));
    if (i < n) {
      const int m = static_cast<int>(n - i);
      total[1] = total[1] + select(first(m), f(load_first(p + i, m)), zero());
    }
  });
  return sum((total[0] + total[1]) + (total[2] + total[3]));
}

/// Means and squares of the `inner` lines at one outer combination, over elements [begin, end).
inline void find_moments(const LinesView& view, const float* src, std::int64_t begin, std::int64_t end, float* mean,
                         float* squares) {
  if (view.inner == 1) {
    const float m = sum_along(view, src, begin, end, [](Vec x) { return x; }) / static_cast<float>(end - begin);
    *mean = m;
    *squares = sum_along(view, src, begin, end, [&](Vec x) { return (x - broadcast(m)) * (x - broadcast(m)); });
    return;
  }
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= view.inner; c += 4 * kLanes)
    moments_across<4>(view, src + c, begin, end, kLanes, mean + c, squares + c);
  for (; c + kLanes < view.inner; c += 2 * kLanes) {
    const std::int64_t left = view.inner - c - kLanes;
    moments_across<2>(view, src + c, begin, end, left < kLanes ? static_cast<int>(left) : kLanes, mean + c, squares + c);
  }
  if (c < view.inner)
    moments_across<1>(view, src + c, begin, end, static_cast<int>(view.inner - c), mean + c, squares + c);
}

/// Sum of f(k) over k in [0, n), in short sums, so that it errs as little as one of them.
template <class F>
[[gnu::always_inline]] inline Vec sum_of_parts(std::int64_t n, F f) {
  constexpr std::int64_t kShortSum = 64;
  Vec total = zero();
  for (std::int64_t k = 0; k < n;) {
    Vec part = zero();
    for (const std::int64_t end = k + kShortSum < n ? k + kShortSum : n; k < end; ++k) part = part + f(k);
    total = total + part;
  }
  return total;
}

/// Means and squares of whole lines from those of their parts: a row each of `inner`. The moments of part k stand in
/// parts + 2 * k * inner.
inline void join_parts(const InstanceNormParams& p, const float* parts, float* means, float* squares) {
  const std::int64_t inner = p.view.inner, line = p.view.line_count;
  for_each_vector(inner, [&](std::int64_t c, int m) {
    const auto pixels = [&](std::int64_t k) {
      return broadcast(static_cast<float>(k + 1 < p.parts ? p.part : line - k * p.part));
    };
    const auto mean_of = [&](std::int64_t k) { return load_part(parts + 2 * k * inner + c, m); };
    // Distances from the first part's mean are small where the mean is large.
    const Vec near = mean_of(0), count = broadcast(static_cast<float>(line));
    const Vec mean = near + sum_of_parts(p.parts, [&](std::int64_t k) { return pixels(k) * (mean_of(k) - near); }) / count;
    const Vec square = sum_of_parts(p.parts, [&](std::int64_t k) {
      const Vec apart = mean_of(k) - mean;
      return load_part(parts + (2 * k + 1) * inner + c, m) + pixels(k) * apart * apart;
    });
    store_part(means + c, m, mean);
    store_part(squares + c, m, square);
  });
}

/// Gives the channels of each group the mean and the squares of all of them, divided by their number.
inline void join_groups(const InstanceNormParams& p, float* means, float* squares) {
  const float width = static_cast<float>(p.width), line = static_cast<float>(p.view.line_count);
  for (std::int64_t g = 0; g < p.view.inner; g += p.width) {
    float mean = 0, square = 0;
    for (std::int64_t c = g; c < g + p.width; ++c) mean += means[c] - means[g];
    mean = means[g] + mean / width;
    for (std::int64_t c = g; c < g + p.width; ++c)
      square += squares[c] + line * (means[c] - mean) * (means[c] - mean);
    for (std::int64_t c = g; c < g + p.width; ++c) {
      means[c] = mean;
      squares[c] = square / width;
    }
  }
}

/// What takes x to (x - mean) * scale + bias, of the lines at outer combination `o`: a row each. The first two hold means and
/// squares before.
inline void find_rows(const InstanceNormParams& p, std::int64_t o, const float* gamma, const float* beta, float* rows) {
  const std::int64_t inner = p.view.inner, channel = inner > 1 ? 0 : o % p.channels;
  const Vec count = broadcast(static_cast<float>(p.view.line_count));
  for_each_vector(inner, [&](std::int64_t c, int m) {
    Vec mean = load_part(rows + c, m), bias = load_part(beta + channel + c, m);
    Vec scale =
        load_part(gamma + channel + c, m) / sqrt(load_part(rows + inner + c, m) / count + broadcast(p.epsilon));
    const std::int64_t passed = p.first - channel - c;
    if (passed > 0) {
      const Mask stays = first(passed < kLanes ? static_cast<int>(passed) : kLanes);
      mean = select(stays, zero(), mean);
      scale = select(stays, broadcast(1.0f), scale);
      bias = select(stays, zero(), bias);
    }
    store_part(rows + c, m, mean);
    store_part(rows + inner + c, m, scale);
    store_part(rows + 2 * inner + c, m, bias);
  });
}

/// Writes elements [begin, end) of the lines at one outer combination.
template <class F>
[[gnu::always_inline]] inline void write_lines(const LinesView& view, const float* src, std::int64_t begin, std::int64_t end,
                                               const float* rows, float* dst, F finish) {
  const std::int64_t inner = view.inner;
  const LinesDim& last = view.line[LinesView::kDims - 1];
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const float* x = src + at.src;
    float* y = dst + at.dst;
    if (inner == 1) {
      const Vec mean = broadcast(rows[0]), scale = broadcast(rows[1]), bias = broadcast(rows[2]);
      for_each_vector(n, [&](std::int64_t i, int m) {
        store_part(y + i, m, finish(fma(load_part(x + i, m) - mean, scale, bias)));
      });
      return;
    }
    for (std::int64_t i = 0; i < n; ++i, x += last.src_step, y += last.dst_step)
      for_each_vector(inner, [&](std::int64_t c, int m) {
        const Vec apart = load_part(x + c, m) - load_part(rows + c, m);
        store_part(y + c, m, finish(fma(apart, load_part(rows + inner + c, m), load_part(rows + 2 * inner + c, m))));
      });
  });
}

inline void write_part(const InstanceNormParams& p, const float* src, std::int64_t begin, std::int64_t end,
                       const float* rows, float* dst) {
  const Epilogue e = p.epilogue;
  if (is_clamp(e)) {
    const Vec low = lower_bound(e), high = upper_bound(e);
    write_lines(p.view, src, begin, end, rows, dst, [&](Vec x) { return clamp(low, high, x); });
  } else if (e.activation == Activation::leaky_relu) {
    const Vec slope = broadcast(e.alpha);
    write_lines(p.view, src, begin, end, rows, dst, [&](Vec x) { return select(less(x, zero()), x * slope, x); });
  } else {
    write_lines(p.view, src, begin, end, rows, dst, [&](Vec x) { return activate(e, x); });
  }
}

inline void run_instance_norm(const compiler::KernelArgs& args) {
  const InstanceNormParams& p = *static_cast<const InstanceNormParams*>(args.state);
  const float* src = static_cast<const float*>(args.src[0]);
  const float* gamma = static_cast<const float*>(args.src[1]);
  const float* beta = static_cast<const float*>(args.src[2]);
  float* dst = static_cast<float*>(args.dst[0]);
  const std::int64_t line = p.view.line_count, outer = p.view.outer_count, inner = p.view.inner;
  if (p.parts == 1) {
    float* rows = static_cast<float*>(args.thread_scratch);
    const std::int64_t end = args.end * p.group < outer ? args.end * p.group : outer;
    for (std::int64_t o = args.begin * p.group; o < end; ++o) {
      const LinesAt at = outer_at(p.view, o);
      find_moments(p.view, src + at.src, 0, line, rows, rows + inner);
      if (p.width > 1) join_groups(p, rows, rows + inner);
      find_rows(p, o, gamma, beta, rows);
      write_part(p, src + at.src, 0, line, rows, dst + at.dst);
    }
    return;
  }
  float* moments = static_cast<float*>(args.shared_scratch);
  float* rows = moments + 2 * outer * p.parts * inner;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (args.phase == 1) {
      float* own = rows + 3 * task * inner;
      join_parts(p, moments + 2 * task * p.parts * inner, own, own + inner);
      if (p.width > 1) join_groups(p, own, own + inner);
      find_rows(p, task, gamma, beta, own);
      continue;
    }
    const std::int64_t o = task / p.parts, begin = task % p.parts * p.part;
    const std::int64_t end = begin + p.part < line ? begin + p.part : line;
    const LinesAt at = outer_at(p.view, o);
    if (args.phase == 0)
      find_moments(p.view, src + at.src, begin, end, moments + 2 * task * inner, moments + (2 * task + 1) * inner);
    else
      write_part(p, src + at.src, begin, end, rows + 3 * o * inner, dst + at.dst);
  }
}
