// Products of tiles: up to 32 pixels times up to 32 filters, over runs of steps of 64 bytes of pixel data; included inside the
// namespace of each instruction set that has them, after amx.h. `Multiply` chooses the instruction.

struct MultiplyBf16 {
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void run(Tiles& tiles) {
    tiles.template add_bf16<kSum, kA, kB>();
  }
};
struct MultiplyBytes {
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void run(Tiles& tiles) {
    tiles.template add_bytes<kSum, kA, kB>();
  }
};

/// Bytes of the sums of one block: 32 pixels x 32 filters.
inline constexpr std::int64_t kTileSumBytes = 4096;

/// kPixels x kFilters tiles (1 or 2 each) from `runs`, stored as rows of kFilters x 16 sums. A run has steps that follow each
/// other in memory: from `x` on 64 bytes of each pixel, from `w` on the filters' 1 KB a vector. `meanwhile` is called once a
/// step, to be done while the tiles multiply.
template <class Multiply, int kPixels, int kFilters, class Run, class Meanwhile>
inline void multiply_tiles_of(Tiles& tiles, const Run* runs, std::int64_t count, std::int64_t steps, long pixel, char* sums,
                              Meanwhile meanwhile) {
  tiles.template zero<0>();
  if constexpr (kFilters == 2) tiles.template zero<1>();
  if constexpr (kPixels == 2) tiles.template zero<2>();
  if constexpr (kPixels == 2 && kFilters == 2) tiles.template zero<3>();
  for (std::int64_t i = 0; i < count; ++i) {
    const char *x = runs[i].x, *w = runs[i].w;
#pragma GCC unroll 1
    for (std::int64_t step = 0; step < steps; ++step, x += 64, w += kFilters * 1024) {
      tiles.template load<6>(w, 64);
      tiles.template load<4>(x, pixel);
      Multiply::template run<0, 4, 6>(tiles);
      if constexpr (kFilters == 2) {
        tiles.template load<7>(w + 1024, 64);
        Multiply::template run<1, 4, 7>(tiles);
      }
      if constexpr (kPixels == 2) {
        tiles.template load<5>(x + 16 * pixel, pixel);
        Multiply::template run<2, 5, 6>(tiles);
        if constexpr (kFilters == 2) Multiply::template run<3, 5, 7>(tiles);
      }
      meanwhile();
    }
  }
  constexpr long kRow = kFilters * 64;
  tiles.template store<0>(sums, kRow);
  if constexpr (kFilters == 2) tiles.template store<1>(sums + 64, kRow);
  if constexpr (kPixels == 2) tiles.template store<2>(sums + 16 * kRow, kRow);
  if constexpr (kPixels == 2 && kFilters == 2) tiles.template store<3>(sums + 16 * kRow + 64, kRow);
}

template <class Multiply, class Run, class Meanwhile>
inline void multiply_tiles_of(Tiles& tiles, int pixels, int vectors, const Run* runs, std::int64_t count, std::int64_t steps,
                              long pixel, char* sums, Meanwhile meanwhile) {
  if (pixels > 16 && vectors == 2)
    multiply_tiles_of<Multiply, 2, 2>(tiles, runs, count, steps, pixel, sums, meanwhile);
  else if (pixels > 16)
    multiply_tiles_of<Multiply, 2, 1>(tiles, runs, count, steps, pixel, sums, meanwhile);
  else if (vectors == 2)
    multiply_tiles_of<Multiply, 1, 2>(tiles, runs, count, steps, pixel, sums, meanwhile);
  else
    multiply_tiles_of<Multiply, 1, 1>(tiles, runs, count, steps, pixel, sums, meanwhile);
}
