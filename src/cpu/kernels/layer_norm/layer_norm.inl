// Layer normalisation along the contiguous lines of a LinesView; included inside the namespace of each instruction set. The
// deviations are summed once the mean is known: a difference of large sums would lose them.

#include "cpu/kernels/lines.inl"

/// After this many additions a running sum is added to a total, so that its error stays that of a short sum.
constexpr std::int64_t kShortSum = 64;

/// The sum of f(x) over n adjacent elements.
template <class T, class F>
[[gnu::always_inline]] inline float sum_along(const T* x, std::int64_t n, F f) {
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

struct LayerNormOperands {
  const float* scale;
  const float* bias;  ///< nullptr: none
};

/// y = (x - mean) factor scale + bias over a line's elements; scale and bias are the elements' own.
template <class Source, class Result>
inline void write_own(const Source* x, std::int64_t n, float mean, float factor, LayerNormOperands own, Result* y) {
  const Vec m = broadcast(mean), f = broadcast(factor);
  for_each_vector(n, [&](std::int64_t i, int lanes) {
    const Vec bias = own.bias != nullptr ? load_part(own.bias + i, lanes) : zero();
    store_part(y + i, lanes, fma((load_part(x + i, lanes) - m) * f, load_part(own.scale + i, lanes), bias));
  });
}

/// Part [begin, end) of a line. What is known about the line waits in `known`: `parts` sums, then as many sums of squares.
template <class Source, class Result>
inline void layer_norm_part(const LayerNormParams& p, LayerNormOperands own, std::int64_t phase, std::int64_t begin,
                            std::int64_t end, std::int64_t number, const Source* src, Result* dst, float* known) {
  const Source* x = src + begin;
  const std::int64_t n = end - begin;
  const float count = static_cast<float>(p.view.line_count);
  const auto total_of = [&](const float* from) {
    float total = from[0];
    for (std::int64_t k = 1; k < p.parts; ++k) total = total + from[k];
    return total;
  };
  if (phase == 0) {
    known[number] = sum_along(x, n, [](Vec v) { return v; });
    return;
  }
  const float mean = total_of(known) / count;
  if (phase == 1) {
    const Vec all = broadcast(mean);
    known[p.parts + number] = sum_along(x, n, [&](Vec v) { return (v - all) * (v - all); });
    return;
  }
  const float variance = total_of(known + p.parts) / count;
  const float factor = first_lane(broadcast(1.0f) / sqrt(broadcast(variance + p.epsilon)));
  write_own(x, n, mean, factor, {own.scale + begin, own.bias != nullptr ? own.bias + begin : nullptr}, dst + begin);
}

/// Whole contiguous lines.
template <class Source, class Result>
inline void layer_norm_whole(const LayerNormParams& p, LayerNormOperands own, const Source* x, Result* y) {
  const std::int64_t n = p.view.line_count;
  const float count = static_cast<float>(n);
  const Vec mean = broadcast(sum_along(x, n, [](Vec v) { return v; }) / count);
  const float variance = sum_along(x, n, [&](Vec v) { return (v - mean) * (v - mean); }) / count;
  const float factor = first_lane(broadcast(1.0f) / sqrt(broadcast(variance + p.epsilon)));
  write_own(x, n, first_lane(mean), factor, own, y);
}

template <class Source, class Result>
inline void run_layer_norm(const compiler::KernelArgs& args) {
  const LayerNormParams& p = *static_cast<const LayerNormParams*>(args.state);
  const Source* src = static_cast<const Source*>(args.src[0]);
  Result* dst = static_cast<Result*>(args.dst[0]);
  const LayerNormOperands own = {static_cast<const float*>(args.src[1]),
                                 p.has_bias ? static_cast<const float*>(args.src[2]) : nullptr};
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (p.parts == 1) {
      const std::int64_t end = (task + 1) * p.group < p.view.outer_count ? (task + 1) * p.group : p.view.outer_count;
      for (std::int64_t o = task * p.group; o < end; ++o) {
        const LinesAt at = outer_at(p.view, o);
        layer_norm_whole(p, own, src + at.src, dst + at.dst);
      }
      continue;
    }
    const std::int64_t outer = task / p.parts, number = task % p.parts, begin = number * p.part;
    const std::int64_t end = begin + p.part < p.view.line_count ? begin + p.part : p.view.line_count;
    const LinesAt at = outer_at(p.view, outer);
    layer_norm_part(p, own, args.phase, begin, end, number, src + at.src, dst + at.dst,
                    static_cast<float*>(args.shared_scratch) + outer * 2 * p.parts);
  }
}

inline void run_layer_norm(const compiler::KernelArgs& args) {
  const LayerNormParams& p = *static_cast<const LayerNormParams*>(args.state);
  if (p.src_bf16 && p.dst_bf16) return run_layer_norm<Bf16, Bf16>(args);
  if (p.src_bf16) return run_layer_norm<Bf16, float>(args);
  if (p.dst_bf16) return run_layer_norm<float, Bf16>(args);
  run_layer_norm<float, float>(args);
}
