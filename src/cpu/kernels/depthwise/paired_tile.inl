// The register tiles of depthwise convolution by products of bfloat16: a word holds one channel of two input
// rows, one below the other, and an instruction multiplies both by theirs of the filter. Included inside the
// namespace of each instruction set that has it, after depthwise.inl.

/// Which of the two rows of words lie in the map.
enum class Present { both, first, masked };
template <Present kPresent>
struct PresentIs {
  static constexpr Present value = kPresent;
};

/// What two input rows contribute to the tile. `a`, `b`: the rows, of which Present::first reads only the
/// first, and Present::masked the first `na` and `nb` channels.
template <int kKernel, int kStride, int kLeft, int kRight, Present kPresent, bool kUpper, bool kLower, int C>
[[gnu::always_inline]] inline void add_row_pair(const PairedBf16* a, const PairedBf16* b, int na, int nb,
                                                std::int64_t pixel, const char* words, Vec (&sum)[kRows][C]) {
  constexpr int kReach = (C - 1) * kStride + kKernel;
  constexpr int kPointers = (kReach + 2) / 3;
  constexpr int kWord = kLanes * 4;
  const PairedBf16* at[kPointers];  // one for three columns: +0, +pixel, +2 pixel are address modes
  const PairedBf16* below[kPointers];
#pragma GCC unroll 7
  for (int i = 0; i < kPointers; ++i) {
    at[i] = a + 3 * i * pixel;
    asm("" : "+r"(at[i]));
    if constexpr (kPresent != Present::first) {
      below[i] = b + 3 * i * pixel;
      asm("" : "+r"(below[i]));
    }
  }
#pragma GCC unroll 16
  for (int column = kLeft; column < kReach - kRight; ++column) {
    const std::int64_t offset = column % 3 * pixel;
    Int v;
    if constexpr (kPresent == Present::both)
      v = load_row_words(at[column / 3] + offset, below[column / 3] + offset);
    else if constexpr (kPresent == Present::first)
      v = load_row_words(at[column / 3] + offset);
    else
      v = load_row_words(at[column / 3] + offset, na, below[column / 3] + offset, nb);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const int kx = column - c * kStride;
      if (kx < 0 || kx >= kKernel) continue;
      if (kUpper) sum[0][c] = add_bf16_pairs(sum[0][c], v, load_words(words + kx * kWord));
      if (kLower) sum[1][c] = add_bf16_pairs(sum[1][c], v, load_words(words + (kKernel + kx) * kWord));
    }
  }
}

/// As window_tile. Rows 2j and 2j + 1 of the input make words for both output rows, which have filters of
/// their own for them.
template <int kKernel, int kStride, int C, int kLeft, int kRight, bool kTail, bool kWhole>
[[gnu::always_inline]] inline void paired_tile(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair,
                                               std::int64_t x) {
  constexpr int kRowCount = kKernel + kStride, kPairs = (kRowCount + 1) / 2;
  constexpr int kPairBytes = 2 * kKernel * kLanes * 4;
  const DepthwiseParams& p = *lane.p;
  const std::int64_t pixel = p.src_pixel;
  Vec sum[kRows][C];
  start(lane, sum);
  const std::int64_t column = (x * kStride - p.pad_left) * pixel + lane.offset;
  const char* words = lane.words;
#pragma GCC unroll 4
  for (int j = 0; j < kPairs; ++j, words += kPairBytes) {
    const bool upper = 2 * j < kKernel, lower = 2 * j + 1 >= kStride;
    const auto add = [&](auto present, const PairedBf16* a, const PairedBf16* b, int na, int nb)
        __attribute__((always_inline)) {
      constexpr Present kPresent = decltype(present)::value;
      if (upper && lower)
        add_row_pair<kKernel, kStride, kLeft, kRight, kPresent, true, true>(a, b, na, nb, pixel, words, sum);
      else if (upper)
        add_row_pair<kKernel, kStride, kLeft, kRight, kPresent, true, false>(a, b, na, nb, pixel, words, sum);
      else
        add_row_pair<kKernel, kStride, kLeft, kRight, kPresent, false, true>(a, b, na, nb, pixel, words, sum);
    };
    if constexpr (kWhole && !kTail) {
      const PairedBf16* const a = pair.at[2 * j] + column;
      if (2 * j + 1 < kRowCount)
        add(PresentIs<Present::both>{}, a, pair.at[2 * j + 1] + column, 0, 0);
      else
        add(PresentIs<Present::first>{}, a, a, 0, 0);
    } else {
      const bool first = 2 * j >= pair.first && 2 * j < pair.last,
                 second = 2 * j + 1 >= pair.first && 2 * j + 1 < pair.last;
      if (!first && !second) continue;
      const PairedBf16* const a = pair.at[first ? 2 * j : 2 * j + 1] + column;
      const PairedBf16* const b = pair.at[second ? 2 * j + 1 : 2 * j] + column;
      add(PresentIs<Present::masked>{}, a, b, first ? lane.count : 0, second ? lane.count : 0);
    }
  }
  finish<kTail>(lane, pair, x, C, sum);
}

