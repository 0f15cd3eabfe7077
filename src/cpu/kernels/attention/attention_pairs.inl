// Attention over bfloat16 whose products are of words of two; included inside the namespace of each instruction set that multiplies
// such words. Phase 0 packs keys and values into panels of words, phase 1 takes some queries at a time: their scores as floats into
// the thread's scratch, the exponentials as bfloat16 in place of them, times values. Every element is one chain of words in their
// order, whatever block it falls into.

#include "cpu/kernels/vectors.inl"

constexpr int kPairPanel = kMatmulVectors * kLanes;
constexpr std::int64_t kPairPanelBytes = kPairPanel * 4;

/// The packed keys of one head, and its values behind them.
[[gnu::always_inline]] inline char* pair_keys(const AttentionState& s, void* scratch, std::int64_t shared) {
  const std::int64_t panels = s.scores.panels * s.key_words + s.values.panels * s.value_words;
  return static_cast<char*>(scratch) + shared * panels * kPairPanelBytes;
}
[[gnu::always_inline]] inline char* pair_values(const AttentionState& s, char* keys) {
  return keys + s.scores.panels * s.key_words * kPairPanelBytes;
}

/// A panel of keys: word w of key j at [w][j]. Keys that do not exist are zeros.
inline void pack_pair_keys(const AttentionState& s, const Bf16* k, std::int64_t panel, char* to) {
  const std::int64_t row = s.scores.b_column, step = s.scores.b_k, size = s.scores.k, first_key = panel * kPairPanel;
  const std::int64_t left = s.scores.n - first_key, keys = left < kPairPanel ? left : kPairPanel;
  const Bf16* from = k + first_key * row;
  if (step == 1 && size % 2 == 0) {
    for (int half = 0; half < kMatmulVectors; ++half)
      for (std::int64_t w = 0; w < s.key_words; w += kLanes) {
        const std::int64_t rest = s.key_words - w;
        const int words = static_cast<int>(rest < kLanes ? rest : kLanes);
        Vec rows[kLanes];
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) {
          const std::int64_t key = half * kLanes + j;
          rows[j] = key < keys ? load_part(reinterpret_cast<const float*>(from + key * row + 2 * w), words) : zero();
        }
        transpose(rows);
        float* out = reinterpret_cast<float*>(to + w * kPairPanelBytes) + half * kLanes;
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          if (i < words) store(out + i * kPairPanel, rows[i]);
      }
    return;
  }
  auto* halves = reinterpret_cast<Bf16*>(to);
  for (std::int64_t d = 0; d < 2 * s.key_words; ++d)
    for (std::int64_t j = 0; j < kPairPanel; ++j)
      halves[(d / 2 * kPairPanel + j) * 2 + d % 2] = j < keys && d < size ? from[j * row + d * step] : Bf16{0};
}

/// A panel of values: of keys 2w and 2w + 1, column c at [w][c].
inline void pack_pair_values(const AttentionState& s, const Bf16* v, std::int64_t panel, char* to) {
  const std::int64_t row = s.values.b_k, step = s.values.b_column, column = panel * kPairPanel;
  const std::int64_t left = s.values.n - column, columns = left < kPairPanel ? left : kPairPanel;
  const Bf16 zeros[kPairPanel] = {};
  for (std::int64_t w = 0; w < s.value_words; ++w, to += kPairPanelBytes) {
    const Bf16* lower = v + 2 * w * row + column * step;
    const bool last = 2 * w + 1 == s.values.k;
    const Bf16* upper = last ? zeros : lower + row;
    auto* halves = reinterpret_cast<Bf16*>(to);
    if (step == 1 && columns == kPairPanel) {
      for (int c = 0; c < kPairPanel; ++c) halves[2 * c] = lower[c], halves[2 * c + 1] = upper[c];
      continue;
    }
    for (std::int64_t c = 0; c < kPairPanel; ++c) {
      halves[2 * c] = c < columns ? lower[c * step] : Bf16{0};
      halves[2 * c + 1] = c < columns ? upper[last ? 0 : c * step] : Bf16{0};
    }
  }
}

