// Reductions along the lines of a LinesView; included inside the namespace of each instruction set. Three shapes of work: vectors
// across neighbouring lines (channels of a picture), vectors along one line (contiguous rows), and lines so narrow that
// several elements of each fit a vector (pictures of a few channels). T is what the source is stored as, float, Bf16 or bytes.

// Bytes as floats.
[[gnu::always_inline]] inline Vec load(const unsigned char* p) { return to_float(load_byte_lanes(p)); }
[[gnu::always_inline]] inline Vec load(const signed char* p) {
  const Int flipped = load_byte_lanes(reinterpret_cast<const unsigned char*>(p)) ^ broadcast_int(128);
  return to_float(flipped + broadcast_int(-128));
}
template <class T>
[[gnu::always_inline]] inline Vec load_first_bytes(const T* p, int n) {
  T bytes[kLanes] = {};
  for (int i = 0; i < n; ++i) bytes[i] = p[i];
  return load(bytes);
}
[[gnu::always_inline]] inline Vec load_first(const unsigned char* p, int n) { return load_first_bytes(p, n); }
[[gnu::always_inline]] inline Vec load_first(const signed char* p, int n) { return load_first_bytes(p, n); }
template <class T>
[[gnu::always_inline]] inline float one_float(T x) {
  if constexpr (sizeof(T) == 1)
    return static_cast<float>(x);
  else
    return widen(x);
}

#include "cpu/kernels/lines.inl"

/// After this many additions a running sum is added to a total, so that its error stays that of a short sum.
constexpr std::int64_t kShortSum = 64;

/// What becomes of an element before it is added, and of a result.
struct PlainFold {
  static constexpr bool kFinishes = false;
  static Vec of(Vec x) { return x; }
  static float of_one(float x) { return x; }
  static Vec finish(Vec result) { return result; }
};
struct SumFold : PlainFold {
  static constexpr float kStart = 0;
  static Vec add(Vec so_far, Vec x) { return so_far + x; }
  static float join(float a, float b) { return a + b; }
  static float lanes(Vec a) { return sum(a); }
};
/// NaN is sticky.
struct MaxFold : PlainFold {
  static constexpr float kStart = -__builtin_inff();
  static Vec add(Vec so_far, Vec x) { return select(is_nan(x), x, max(x, so_far)); }
  static float join(float a, float b) { return b > a || b != b ? (a != a ? a : b) : a; }
  static float lanes(Vec a) { return any(is_nan(a)) ? __builtin_nanf("") : max_lane(a); }
};
struct MinFold : PlainFold {
  static constexpr float kStart = __builtin_inff();
  static Vec add(Vec so_far, Vec x) { return select(is_nan(x), x, min(x, so_far)); }
  static float join(float a, float b) { return b < a || b != b ? (a != a ? a : b) : a; }
  static float lanes(Vec a) { return any(is_nan(a)) ? __builtin_nanf("") : min_lane(a); }
};

struct MagnitudesFold : SumFold {
  static Vec of(Vec x) { return abs(x); }
  static float of_one(float x) { return __builtin_fabsf(x); }
};
struct SquaresFold : SumFold {
  static Vec of(Vec x) { return x * x; }
  static float of_one(float x) { return x * x; }
};
struct LengthFold : SquaresFold {
  static constexpr bool kFinishes = true;
  static Vec finish(Vec result) { return sqrt(result); }
};
struct LogSumFold : SumFold {
  static constexpr bool kFinishes = true;
  static Vec finish(Vec result) { return log(result); }
};
struct ProductFold : PlainFold {
  static constexpr float kStart = 1;
  static Vec add(Vec so_far, Vec x) { return so_far * x; }
  static float join(float a, float b) { return a * b; }
  static float lanes(Vec a) {
    float values[kLanes];
    store(values, a);
    float product = values[0];
    for (int i = 1; i < kLanes; ++i) product *= values[i];
    return product;
  }
};