/// What two input rows contribute to a tile of 2 kLanes channels, or to kHalves halves of them from kHalf on.
template <int kKernel, int kStride, int kLeft, int kRight, int kHalf, int kHalves, bool kWhole, bool kUpper,
          bool kLower, int C>
[[gnu::always_inline]] inline void add_row_halves(const PairedBf16* a, bool has_a, const PairedBf16* b,
                                                  bool has_b, std::int64_t pixel, const char* words,
                                                  Vec (&sum)[kHalves][kRows][C]) {
  constexpr int kReach = (C - 1) * kStride + kKernel;
  constexpr int kPointers = (kReach + 2) / 3;
  constexpr int kWord = kLanes * 4;
  const PairedBf16* at[kPointers];
  const PairedBf16* below[kPointers];
#pragma GCC unroll 7
  for (int i = 0; i < kPointers; ++i) {
    at[i] = a + 3 * i * pixel, below[i] = b + 3 * i * pixel;
    asm("" : "+r"(at[i]), "+r"(below[i]));
  }
#pragma GCC unroll 16
  for (int column = kLeft; column < kReach - kRight; ++column) {
    const PairedBf16 *p = at[column / 3] + column % 3 * pixel, *q = below[column / 3] + column % 3 * pixel;
    const RowHalves rows = kWhole ? load_row_halves(p, q) : load_row_halves(p, has_a, q, has_b);
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      const Int v = kHalf + h == 0 ? half_words<0>(rows) : half_words<1>(rows);
      const char* const w = words + 2 * (kHalf + h) * kKernel * kWord;
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        const int kx = column - c * kStride;
        if (kx < 0 || kx >= kKernel) continue;
        if (kUpper) sum[h][0][c] = add_bf16_pairs(sum[h][0][c], v, load_words(w + kx * kWord));
        if (kLower) sum[h][1][c] = add_bf16_pairs(sum[h][1][c], v, load_words(w + (kKernel + kx) * kWord));
      }
    }
  }
}

/// The activated sums of kHalves halves of a tile.
template <int kKernel, int kStride, int kLeft, int kRight, int kHalf, int kHalves, bool kWhole, int C>
[[gnu::always_inline]] inline void sum_halves(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair,
                                              std::int64_t x, Vec (&sum)[kHalves][kRows][C]) {
  constexpr int kRowCount = kKernel + kStride, kPairs = (kRowCount + 1) / 2;
  constexpr int kPairBytes = 4 * kKernel * kLanes * 4;
  const DepthwiseParams& p = *lane.p;
  const std::int64_t pixel = p.src_pixel, column = (x * kStride - p.pad_left) * pixel + lane.offset;
  const char* words = lane.words + 2 * kLanes * 4;
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h) {
    const Vec bias = load(reinterpret_cast<const float*>(lane.words) + (kHalf + h) * kLanes);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[h][r][c] = bias;
  }
#pragma GCC unroll 4
  for (int j = 0; j < kPairs; ++j, words += kPairBytes) {
    const bool upper = 2 * j < kKernel, lower = 2 * j + 1 >= kStride;
    const auto add = [&](auto whole, const PairedBf16* a, bool has_a, const PairedBf16* b, bool has_b)
        __attribute__((always_inline)) {
      constexpr bool kAll = decltype(whole)::value == Present::both;
      if (upper && lower)
        add_row_halves<kKernel, kStride, kLeft, kRight, kHalf, kHalves, kAll, true, true>(a, has_a, b, has_b,
                                                                                          pixel, words, sum);
      else if (upper)
        add_row_halves<kKernel, kStride, kLeft, kRight, kHalf, kHalves, kAll, true, false>(a, has_a, b, has_b,
                                                                                           pixel, words, sum);
      else
        add_row_halves<kKernel, kStride, kLeft, kRight, kHalf, kHalves, kAll, false, true>(a, has_a, b, has_b,
                                                                                           pixel, words, sum);
    };
    const bool exists = 2 * j + 1 < kRowCount;
    if constexpr (kWhole) {
      const PairedBf16* const a = pair.at[2 * j] + column;
      if (exists)
        add(PresentIs<Present::both>{}, a, true, pair.at[2 * j + 1] + column, true);
      else
        add(PresentIs<Present::masked>{}, a, true, a, false);
    } else {
      const bool first = 2 * j >= pair.first && 2 * j < pair.last,
                 second = 2 * j + 1 >= pair.first && 2 * j + 1 < pair.last;
      if (!first && !second) continue;
      const PairedBf16* const a = pair.at[first ? 2 * j : 2 * j + 1] + column;
      const PairedBf16* const b = pair.at[second ? 2 * j + 1 : 2 * j] + column;
      add(PresentIs<Present::masked>{}, a, first, b, second);
    }
  }
  const Epilogue& e = p.epilogue;
  if (e.activation == Activation::hard_swish) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) sum[h][r][c] = hard_swish(sum[h][r][c]);
  } else if (e.activation == Activation::relu) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) sum[h][r][c] = max(zero(), sum[h][r][c]);
  } else if (e.activation == Activation::clip) {
    const Vec low = lower_bound(e), high = upper_bound(e);
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) sum[h][r][c] = clamp(low, high, sum[h][r][c]);
  }
}

