// Tiles between operands of either storage type; included inside the namespace of each instruction set, after tile.h. Products
// and sums are those of floats: bfloat16 inputs are widened into scratch first (widen_row), and where residual or result are
// bfloat16, sums wait in scratch for the epilogue.

#include "cpu/kernels/epilogue.inl"

inline constexpr std::int64_t kStoredSums = kStoredSumBytes / static_cast<std::int64_t>(sizeof(float));

/// `count` numbers of either type as floats.
inline void widen_row(const Bf16* src, float* dst, std::int64_t count) {
  std::int64_t i = 0;
#pragma GCC unroll 1
  for (; i + kLanes <= count; i += kLanes) store(dst + i, load(src + i));
  if (i < count) store_first(dst + i, static_cast<int>(count - i), load_first(src + i, static_cast<int>(count - i)));
}

/// `pixels` pixels of `channels` channels, packed densely.
inline void widen_pixels(const Bf16* src, std::int64_t src_pixel, float* dst, std::int64_t pixels, std::int64_t channels) {
  if (src_pixel == channels) {
    widen_row(src, dst, pixels * channels);
    return;
  }
#pragma GCC unroll 1
  for (std::int64_t p = 0; p < pixels; ++p) widen_row(src + p * src_pixel, dst + p * channels, channels);
}

/// Where a convolution reads its residual and stores its result.
struct Ends {
  const void* residual;  ///< or nullptr
  void* dst;
  bool residual_bf16, dst_bf16;
  float* sums;  ///< kStoredSumBytes of scratch where either is bfloat16, else nullptr

  [[gnu::always_inline]] Ends at_image(std::int64_t dst_at, std::int64_t residual_at) const {
    Ends ends = *this;
    ends.dst = static_cast<char*>(dst) + dst_at * (dst_bf16 ? 2 : 4);
    if (residual != nullptr) ends.residual = static_cast<const char*>(residual) + residual_at * (residual_bf16 ? 2 : 4);
    return ends;
  }
};

/// The epilogue of `pixels` x `vectors` sums: residual and result lie at these offsets.
template <class Residual, class Result>
inline void finish_stored(const Residual* residual, Result* dst, const Output& out, int pixels, int vectors, const float* sums) {
  const std::int64_t step = static_cast<std::int64_t>(vectors) * kLanes;
#pragma GCC unroll 1
  for (int m = 0; m < pixels; ++m)
#pragma GCC unroll 1
    for (int n = 0; n < vectors; ++n) {
      const int count = n == vectors - 1 ? out.tail : kLanes;
      Vec v = load(sums + m * step + n * kLanes);
      if (residual != nullptr) {
        const Residual* r = residual + m * out.residual_pixel + n * kLanes;
        v = v + (count == kLanes ? load(r) : load_first(r, count));
      }
      v = activate(*out.epilogue, v);
      Result* d = dst + m * out.dst_pixel + n * kLanes;
      if (count == kLanes)
        store(d, v);
      else
        store_first(d, count, v);
    }
}

[[gnu::noinline]] inline void finish_stored(const Ends& ends, std::int64_t dst_at, std::int64_t residual_at, const Output& out,
                                            int pixels, int vectors) {
  const auto finish = [&](auto* dst) __attribute__((always_inline)) {
    if (ends.residual != nullptr && ends.residual_bf16)
      finish_stored(static_cast<const Bf16*>(ends.residual) + residual_at, dst + dst_at, out, pixels, vectors, ends.sums);
    else
      finish_stored(ends.residual == nullptr ? nullptr : static_cast<const float*>(ends.residual) + residual_at, dst + dst_at,
                    out, pixels, vectors, ends.sums);
  };
  if (ends.dst_bf16)
    finish(static_cast<Bf16*>(ends.dst));
  else
    finish(static_cast<float*>(ends.dst));
}

[[gnu::always_inline]] inline Output sums_only(const Output& out, const Ends& ends, int vectors) {
  Output sums = out;
  sums.residual = nullptr;
  sums.dst = ends.sums;
  sums.dst_pixel = static_cast<std::int64_t>(vectors) * kLanes;
  sums.tail = kLanes;
  sums.twice = false;
  sums.resume = false;
  sums.partial = true;
  return sums;
}

[[gnu::always_inline]] inline void place_floats(const Ends& ends, std::int64_t dst_at, std::int64_t residual_at, Output& out) {
  out.dst = static_cast<float*>(ends.dst) + dst_at;
  out.residual = ends.residual == nullptr ? nullptr : static_cast<const float*>(ends.residual) + residual_at;
}

/// As run_tile; `out` says everything but where residual and result are. Moves the runs on.
inline void run_stored_tile(const Ends& ends, std::int64_t dst_at, std::int64_t residual_at, int vectors, int pixels, Run* runs,
                            int count, std::int64_t pixel, std::int64_t repeat, Output& out) {
  if (ends.sums == nullptr) {
    place_floats(ends, dst_at, residual_at, out);
    run_tile(vectors, pixels, runs, count, pixel, repeat, out);
    return;
  }
  const Output sums = sums_only(out, ends, vectors);
  const std::int64_t most = kStoredSums / (static_cast<std::int64_t>(pixels) * vectors * kLanes);
  while (repeat > 0) {
    const std::int64_t now = smaller(repeat, most), done = now * pixels;
    run_tile(vectors, pixels, runs, count, pixel, now, sums);
    finish_stored(ends, dst_at, residual_at, out, static_cast<int>(done), vectors);
    for (int i = 0; i < count; ++i) runs[i].x += done * pixel;
    dst_at += done * out.dst_pixel;
    residual_at += done * out.residual_pixel;
    repeat -= now;
  }
}
inline void run_stored_tile(const Ends& ends, std::int64_t dst_at, std::int64_t residual_at, int vectors, int pixels,
                            const ScatteredRun* runs, int count, Output& out) {
  if (ends.sums == nullptr) {
    place_floats(ends, dst_at, residual_at, out);
    run_tile(vectors, pixels, runs, count, out);
    return;
  }
  run_tile(vectors, pixels, runs, count, sums_only(out, ends, vectors));
  finish_stored(ends, dst_at, residual_at, out, pixels, vectors);
}