/// Result of kCount vectors of neighbouring lines, elements [begin, end). The last vector starts at line `last` and has
/// `tail` lanes. Additions wait for each other: where vectors are few, elements take turns at several sums.
template <class Fold, int kCount, class T>
[[gnu::always_inline]] inline void reduce_across(const LinesView& view, const T* src, std::int64_t begin, std::int64_t end,
                                                 std::int64_t last, int tail, float scale, float* dst) {
  constexpr int kTurns = kCount == 1 ? 4 : kCount < 4 ? 2 : 1;
  const std::int64_t step = view.line[LinesView::kDims - 1].src_step;
  Vec total[kCount], part[kTurns][kCount];
  std::int64_t room = kShortSum;
  const auto start = [&](Vec(&sums)[kCount]) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) sums[v] = broadcast(Fold::kStart);
  };
  const auto add = [&](Vec(&sums)[kCount], const T* p) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount - 1; ++v) sums[v] = Fold::add(sums[v], Fold::of(load(p + v * kLanes)));
    sums[kCount - 1] = Fold::add(sums[kCount - 1], Fold::of(load_part(p + last, tail)));
  };
  const auto collect = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int k = 0; k < kTurns; ++k) {
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) total[v] = Fold::add(total[v], part[k][v]);
      start(part[k]);
    }
    room = kShortSum;
  };
  start(total);
#pragma GCC unroll 4
  for (int k = 0; k < kTurns; ++k) start(part[k]);
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const T* p = src + at.src;
    std::int64_t i = 0;
    for (; i + kTurns <= n; i += kTurns) {
#pragma GCC unroll 4
      for (int k = 0; k < kTurns; ++k, p += step) add(part[k], p);
      if (--room == 0) collect();
    }
    for (; i < n; ++i, p += step) {
      add(part[0], p);
      if (--room == 0) collect();
    }
  });
  collect();
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
    const Vec result = total[v] * broadcast(scale);
    if (v < kCount - 1)
      store(dst + v * kLanes, result);
    else
      store_part(dst + last, tail, result);
  }
}

/// The same for many neighbouring lines: eight elements of each at a time, added to sums that wait in dst. Memory is read in
/// long runs; narrow types are asked for eight elements ahead, as less of them arrives in the time of the sums.
template <class Fold, class T>
inline void reduce_wide(const LinesView& view, const T* src, std::int64_t begin, std::int64_t end, float scale, float* dst) {
  const std::int64_t step = view.line[LinesView::kDims - 1].src_step, inner = view.inner;
  for_each_vector(inner, [&](std::int64_t c, int m) { store_part(dst + c, m, broadcast(Fold::kStart)); });
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const T* p = src + at.src;
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8, p += 8 * step) {
      for_each_vector(inner, [&](std::int64_t c, int m) {
        const T* q = p + c;
        if constexpr (sizeof(T) < sizeof(float))
          for (std::int64_t k = 8; k < 16; ++k) prefetch(q + k * step);
        const auto at_row = [&](std::int64_t k) __attribute__((always_inline)) { return Fold::of(load_part(q + k * step, m)); };
        const Vec ab = Fold::add(at_row(0), at_row(1));
        const Vec cd = Fold::add(at_row(2), at_row(3));
        const Vec ef = Fold::add(at_row(4), at_row(5));
        const Vec gh = Fold::add(at_row(6), at_row(7));
        store_part(dst + c, m, Fold::add(load_part(dst + c, m), Fold::add(Fold::add(ab, cd), Fold::add(ef, gh))));
      });
    }
    for (; i < n; ++i, p += step)
      for_each_vector(inner, [&](std::int64_t c, int m) {
        store_part(dst + c, m, Fold::add(load_part(dst + c, m), Fold::of(load_part(p + c, m))));
      });
  });
  if (scale == 1) return;
  for_each_vector(inner, [&](std::int64_t c, int m) { store_part(dst + c, m, load_part(dst + c, m) * broadcast(scale)); });
}

