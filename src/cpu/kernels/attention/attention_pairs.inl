// Attention over bfloat16 whose products are of words of two; included inside the namespace of each instruction set that multiplies
// such words. Phase 0 packs keys and values into panels of words, phase 1 takes some queries at a time: their scores as floats into
// the thread's scratch, the exponentials as bfloat16 in place of them, times values. Every element is one chain of words in their
// order, whatever block it falls into.

#include "cpu/kernels/word_panels.inl"

/// The packed keys of one head, and its values behind them.
[[gnu::always_inline]] inline char* pair_keys(const AttentionState& s, void* scratch, std::int64_t shared) {
  const std::int64_t panels = s.scores.panels * s.key_words + s.values.panels * s.value_words;
  return static_cast<char*>(scratch) + shared * panels * kPairPanelBytes;
}
[[gnu::always_inline]] inline char* pair_values(const AttentionState& s, char* keys) {
  return keys + s.scores.panels * s.key_words * kPairPanelBytes;
}

inline void pack_pairs(const AttentionState& s, const compiler::KernelArgs& args) {
  const std::int64_t packs = s.scores.packs + s.values.packs;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t shared = t / packs, pack = t % packs;
    const bool of_keys = pack < s.scores.packs;
    const MatmulState& product = of_keys ? s.scores : s.values;
    const std::int64_t first_panel = (of_keys ? pack : pack - s.scores.packs) * product.panels_per_pack;
    const std::int64_t left = product.panels - first_panel;
    const std::int64_t end = first_panel + (left < product.panels_per_pack ? left : product.panels_per_pack);
    const Bf16* from = static_cast<const Bf16*>(args.src[of_keys ? 1 : 2]) + (of_keys ? s.keys[shared].k : s.keys[shared].v);
    char* const keys = pair_keys(s, args.shared_scratch, shared);
    char* const to = of_keys ? keys : pair_values(s, keys);
    const std::int64_t panel_bytes = (of_keys ? s.key_words : s.value_words) * kPairPanelBytes;
    for (std::int64_t p = first_panel; p < end; ++p)
      pack_pair_panel(PairSource<Bf16>{from, product.b_k, product.b_column, product.k, product.n}, p, to + p * panel_bytes);
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
  // Masks of the lowest float go beyond it when multiplied by what makes exponentials powers of two.
  float less = -largest * (scale * kLog2);
  if (!(less > -__builtin_inff() && less < __builtin_inff())) {
    for_each_vector(n, [&](std::int64_t k, int m) { store_part(x + k, m, load_part(x + k, m) - broadcast(largest)); });
    less = 0;
  }
  const Vec by = broadcast(scale * kLog2), less_by = broadcast(less);
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
  Vec sum[M][kPanelVectors];
  for (std::int64_t p = 0; p < s.scores.panels; ++p) {
    multiply_panel<M>(sum, at.q, at.q_pitch, at.keys + p * s.key_words * kPairPanelBytes, s.key_words);
    float* to = at.scores + p * kPairPanel;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kPanelVectors; ++j) store(to + i * pitch + j * kLanes, sum[i][j]);
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
      if (!direct) copy_words(q, s.q_row, s.q_step, rows, s.scores.k, copied);
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
