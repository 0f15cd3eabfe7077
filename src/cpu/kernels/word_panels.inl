// Panels of words of two bfloat16, and rows of such words times them; included inside the namespace of each instruction set that
// multiplies them. A panel is [word][column]: word w of a column is its elements 2w and 2w + 1 along the sum.

#include "cpu/kernels/vectors.inl"

constexpr int kPanelVectors = 2, kPairPanel = kPanelVectors * kLanes;
constexpr std::int64_t kPairPanelBytes = kPairPanel * 4;

[[gnu::always_inline]] inline Bf16 narrowed(Bf16 x) { return x; }
[[gnu::always_inline]] inline Bf16 narrowed(float x) { return to_bf16(x); }

/// A matrix to be packed: element k of column j is from[k * step + j * column].
template <class T>
struct PairSource {
  const T* from;
  std::int64_t step, column;
  std::int64_t depth, columns;  ///< how many there are; the rest of a panel is zeros
};

/// Columns whose elements are adjacent, an even number of them.
inline void pack_adjacent_depth(const PairSource<Bf16>& b, std::int64_t first_column, std::int64_t columns, char* to) {
  const Bf16* from = b.from + first_column * b.column;
  const std::int64_t words = b.depth / 2;
  for (int half = 0; half < kPanelVectors; ++half)
    for (std::int64_t w = 0; w < words; w += kLanes) {
      const int count = static_cast<int>(words - w < kLanes ? words - w : kLanes);
      Vec rows[kLanes];
#pragma GCC unroll 16
      for (int j = 0; j < kLanes; ++j) {
        const std::int64_t at = half * kLanes + j;
        rows[j] = at < columns ? load_part(reinterpret_cast<const float*>(from + at * b.column + 2 * w), count) : zero();
      }
      transpose(rows);
      float* out = reinterpret_cast<float*>(to + w * kPairPanelBytes) + half * kLanes;
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        if (i < count) store(out + i * kPairPanel, rows[i]);
    }
}

/// Panel number `panel`.
template <class T>
inline void pack_pair_panel(const PairSource<T>& b, std::int64_t panel, char* to) {
  const std::int64_t first_column = panel * kPairPanel, left = b.columns - first_column;
  const std::int64_t columns = left < kPairPanel ? left : kPairPanel;
  if constexpr (sizeof(T) == sizeof(Bf16))
    if (b.step == 1 && b.depth % 2 == 0) return pack_adjacent_depth(b, first_column, columns, to);
  const T* from = b.from + first_column * b.column;
  const T zeros[kPairPanel] = {};
  for (std::int64_t k = 0; k < b.depth; k += 2, from += 2 * b.step, to += kPairPanelBytes) {
    const bool last = k + 1 == b.depth;
    const T* upper = last ? zeros : from + b.step;
    auto* halves = reinterpret_cast<Bf16*>(to);
    if (b.column == 1 && columns == kPairPanel) {
      for (int c = 0; c < kPairPanel; ++c) halves[2 * c] = narrowed(from[c]), halves[2 * c + 1] = narrowed(upper[c]);
      continue;
    }
    for (std::int64_t c = 0; c < kPairPanel; ++c) {
      halves[2 * c] = c < columns ? narrowed(from[c * b.column]) : Bf16{0};
      halves[2 * c + 1] = c < columns ? narrowed(upper[last ? 0 : c * b.column]) : Bf16{0};
    }
  }
}

/// `words` words of M rows, `pitch` bytes apart, times a panel.
template <int M>
[[gnu::always_inline]] inline void multiply_panel(Vec (&sum)[M][kPanelVectors], const char* a, std::int64_t pitch, const char* b,
                                                  std::int64_t words) {
  constexpr int kGroups = (M + 2) / 3;
  const char* q[kGroups];  // one pointer for three rows: +0, +pitch, +2 pitch are address modes
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    q[g] = a + 3 * g * pitch;
    asm("" : "+r"(q[g]));
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < kPanelVectors; ++j) sum[i][j] = zero();
  const char* const end = b + words * kPairPanelBytes;
#pragma GCC unroll 1
  for (; b != end; b += kPairPanelBytes) {
    Int row[kPanelVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kPanelVectors; ++j) row[j] = load_words(b + j * kLanes * 4);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const Int x = broadcast_word(q[i / 3] + i % 3 * pitch);
#pragma GCC unroll 2
      for (int j = 0; j < kPanelVectors; ++j) sum[i][j] = add_bf16_pairs(sum[i][j], x, row[j]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) q[g] += 4;
  }
}

[[gnu::always_inline]] inline void store_two(Bf16* to, Vec a, Vec b) { store_pair(to, a, b); }
[[gnu::always_inline]] inline void store_two(float* to, Vec a, Vec b) {
  store(to, a);
  store(to + kLanes, b);
}
/// Up to kPairPanel columns of a row.
template <class T>
[[gnu::always_inline]] inline void store_pair_row(T* to, std::int64_t columns, Vec a, Vec b) {
  if (columns >= kPairPanel) return store_two(to, a, b);
  store_part(to, columns < kLanes ? static_cast<int>(columns) : kLanes, a);
  if (columns > kLanes) store_part(to + kLanes, static_cast<int>(columns - kLanes), b);
}

/// Rows as whole words, one behind the other: `depth` elements, `step` apart, of each.
template <class T>
inline void copy_words(const T* from, std::int64_t row_step, std::int64_t step, std::int64_t rows, std::int64_t depth, Bf16* to) {
  const std::int64_t whole = (depth + 1) / 2 * 2;
  for (std::int64_t i = 0; i < rows; ++i, from += row_step, to += whole) {
    if (step == 1)
      for_each_vector(depth, [&](std::int64_t d, int m) { store_part(to + d, m, load_part(from + d, m)); });
    else
      for (std::int64_t d = 0; d < depth; ++d) to[d] = narrowed(from[d * step]);
    if (whole > depth) to[depth] = Bf16{0};
  }
}