inline void pack_pairs(const AttentionState& s, const compiler::KernelArgs& args) {
  const std::int64_t packs = s.scores.packs + s.values.packs;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t shared = t / packs, pack = t % packs;
    const bool of_keys = pack < s.scores.packs;
    const MatmulState& product = of_keys ? s.scores : s.values;
    const std::int64_t first_panel = (of_keys ? pack : pack - s.scores.packs) * product.panels_per_pack;
    const std::int64_t left = product.panels - first_panel;
    char* keys = pair_keys(s, args.shared_scratch, shared);
    for (std::int64_t p = first_panel; p < first_panel + (left < product.panels_per_pack ? left : product.panels_per_pack); ++p)
      if (of_keys)
        pack_pair_keys(s, static_cast<const Bf16*>(args.src[1]) + s.keys[shared].k, p, keys + p * s.key_words * kPairPanelBytes);
      else
        pack_pair_values(s, static_cast<const Bf16*>(args.src[2]) + s.keys[shared].v, p,
                         pair_values(s, keys) + p * s.value_words * kPairPanelBytes);
  }
}

/// `words` words of M rows, `pitch` bytes apart, times a panel.
template <int M>
[[gnu::always_inline]] inline void multiply_panel(Vec (&sum)[M][kMatmulVectors], const char* a, std::int64_t pitch, const char* b,
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
    for (int j = 0; j < kMatmulVectors; ++j) sum[i][j] = zero();
  const char* const end = b + words * kPairPanelBytes;
#pragma GCC unroll 1
  for (; b != end; b += kPairPanelBytes) {
    Int row[kMatmulVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kMatmulVectors; ++j) row[j] = load_words(b + j * kLanes * 4);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const Int x = broadcast_word(q[i / 3] + i % 3 * pitch);
#pragma GCC unroll 2
      for (int j = 0; j < kMatmulVectors; ++j) sum[i][j] = add_bf16_pairs(sum[i][j], x, row[j]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) q[g] += 4;
  }
}

/// 2^x for x from -126 on, within 1.2e-4 of it, a sixteenth of what rounding to bfloat16 changes; 0 below.
[[gnu::always_inline]] inline Vec power_of_two(Vec x) {
  const Vec low = broadcast(-126.0f), clamped = max(low, x);  // keeps NaN
  const Vec n = round(clamped), r = clamped - n;
  Vec p = broadcast(0.05459283f);
  p = fma(p, r, broadcast(0.24221811f));
  p = fma(p, r, broadcast(0.69336865f));
  p = fma(p, r, broadcast(1.0f));
  return select(less(x, low), zero(), scale_exponent(p, n));
}

/// The exponentials of a row's n scores, scaled and masked, less the largest: as bfloat16 where the row starts, followed by zeros up
/// to whole vectors. Returns what to multiply by for their sum to be 1. A row that attends nothing gives zeros.
inline float pair_exponentials(float* x, const float* mask, float scale, std::int64_t n) {
  constexpr float kLog2 = 1.44269504f;
  const Vec lowest = broadcast(-__builtin_inff());
  if (mask != nullptr || !(scale > 0)) {
    const Vec by = broadcast(scale);
    for_each_vector(n, [&](std::int64_t i, int m) {
      const Vec v = load_part(x + i, m) * by;
      store_part(x + i, m, mask != nullptr ? v + load_part(mask + i, m) : v);
    });
    scale = 1;
  }
  Vec most = lowest;
  for_each_vector(n, [&](std::int64_t i, int m) {
    const Vec v = load_part(x + i, m);
    most = max(m == kLanes ? v : select(first(m), v, lowest), most);
  });
  float largest = max_lane(most);
  if (largest == -__builtin_inff()) largest = 0;
  const Vec by = broadcast(scale * kLog2), less_by = broadcast(-largest * (scale * kLog2));
  auto* const to = reinterpret_cast<Bf16*>(x);
  Vec total[2] = {zero(), zero()};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec low = power_of_two(fma(load(x + i), by, less_by)), high = power_of_two(fma(load(x + i + kLanes), by, less_by));
    total[0] = total[0] + low;
    total[1] = total[1] + high;
    store_pair(to + i, low, high);
  }
  for (; i < n; i += kLanes) {
    const int m = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
    const Vec e = select(first(m), power_of_two(fma(load_part(x + i, m), by, less_by)), zero());
    total[0] = total[0] + e;
    store(to + i, e);
  }
  const float all = sum(total[0] + total[1]);
  return all == 0 ? 0.0f : 1.0f / all;
}

