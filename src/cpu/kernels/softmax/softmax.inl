// Softmax and arg max along the lines of a LinesView; included inside the namespace of each instruction set. Vectors run along a
// contiguous line, or across neighbouring lines.

#include "cpu/kernels/lines.inl"

/// Lanes behind the run hold `filler`.
[[gnu::always_inline]] inline Vec load_filled(const float* p, int n, Vec filler) {
  return n == kLanes ? load(p) : select(first(n), load_first(p, n), filler);
}

/// max(x, so_far) that keeps a NaN, so that a line with one becomes NaN.
[[gnu::always_inline]] inline Vec sticky_max(Vec so_far, Vec x) { return select(is_nan(x), x, max(x, so_far)); }

/// y = f(x) along a line of at least one vector, in whole vectors: the last one, which overlaps its neighbour, is read before
/// anything is written, so that src may be dst. f(x, lanes) says in which lanes x is new: the last `lanes` ones.
template <class F>
[[gnu::always_inline]] inline void map_line(const float* src, std::int64_t n, float* dst, F f) {
  const int rest = static_cast<int>(n % kLanes);
  const Vec last = f(load(src + n - kLanes), rest);
  for (std::int64_t i = 0; i + kLanes <= n; i += kLanes) store(dst + i, f(load(src + i), kLanes));
  if (rest != 0) store(dst + n - kLanes, last);
}

/// One contiguous line.
inline void softmax_along(const float* src, std::int64_t n, bool logarithm, float* dst) {
  const Vec lowest = broadcast(-__builtin_inff());
  Vec most = lowest;
  if (n < kLanes)
    most = load_filled(src, static_cast<int>(n), lowest);
  else
    cover_vectors(n, [&](std::int64_t i, int) { most = sticky_max(most, load(src + i)); });
  const Vec largest = broadcast(any(is_nan(most)) ? __builtin_nanf("") : max_lane(most));
  if (logarithm) {
    Vec total = zero();
    for_each_vector(n, [&](std::int64_t i, int m) { total = total + exp(load_filled(src + i, m, lowest) - largest); });
    const Vec offset = largest + log(broadcast(sum(total)));
    if (n < kLanes) return store_first(dst, static_cast<int>(n), load_first(src, static_cast<int>(n)) - offset);
    return map_line(src, n, dst, [&](Vec x, int) { return x - offset; });
  }
  if (n < kLanes) {
    const Vec e = exp(load_filled(src, static_cast<int>(n), lowest) - largest);
    return store_first(dst, static_cast<int>(n), e * (broadcast(1.0f) / broadcast(sum(e))));
  }
  Vec total = zero();
  map_line(src, n, dst, [&](Vec x, int lanes) {
    const Vec e = exp(x - largest);
    total = total + (lanes == kLanes ? e : select(first(kLanes - lanes), zero(), e));
    return e;
  });
  const Vec scale = broadcast(1.0f) / broadcast(sum(total));
  map_line(dst, n, dst, [&](Vec e, int) { return e * scale; });
}

/// Lines of n < kLanes elements that follow each other without a gap, kLanes of them at a time: element k of every line makes
/// one vector.
inline void softmax_narrow(const SoftmaxParams& p, const float* src, std::int64_t lines, float* dst) {
  const int n = static_cast<int>(p.view.line_count);
  for (std::int64_t at = 0; at < lines; at += kLanes) {
    const int m = lines - at < kLanes ? static_cast<int>(lines - at) : kLanes;
    alignas(64) float packed[kLanes * kLanes], unpacked[kLanes * kLanes];
    if (m < kLanes)
      for (int i = 0; i < n * kLanes; ++i) packed[i] = 0;
    for_each_vector(m * n, [&](std::int64_t i, int part) { store(packed + i, load_part(src + at * n + i, part)); });
    Vec x[kLanes];
    Vec largest = broadcast(-__builtin_inff());
    for (int k = 0; k < n; ++k) {
      x[k] = gather(packed + k, load_int(p.line_starts));
      largest = sticky_max(largest, x[k]);
    }
    Vec total = zero();
    for (int k = 0; k < n; ++k) {
      const Vec e = exp(x[k] - largest);
      total = total + e;
      if (!p.logarithm) x[k] = e;
    }
    const Vec scale = broadcast(1.0f) / total, offset = p.logarithm ? largest + log(total) : zero();
    for (int k = 0; k < n; ++k) store(unpacked + k * kLanes, p.logarithm ? x[k] - offset : x[k] * scale);
    for_each_vector(m * n, [&](std::int64_t i, int part) {
      store_part(dst + at * n + i, part, gather(unpacked, load_int(p.unpacked_places + i)));
    });
  }
}