/// Result of one line whose elements are adjacent in runs.
template <class Fold, class T>
inline float reduce_along(const LinesView& view, const T* src, std::int64_t begin, std::int64_t end) {
  Vec total = broadcast(Fold::kStart);
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const T* p = src + at.src;
    Vec part[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) part[k] = broadcast(Fold::kStart);
    std::int64_t i = 0, room = kShortSum;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) part[k] = Fold::add(part[k], Fold::of(load(p + i + k * kLanes)));
      if (--room > 0) continue;
      room = kShortSum;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        total = Fold::add(total, part[k]);
        part[k] = broadcast(Fold::kStart);
      }
    }
    for (; i + kLanes <= n; i += kLanes) part[0] = Fold::add(part[0], Fold::of(load(p + i)));
    if (i < n) {
      const int m = static_cast<int>(n - i);
      part[1] = Fold::add(part[1], select(first(m), Fold::of(load_first(p + i, m)), broadcast(Fold::kStart)));
    }
    total = Fold::add(total, Fold::add(Fold::add(part[0], part[1]), Fold::add(part[2], part[3])));
  });
  return Fold::lanes(total);
}

/// Lines of `inner` elements side by side, packed: `inner` vectors hold kLanes elements of each line.
template <class Fold, class T>
inline void reduce_narrow(const LinesView& view, const T* src, std::int64_t begin, std::int64_t end, float scale, float* dst) {
  const int inner = static_cast<int>(view.inner);
  float result[kLanes];
  for (int c = 0; c < inner; ++c) result[c] = Fold::kStart;
  for_each_run(view, begin, end, [&](LinesAt at, std::int64_t n) {
    const T* p = src + at.src;
    std::int64_t i = 0;
    while (i + kLanes <= n) {
      Vec part[kLanes];
      for (int v = 0; v < inner; ++v) part[v] = broadcast(Fold::kStart);
      for (std::int64_t room = kShortSum; room > 0 && i + kLanes <= n; --room, i += kLanes, p += inner * kLanes)
        for (int v = 0; v < inner; ++v) part[v] = Fold::add(part[v], Fold::of(load(p + v * kLanes)));
      float values[kLanes * kLanes];
      for (int v = 0; v < inner; ++v) store(values + v * kLanes, part[v]);
      for (int c = 0; c < inner; ++c) {
        float lanes = values[c];
        for (int k = 1; k < kLanes; ++k) lanes = Fold::join(lanes, values[k * inner + c]);
        result[c] = Fold::join(result[c], lanes);
      }
    }
    for (; i < n; ++i, p += inner)
      for (int c = 0; c < inner; ++c) result[c] = Fold::join(result[c], Fold::of_one(one_float(p[c])));
  });
  for (int c = 0; c < inner; ++c) dst[c] = result[c] * scale;
}

/// Elements [begin, end) of all lines at one outer combination.
template <class Fold, class T>
inline void reduce_part(const LinesView& view, const T* src, std::int64_t begin, std::int64_t end, float scale, float* dst) {
  const LinesDim& last = view.line[LinesView::kDims - 1];
  if (view.inner == 1 && last.src_step == 1) {
    *dst = reduce_along<Fold>(view, src, begin, end) * scale;
    return;
  }
  if (view.inner < kLanes && last.src_step == view.inner) {
    reduce_narrow<Fold>(view, src, begin, end, scale, dst);
    return;
  }
  if (view.inner < kLanes) return reduce_across<Fold, 1>(view, src, begin, end, 0, static_cast<int>(view.inner), scale, dst);
  if (view.inner > 4 * kLanes) return reduce_wide<Fold>(view, src, begin, end, scale, dst);
  const std::int64_t end_vector = view.inner - kLanes;  // overlaps its neighbour where the rest is no whole vector
  switch ((view.inner + kLanes - 1) / kLanes) {
    case 1: reduce_across<Fold, 1>(view, src, begin, end, end_vector, kLanes, scale, dst); break;
    case 2: reduce_across<Fold, 2>(view, src, begin, end, end_vector, kLanes, scale, dst); break;
    case 3: reduce_across<Fold, 3>(view, src, begin, end, end_vector, kLanes, scale, dst); break;
    default: reduce_across<Fold, 4>(view, src, begin, end, end_vector, kLanes, scale, dst); break;
  }
}

