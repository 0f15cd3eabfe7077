// Normalisation along the lines of a LinesView; included inside the namespace of each instruction set. The deviations are summed
// once the mean is known: a difference of large sums would lose them. Vectors run along a contiguous line, or across neighbouring
// lines (channels of a picture).

#include "cpu/kernels/lines.inl"

/// After this many additions a running sum is added to a total, so that its error stays that of a short sum.
constexpr std::int64_t kShortSum = 64;

/// The sum of f(x) over n adjacent elements.
template <class F>
[[gnu::always_inline]] inline float sum_along(const float* x, std::int64_t n, F f) {
  Vec total = zero();
  std::int64_t i = 0;
  while (i + 4 * kLanes <= n) {
    Vec part[4] = {zero(), zero(), zero(), zero()};
    for (std::int64_t room = kShortSum; room > 0 && i + 4 * kLanes <= n; --room, i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) part[k] = part[k] + f(load(x + i + k * kLanes));
    }
    total = total + ((part[0] + part[1]) + (part[2] + part[3]));
  }
  for (; i + kLanes <= n; i += kLanes) total = total + f(load(x + i));
  if (i < n) {
    const int m = static_cast<int>(n - i);
    total = total + select(first(m), f(load_first(x + i, m)), zero());
  }
  return sum(total);
}

/// Sums of f(x) over n elements, `step` apart, of m neighbouring lines.
template <class F>
[[gnu::always_inline]] inline Vec sum_across(const float* x, std::int64_t step, std::int64_t n, int m, F f) {
  Vec total = zero();
  for (std::int64_t i = 0; i < n;) {
    Vec part[2] = {zero(), zero()};
    for (std::int64_t room = kShortSum; room > 0 && i + 2 <= n; --room, i += 2, x += 2 * step) {
      part[0] = part[0] + f(load_part(x, m));
      part[1] = part[1] + f(load_part(x + step, m));
    }
    if (i + 1 == n) {
      part[0] = part[0] + f(load_part(x, m));
      ++i;
    }
    total = total + (part[0] + part[1]);
  }
  return total;
}

struct NormaliseOperands {
  const float* scale;
  const float* bias;  ///< nullptr: none
};

/// y = (x - mean) factor scale + bias over a line's elements; scale and bias are the elements' own.
inline void write_own(const float* x, std::int64_t n, float mean, float factor, NormaliseOperands own, float* y) {
  const Vec m = broadcast(mean), f = broadcast(factor);
  for_each_vector(n, [&](std::int64_t i, int lanes) {
    const Vec bias = own.bias != nullptr ? load_part(own.bias + i, lanes) : zero();
    store_part(y + i, lanes, fma((load_part(x + i, lanes) - m) * f, load_part(own.scale + i, lanes), bias));
  });
}

/// The same with one scale and bias for all.
inline void write_shared(const float* x, std::int64_t n, float mean, float factor, float scale, float bias, float* y) {
  const Vec m = broadcast(mean), f = broadcast(factor * scale), b = broadcast(bias);
  for_each_vector(n, [&](std::int64_t i, int lanes) { store_part(y + i, lanes, fma(load_part(x + i, lanes) - m, f, b)); });
}