/// A tile of 2 kLanes channels: both halves at once, or one after the other where registers do not hold the
/// sums of both.
template <int kKernel, int kStride, int C, int kLeft, int kRight, bool kWhole>
[[gnu::always_inline]] inline void halves_tile(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair,
                                               std::int64_t x) {
  const DepthwiseParams& p = *lane.p;
  PairedBf16* const to = lane.dst + pair.y * p.dst_row + x * p.dst_pixel;
  if constexpr (C > kColumns) {
    alignas(64) Bf16 lower[kRows * C * kLanes];
    {
      Vec sum[1][kRows][C];
      sum_halves<kKernel, kStride, kLeft, kRight, 0, 1, kWhole>(lane, pair, x, sum);
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) store(lower + (r * C + c) * kLanes, sum[0][r][c]);
    }
    Vec sum[1][kRows][C];
    sum_halves<kKernel, kStride, kLeft, kRight, 1, 1, kWhole>(lane, pair, x, sum);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      if (r >= pair.rows) break;
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c)
        store_halves(to + r * p.dst_row + c * p.dst_pixel, lower + (r * C + c) * kLanes, sum[0][r][c]);
    }
  } else {
    Vec sum[2][kRows][C];
    sum_halves<kKernel, kStride, kLeft, kRight, 0, 2, kWhole>(lane, pair, x, sum);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      if (r >= pair.rows) break;
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c)
        store_halves(to + r * p.dst_row + c * p.dst_pixel, sum[0][r][c], sum[1][r][c]);
    }
  }
}

template <int kKernel, int kStride, int C, int kLeft, int kRight>
[[gnu::noinline]] void edge_halves(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair, std::int64_t x) {
  if (pair.first == 0 && pair.last == kKernel + kStride)
    halves_tile<kKernel, kStride, C, kLeft, kRight, true>(lane, pair, x);
  else
    halves_tile<kKernel, kStride, C, kLeft, kRight, false>(lane, pair, x);
}
template <int kKernel, int kStride, int C>
[[gnu::noinline]] void inner_halves(const Lane<PairedBf16>& lane, RowPair<PairedBf16> pair, std::int64_t x,
                                    std::int64_t end) {
  if (pair.first == 0 && pair.last == kKernel + kStride)
    for (; x < end; x += C) halves_tile<kKernel, kStride, C, 0, 0, true>(lane, pair, x);
  else
    for (; x < end; x += C) halves_tile<kKernel, kStride, C, 0, 0, false>(lane, pair, x);
}

/// The 2 kLanes channels of a task from `c` on.
template <int kKernel, int kStride, int C>
inline void run_halves(const DepthwiseTask<PairedBf16>& task, std::int64_t c, RowPair<PairedBf16> pair,
                       const Piece& piece) {
  const DepthwiseParams& p = *task.p;
  const std::int64_t offset = c - task.first;
  const char* const words = static_cast<const char*>(p.halves) + c * (p.channel_words + 1) * 4;
  const Lane<PairedBf16> lane{&p, offset, nullptr, task.dst + offset, nullptr, words, zero(), 2 * kLanes};
  if (piece.left == 1)
    edge_halves<kKernel, kStride, C, 1, 0>(lane, pair, piece.left_x);
  else if constexpr (kKernel == 5)
    if (piece.left == 2) edge_halves<kKernel, kStride, C, 2, 0>(lane, pair, piece.left_x);
  if (piece.x < piece.end) inner_halves<kKernel, kStride, C>(lane, pair, piece.x, piece.end);
  if (piece.right == 1)
    edge_halves<kKernel, kStride, C, 0, 1>(lane, pair, piece.right_x);
  else if constexpr (kKernel == 5)
    if (piece.right == 2) edge_halves<kKernel, kStride, C, 0, 2>(lane, pair, piece.right_x);
}