template <class Fold>
inline void finish_results(float* dst, std::int64_t inner) {
  if constexpr (!Fold::kFinishes) return;
  if (inner == 1)
    *dst = first_lane(Fold::finish(broadcast(*dst)));
  else
    for_each_vector(inner, [&](std::int64_t c, int m) { store_part(dst + c, m, Fold::finish(load_part(dst + c, m))); });
}

/// What was written last, from its end to its beginning: the end may still be in the first-level cache.
template <class Fold, class T>
inline void reduce_piece(const ReduceParams& p, const T* src, float* parts, std::int64_t task) {
  const std::int64_t o = task / p.follows;
  const ReducePiece& piece = p.piece[task % p.follows];
  LinesView view = p.view;
  view.inner = piece.lines;
  src += outer_at(view, o).src + piece.line;
  float* const part = parts + (o * p.parts + piece.part) * p.view.inner + piece.line;
  LinesDim& line = view.line[LinesView::kDims - 1];
  if (line.size < view.line_count || view.inner < kLanes)
    return reduce_part<Fold, T>(view, src, piece.first, piece.end, 1.0f, part);
  src += (piece.end - 1) * line.src_step;
  line.src_step = -line.src_step;
  reduce_part<Fold, T>(view, src, 0, piece.end - piece.first, 1.0f, part);
}

template <class Fold, class T>
inline void reduce_with(const compiler::KernelArgs& args) {
  const ReduceParams& p = *static_cast<const ReduceParams*>(args.state);
  const T* src = static_cast<const T*>(args.src[0]);
  float* dst = static_cast<float*>(args.dst[0]);
  float* scratch = static_cast<float*>(args.shared_scratch);
  const std::int64_t line = p.view.line_count, outer = p.view.outer_count, inner = p.view.inner;
  const float scale = p.kind == Reduction::mean ? 1.0f / static_cast<float>(line) : 1.0f;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (p.follows > 0 && args.phase == 0) {
      reduce_piece<Fold, T>(p, src, scratch, task);
      continue;
    }
    if (p.parts > 1 && args.phase == 0) {
      const std::int64_t begin = task % p.parts * p.part, end = begin + p.part < line ? begin + p.part : line;
      reduce_part<Fold, T>(p.view, src + outer_at(p.view, task / p.parts).src, begin, end, 1.0f, scratch + task * inner);
      continue;
    }
    const bool joins = p.parts > 1 || p.follows > 0;
    const std::int64_t group = joins ? p.joined : p.group;
    const std::int64_t o1 = (task + 1) * group < outer ? (task + 1) * group : outer;
    for (std::int64_t o = task * group; o < o1; ++o) {
      const LinesAt at = outer_at(p.view, o);
      if (!joins) {
        reduce_part<Fold, T>(p.view, src + at.src, 0, line, scale, dst + at.dst);
        finish_results<Fold>(dst + at.dst, inner);
        continue;
      }
      const float* parts = scratch + o * p.parts * inner;
      for (std::int64_t c = 0; c < inner; c += kLanes) {
        const int m = inner - c < kLanes ? static_cast<int>(inner - c) : kLanes;
        Vec total = load_part(parts + c, m);
        for (std::int64_t k = 1; k < p.parts; ++k) total = Fold::add(total, load_part(parts + k * inner + c, m));
        store_part(dst + at.dst + c, m, Fold::finish(scale == 1 ? total : total * broadcast(scale)));
      }
    }
  }
}