/// Up to kLanes * kMatmulVectors columns of a row.
[[gnu::always_inline]] inline void store_pair_row(Bf16* to, std::int64_t columns, Vec a, Vec b) {
  if (columns >= kPairPanel) return store_pair(to, a, b);
  store_part(to, columns < kLanes ? static_cast<int>(columns) : kLanes, a);
  if (columns > kLanes) store_part(to + kLanes, static_cast<int>(columns - kLanes), b);
}

/// What is read and written of M queries, and where their scores wait.
struct PairRows {
  const char* q;
  std::int64_t q_pitch;  ///< bytes
  const char *keys, *values;
  const float* mask;
  float* scores;
  Bf16* dst;
};

template <int M>
[[gnu::noinline]] void attend(const AttentionState& s, const PairRows& at) {
  const std::int64_t pitch = s.scores.dst_row;
  Vec sum[M][kMatmulVectors];
  for (std::int64_t p = 0; p < s.scores.panels; ++p) {
    multiply_panel<M>(sum, at.q, at.q_pitch, at.keys + p * s.key_words * kPairPanelBytes, s.key_words);
    float* to = at.scores + p * kPairPanel;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kMatmulVectors; ++j) store(to + i * pitch + j * kLanes, sum[i][j]);
  }
  float factors[M];
  for (int i = 0; i < M; ++i)
    factors[i] = pair_exponentials(at.scores + i * pitch, at.mask != nullptr ? at.mask + i * s.mask_row : nullptr, s.scores.alpha,
                                   s.scores.n);
  for (std::int64_t p = 0; p < s.values.panels; ++p) {
    multiply_panel<M>(sum, reinterpret_cast<const char*>(at.scores), pitch * 4,
                      at.values + p * s.value_words * kPairPanelBytes, s.value_words);
    const std::int64_t left = s.values.n - p * kPairPanel;
    Bf16* to = at.dst + p * kPairPanel;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const Vec by = broadcast(factors[i]);
      store_pair_row(to + i * s.dst_row, left, sum[i][0] * by, sum[i][1] * by);
    }
  }
}

template <int M>
void attend_few(const AttentionState& s, std::int64_t rows, const PairRows& at) {
  if constexpr (M > 1) {
    if (rows < M) {
      attend_few<M - 1>(s, rows, at);
      return;
    }
  }
  attend<M>(s, at);
}

/// Queries as whole words, one row behind the other.
inline void copy_words(const AttentionState& s, const Bf16* q, std::int64_t rows, Bf16* to) {
  for (std::int64_t i = 0; i < rows; ++i, q += s.q_row, to += 2 * s.key_words)
    for (std::int64_t d = 0; d < 2 * s.key_words; ++d) to[d] = d < s.scores.k ? q[d * s.q_step] : Bf16{0};
}

inline void run_attention_pairs(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const AttentionState*>(args.state);
  if (args.phase == 0) return pack_pairs(s, args);
  auto* const scores = static_cast<float*>(args.thread_scratch);
  auto* const copied = reinterpret_cast<Bf16*>(scores + kAttentionPairRows * s.scores.dst_row);
  const bool direct = s.q_step == 1 && s.scores.k % 2 == 0;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const AttentionItem& item = s.items[t / s.row_tasks];
    const std::int64_t begin = t % s.row_tasks * s.rows, end = begin + s.rows < s.scores.m ? begin + s.rows : s.scores.m;
    if (end <= begin) continue;
    char* const keys = pair_keys(s, args.shared_scratch, item.shared);
    // Blocks of rows of nearly equal height.
    const std::int64_t blocks = (end - begin + kAttentionPairRows - 1) / kAttentionPairRows;
    const std::int64_t height = (end - begin + blocks - 1) / blocks;
    for (std::int64_t row = begin; row < end; row += height) {
      const std::int64_t rows = end - row < height ? end - row : height;
      const Bf16* q = static_cast<const Bf16*>(args.src[0]) + item.q + row * s.q_row;
      if (!direct) copy_words(s, q, rows, copied);
      const PairRows at{reinterpret_cast<const char*>(direct ? q : copied),
                        direct ? s.q_row * 2 : s.key_words * 4,
                        keys,
                        pair_values(s, keys),
                        s.has_mask ? static_cast<const float*>(args.src[3]) + item.mask + row * s.mask_row : nullptr,
                        scores,
                        static_cast<Bf16*>(args.dst[0]) + item.dst + row * s.dst_row};
      attend_few<kAttentionPairRows>(s, rows, at);
    }
  }
}