/// m neighbouring lines of n elements.
inline void softmax_across(const float* src, std::int64_t src_step, std::int64_t n, int m, bool logarithm, float* dst,
                           std::int64_t dst_step) {
  Vec largest = broadcast(-__builtin_inff());
  for (std::int64_t i = 0; i < n; ++i) largest = sticky_max(largest, load_part(src + i * src_step, m));
  Vec total = zero();
  if (logarithm) {
    for (std::int64_t i = 0; i < n; ++i) total = total + exp(load_part(src + i * src_step, m) - largest);
    const Vec offset = largest + log(total);
    for (std::int64_t i = 0; i < n; ++i) store_part(dst + i * dst_step, m, load_part(src + i * src_step, m) - offset);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec e = exp(load_part(src + i * src_step, m) - largest);
    total = total + e;
    store_part(dst + i * dst_step, m, e);
  }
  const Vec scale = broadcast(1.0f) / total;
  for (std::int64_t i = 0; i < n; ++i) store_part(dst + i * dst_step, m, load_part(dst + i * dst_step, m) * scale);
}

template <class Body>
[[gnu::always_inline]] inline void for_each_outer(const compiler::KernelArgs& args, const SoftmaxParams& p, Body body) {
  const std::int64_t outer = p.view.outer_count;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t end = (task + 1) * p.group < outer ? (task + 1) * p.group : outer;
    for (std::int64_t o = task * p.group; o < end; ++o) body(outer_at(p.view, o));
  }
}

inline void run_softmax(const compiler::KernelArgs& args) {
  const SoftmaxParams& p = *static_cast<const SoftmaxParams*>(args.state);
  const float* src = static_cast<const float*>(args.src[0]);
  float* dst = static_cast<float*>(args.dst[0]);
  const LinesDim& line = p.view.line[LinesView::kDims - 1];
  if (p.packed_lines) {
    const std::int64_t lines = p.view.outer_count, n = p.view.line_count;
    for (std::int64_t task = args.begin; task < args.end; ++task) {
      const std::int64_t begin = task * p.group, end = begin + p.group < lines ? begin + p.group : lines;
      softmax_narrow(p, src + begin * n, end - begin, dst + begin * n);
    }
    return;
  }
  for_each_outer(args, p, [&](LinesAt at) {
    if (p.view.inner == 1) {
      softmax_along(src + at.src, line.size, p.logarithm, dst + at.dst);
      return;
    }
    for_each_vector(p.view.inner, [&](std::int64_t c, int m) {
      softmax_across(src + at.src + c, line.src_step, line.size, m, p.logarithm, dst + at.dst + c, line.dst_step);
    });
  });
}

/// The best elements so far, a lane each, with their indices as floats (exact below 2^24).
struct Leaders {
  Vec value, index;
};

/// A candidate replaces the leader where it is better, or as good and wanted as the last of equals.
[[gnu::always_inline]] inline void challenge(Leaders& leaders, Vec x, Vec index, bool smallest, bool last_index) {
  const Vec a = smallest ? x : leaders.value, b = smallest ? leaders.value : x;  // the candidate wins where a < b
  const Mask wins = last_index ? less_equal(a, b) : less(a, b);
  leaders.value = select(wins, x, leaders.value);
  leaders.index = select(wins, index, leaders.index);
}