/// Part [begin, end) of the lines at outer combination `outer`, which start at `at`. What is known about them waits in `known`:
/// `parts` sums, then `parts` sums of squares, of each of `inner` lines.
inline void normalise_part(const NormaliseParams& p, NormaliseOperands own, std::int64_t phase, std::int64_t outer,
                           std::int64_t begin, std::int64_t end, std::int64_t number, const float* src, float* dst, float* known) {
  const LinesDim& line = p.view.line[LinesView::kDims - 1];
  const std::int64_t inner = p.view.inner, n = end - begin;
  const Vec count = broadcast(static_cast<float>(p.view.line_count));
  float* const sums = known + number * inner;
  float* const squares = known + (p.parts + number) * inner;
  const auto total_of = [&](const float* from, std::int64_t c, int m) {
    Vec total = load_part(from + c, m);
    for (std::int64_t k = 1; k < p.parts; ++k) total = total + load_part(from + k * inner + c, m);
    return total;
  };
  for_each_vector(inner, [&](std::int64_t c, int m) {
    const float* x = src + begin * line.src_step + c;
    const auto same = [](Vec v) { return v; };
    if (phase == 0) {
      if (inner == 1)
        *sums = sum_along(x, n, same);
      else
        store_part(sums + c, m, sum_across(x, line.src_step, n, m, same));
      return;
    }
    const Vec mean = total_of(known, c, m) / count;
    if (phase == 1) {
      const Vec all = inner == 1 ? broadcast(first_lane(mean)) : mean;
      const auto square = [&](Vec v) { return (v - all) * (v - all); };
      if (inner == 1)
        *squares = sum_along(x, n, square);
      else
        store_part(squares + c, m, sum_across(x, line.src_step, n, m, square));
      return;
    }
    const Vec variance = total_of(known + p.parts * inner, c, m) / count;
    const Vec factor = broadcast(1.0f) / sqrt(variance + broadcast(p.epsilon));
    float* y = dst + begin * line.dst_step + c;
    if (inner == 1) {
      if (p.along) {
        write_own(x, n, first_lane(mean), first_lane(factor),
                  {own.scale + begin, own.bias != nullptr ? own.bias + begin : nullptr}, y);
      } else {
        const std::int64_t channel = outer % p.channels;
        write_shared(x, n, first_lane(mean), first_lane(factor), own.scale[channel], own.bias != nullptr ? own.bias[channel] : 0.0f, y);
      }
      return;
    }
    const Vec scale = factor * load_part(own.scale + c, m), bias = own.bias != nullptr ? load_part(own.bias + c, m) : zero();
    for (std::int64_t i = 0; i < n; ++i, x += line.src_step, y += line.dst_step)
      store_part(y, m, fma(load_part(x, m) - mean, scale, bias));
  });
}

/// Whole contiguous lines.
inline void normalise_whole(const NormaliseParams& p, NormaliseOperands own, std::int64_t outer, const float* x, float* y) {
  const std::int64_t n = p.view.line_count;
  const float count = static_cast<float>(n);
  const Vec mean = broadcast(sum_along(x, n, [](Vec v) { return v; }) / count);
  const float variance = sum_along(x, n, [&](Vec v) { return (v - mean) * (v - mean); }) / count;
  const float factor = first_lane(broadcast(1.0f) / sqrt(broadcast(variance + p.epsilon)));
  if (p.along) return write_own(x, n, first_lane(mean), factor, own, y);
  const std::int64_t channel = outer % p.channels;
  write_shared(x, n, first_lane(mean), factor, own.scale[channel], own.bias != nullptr ? own.bias[channel] : 0.0f, y);
}

inline void run_normalise(const compiler::KernelArgs& args) {
  const NormaliseParams& p = *static_cast<const NormaliseParams*>(args.state);
  const float* src = static_cast<const float*>(args.src[0]);
  float* dst = static_cast<float*>(args.dst[0]);
  const NormaliseOperands own = {static_cast<const float*>(args.src[1]),
                                 p.has_bias ? static_cast<const float*>(args.src[2]) : nullptr};
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (p.parts == 1 && p.view.inner == 1) {
      const std::int64_t end = (task + 1) * p.group < p.view.outer_count ? (task + 1) * p.group : p.view.outer_count;
      for (std::int64_t o = task * p.group; o < end; ++o) {
        const LinesAt at = outer_at(p.view, o);
        normalise_whole(p, own, o, src + at.src, dst + at.dst);
      }
      continue;
    }
    const std::int64_t outer = task / p.parts, number = task % p.parts, begin = number * p.part;
    const std::int64_t end = begin + p.part < p.view.line_count ? begin + p.part : p.view.line_count;
    const LinesAt at = outer_at(p.view, outer);
    normalise_part(p, own, args.phase, outer, begin, end, number, src + at.src, dst + at.dst,
                   static_cast<float*>(args.shared_scratch) + outer * 2 * p.parts * p.view.inner);
  }
}