/// ln of the sum of e^x, of lines beside each other: their largest elements are taken out first.
inline void log_sum_exp_across(const LinesView& view, const float* src, std::int64_t count, float* dst) {
  const std::int64_t step = view.line[LinesView::kDims - 1].src_step;
  for_each_vector(count, [&](std::int64_t c, int m) {
    Vec largest = broadcast(MaxFold::kStart);
    for_each_run(view, 0, view.line_count, [&](LinesAt at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i)
        largest = MaxFold::add(largest, load_part(src + at.src + i * step + c, m));
    });
    const Vec shift = select(less(abs(largest), broadcast(__builtin_inff())), largest, zero());
    Vec total = zero(), part = zero();
    std::int64_t room = kShortSum;
    for_each_run(view, 0, view.line_count, [&](LinesAt at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        part = part + exp(load_part(src + at.src + i * step + c, m) - shift);
        if (--room > 0) continue;
        room = kShortSum;
        total = total + part;
        part = zero();
      }
    });
    store_part(dst + c, m, select(is_nan(largest), largest, shift + log(total + part)));
  });
}

/// The same of one line whose elements are adjacent in runs.
inline float log_sum_exp_along(const LinesView& view, const float* src) {
  const float largest = reduce_along<MaxFold>(view, src, 0, view.line_count);
  if (largest != largest) return largest;
  const float shift = __builtin_fabsf(largest) < __builtin_inff() ? largest : 0.0f;
  const Vec low = broadcast(shift);
  Vec total = zero();
  for_each_run(view, 0, view.line_count, [&](LinesAt at, std::int64_t n) {
    const float* p = src + at.src;
    Vec part[2] = {zero(), zero()};
    std::int64_t i = 0, room = kShortSum;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      part[0] = part[0] + exp(load(p + i) - low);
      part[1] = part[1] + exp(load(p + i + kLanes) - low);
      if (--room > 0) continue;
      room = kShortSum;
      total = total + (part[0] + part[1]);
      part[0] = part[1] = zero();
    }
    for (; i < n; i += kLanes) {
      const int m = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
      part[0] = part[0] + select(first(m), exp(load_part(p + i, m) - low), zero());
    }
    total = total + (part[0] + part[1]);
  });
  return shift + first_lane(log(broadcast(sum(total))));
}

inline void run_log_sum_exp(const compiler::KernelArgs& args) {
  const ReduceParams& p = *static_cast<const ReduceParams*>(args.state);
  const std::int64_t all = p.view.outer_count * p.pieces;
  const std::int64_t last = args.end * p.group < all ? args.end * p.group : all;
  for (std::int64_t unit = args.begin * p.group; unit < last; ++unit) {
    const LinesAt at = outer_at(p.view, unit / p.pieces);
    const std::int64_t first_line = unit % p.pieces * p.columns, left = p.view.inner - first_line;
    const float* src = static_cast<const float*>(args.src[0]) + at.src + first_line;
    float* dst = static_cast<float*>(args.dst[0]) + at.dst + first_line;
    if (p.view.inner == 1 && p.view.line[LinesView::kDims - 1].src_step == 1)
      *dst = log_sum_exp_along(p.view, src);
    else
      log_sum_exp_across(p.view, src, left < p.columns ? left : p.columns, dst);
  }
}

template <class T>
inline void run_reduce(const compiler::KernelArgs& args) {
  switch (static_cast<const ReduceParams*>(args.state)->kind) {
    case Reduction::sum:
    case Reduction::mean: reduce_with<SumFold, T>(args); break;
    case Reduction::max: reduce_with<MaxFold, T>(args); break;
    case Reduction::min: reduce_with<MinFold, T>(args); break;
    default: break;
  }
  if constexpr (__is_same(T, float)) switch (static_cast<const ReduceParams*>(args.state)->kind) {
    case Reduction::magnitudes: reduce_with<MagnitudesFold, T>(args); break;
    case Reduction::squares: reduce_with<SquaresFold, T>(args); break;
    case Reduction::length: reduce_with<LengthFold, T>(args); break;
    case Reduction::product: reduce_with<ProductFold, T>(args); break;
    case Reduction::log_sum: reduce_with<LogSumFold, T>(args); break;
    case Reduction::log_sum_exp: run_log_sum_exp(args); break;
    default: break;
  }
}

inline void run_mean_bytes(const compiler::KernelArgs& args) {
  if (static_cast<const ReduceParams*>(args.state)->signed_bytes)
    reduce_with<SumFold, signed char>(args);
  else
    reduce_with<SumFold, unsigned char>(args);
}