/// Index of the best element of one contiguous line.
inline std::int64_t best_along(const SoftmaxParams& p, const float* src, std::int64_t n) {
  alignas(64) float lane_numbers[kLanes];
  for (int i = 0; i < kLanes; ++i) lane_numbers[i] = static_cast<float>(i);
  const Vec lanes = load(lane_numbers);
  const Vec worst = broadcast(p.smallest ? __builtin_inff() : -__builtin_inff());
  Leaders leaders = {worst, lanes};
  for_each_vector(n, [&](std::int64_t i, int m) {
    if (m == kLanes) {
      challenge(leaders, load(src + i), broadcast(static_cast<float>(i)) + lanes, p.smallest, p.last_index);
    } else {
      const Leaders before = leaders;
      challenge(leaders, load_first(src + i, m), broadcast(static_cast<float>(i)) + lanes, p.smallest, p.last_index);
      leaders.value = select(first(m), leaders.value, before.value);
      leaders.index = select(first(m), leaders.index, before.index);
    }
  });
  const float best = p.smallest ? min_lane(leaders.value) : max_lane(leaders.value);
  const Mask equal_best = equal(leaders.value, broadcast(best));
  const Vec beyond = broadcast(p.last_index ? -1.0f : 16777216.0f);
  const Vec candidates = select(equal_best, leaders.index, beyond);
  const float index = p.last_index ? max_lane(candidates) : min_lane(candidates);
  // A line that is worst or NaN throughout may name a lane behind its end.
  return index >= 0 && index < static_cast<float>(n) ? static_cast<std::int64_t>(index) : 0;
}

/// Indices as floats to int64.
[[gnu::always_inline]] inline void store_indices(std::int64_t* dst, int m, Vec index) {
  alignas(64) float values[kLanes];
  store(values, index);
  for (int k = 0; k < m; ++k) dst[k] = static_cast<std::int64_t>(values[k]);
}

/// As softmax_narrow.
inline void best_narrow(const SoftmaxParams& p, const float* src, std::int64_t lines, std::int64_t* dst) {
  const int n = static_cast<int>(p.view.line_count);
  for (std::int64_t at = 0; at < lines; at += kLanes) {
    const int m = lines - at < kLanes ? static_cast<int>(lines - at) : kLanes;
    const float* x = src + at * n;
    alignas(64) float copied[kLanes * kLanes];
    if (m < kLanes) {  // a whole group would be read beyond the end
      for (int i = 0; i < n * kLanes; ++i) copied[i] = i < m * n ? x[i] : 0;
      x = copied;
    }
    const Int starts = load_int(p.line_starts);
    Leaders leaders = {gather(x, starts), zero()};
    for (int k = 1; k < n; ++k)
      challenge(leaders, gather(x + k, starts), broadcast(static_cast<float>(k)), p.smallest, p.last_index);
    store_indices(dst + at, m, leaders.index);
  }
}

inline void run_arg_max(const compiler::KernelArgs& args) {
  const SoftmaxParams& p = *static_cast<const SoftmaxParams*>(args.state);
  const float* src = static_cast<const float*>(args.src[0]);
  std::int64_t* dst = static_cast<std::int64_t*>(args.dst[0]);
  const LinesDim& line = p.view.line[LinesView::kDims - 1];
  if (p.packed_lines) {
    const std::int64_t lines = p.view.outer_count, n = p.view.line_count;
    for (std::int64_t task = args.begin; task < args.end; ++task) {
      const std::int64_t begin = task * p.group, end = begin + p.group < lines ? begin + p.group : lines;
      best_narrow(p, src + begin * n, end - begin, dst + begin);
    }
    return;
  }
  for_each_outer(args, p, [&](LinesAt at) {
    if (p.view.inner == 1) {
      dst[at.dst] = best_along(p, src + at.src, line.size);
      return;
    }
    for_each_vector(p.view.inner, [&](std::int64_t c, int m) {
      const float* x = src + at.src + c;
      Leaders leaders = {load_part(x, m), zero()};
      for (std::int64_t i = 1; i < line.size; ++i)
        challenge(leaders, load_part(x + i * line.src_step, m), broadcast(static_cast<float>(i)), p.smallest, p.last_index);
      store_indices(dst + at.dst + c, m, leaders.index);
    });
  });
}
