// The register tile of every convolution that multiplies pixels by packed filters. Plain: kernel units
// include this, so its functions are always inlined and leave no symbol.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/activation.h"

namespace saccade::cpu {

/// Most filters of a tile, in vectors, and most pixels beside that many vectors: pixels x vectors sums, the
/// filters and one pixel value fit the register file (32 registers where vectors have 16 lanes, else 16).
[[gnu::always_inline]] constexpr int tile_vectors(int lanes) { return lanes == 16 ? 4 : 3; }
[[gnu::always_inline]] constexpr int tile_pixels(int lanes, int vectors) {
  if (lanes == 16) return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6;
  return vectors == 1 ? 12 : vectors == 2 ? 6 : 4;
}
/// Most pixels of any tile, or lanes of any vector.
inline constexpr std::int64_t kTilePixels = 16;

/// Into how many near-equal register blocks `vectors` vectors of filters are cut.
[[gnu::always_inline]] constexpr std::int64_t filter_blocks(std::int64_t vectors, int lanes) {
  const std::int64_t most = lanes == 16 ? 4 : vectors % 2 == 0 ? 2 : 3;
  return (vectors + most - 1) / most;
}

/// Whether the last of several vectors of filters is worth being packed twice, once in each half: where there
/// are registers enough, a product with it then does for two pixels.
[[gnu::always_inline]] constexpr bool holds_twice(int lanes, std::int64_t filters) {
  return lanes == 16 && filters > lanes && (filters - 1) % lanes < lanes / 2;
}

/// Products that follow each other in memory: `length` channels from `x` on (pixel 0 of the tile), filters
/// from `w` on.
struct Run {
  const float* x;
  const float* w;
  std::int64_t length;
};
/// The same for pixels at unrelated places.
struct ScatteredRun {
  const float* const* x;  ///< one pointer a pixel
  const float* w;
  std::int64_t length;
};

/// Products are added up in register sums of this many, and those to each other: the rounding error of one
/// long sum grows with its length.
inline constexpr std::int64_t kSumLength = 128;
/// Where the sums of `length` products whose filters start at `w` are to be cut: there, or nowhere.
[[gnu::always_inline]] constexpr const float* cut_sums(const float* w, std::int64_t length) {
  return length > kSumLength ? w : nullptr;
}

/// Where the sums of a tile start and end.
struct Output {
  const float* bias;      ///< of the tile's filters, padded to whole vectors
  const float* residual;  ///< pixel 0, or nullptr
  std::int64_t residual_pixel;
  float* dst;  ///< pixel 0
  std::int64_t dst_pixel;
  const Epilogue* epilogue;
  const float* cuts;   ///< see cut_sums
  int tail;            ///< filters in the last vector
  bool resume;         ///< sums so far are in dst
  bool partial;        ///< more to come: store plain sums
  bool twice = false;  ///< filters and bias of the last vector lie in both of its halves, see holds_twice
};

/// Bytes of scratch for the runs of `taps` taps: a Run, a ScatteredRun and a pointer a pixel each.
[[gnu::always_inline]] constexpr std::size_t tile_scratch(std::int64_t taps) {
  return static_cast<std::size_t>(taps) *
         (sizeof(Run) + sizeof(ScatteredRun) + static_cast<std::size_t>(kTilePixels) * sizeof(float*));
}

/// Scratch in which sums wait where they do not leave as floats (stored_tile.inl): some tiles.
inline constexpr std::int64_t kStoredSumBytes = 12 * 1024;

/// `total` pixels cut into the fewest tiles of at most `most`, near-equal, larger ones first.
struct Cut {
  std::int64_t tiles, size, larger;  ///< the first `larger` tiles have size + 1 pixels
};
[[gnu::always_inline]] constexpr Cut cut_pixels(std::int64_t total, std::int64_t most) {
  const std::int64_t tiles = (total + most - 1) / most;
  return {tiles, total / tiles, total % tiles};
}

[[gnu::always_inline]] constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

// run_tile computes any tile: 1 <= vectors <= tile_vectors, 1 <= pixels <= tile_pixels. The first form does
// `repeat` of them, one behind the other, with pixels at the distance `pixel`.

namespace portable {
void run_tile(int vectors, int pixels, const Run* runs, int count, std::int64_t pixel, std::int64_t repeat,
              const Output& out) noexcept;
void run_tile(int vectors, int pixels, const ScatteredRun* runs, int count, const Output& out) noexcept;
}  // namespace portable
namespace avx2 {
void run_tile(int vectors, int pixels, const Run* runs, int count, std::int64_t pixel, std::int64_t repeat,
              const Output& out) noexcept;
void run_tile(int vectors, int pixels, const ScatteredRun* runs, int count, const Output& out) noexcept;
}  // namespace avx2
namespace avx512 {
void run_tile(int vectors, int pixels, const Run* runs, int count, std::int64_t pixel, std::int64_t repeat,
              const Output& out) noexcept;
void run_tile(int vectors, int pixels, const ScatteredRun* runs, int count, const Output& out) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void run_tile(int vectors, int pixels, const Run* runs, int count, std::int64_t pixel, std::int64_t repeat,
              const Output& out) noexcept;
void run_tile(int vectors, int pixels, const ScatteredRun* runs, int count, const Output& out) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
