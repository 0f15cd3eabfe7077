// Attention over the matrix products of kernels/matmul; included inside the namespace of each instruction set. Phase 0 packs keys and
// values, phase 1 takes blocks of queries: scores into the thread's scratch, their exponentials in place, times values. Divided is
// at the end, as there are fewer values than keys.

#include "cpu/kernels/matmul/matmul.inl"
#include "cpu/kernels/vectors.inl"

/// The exponentials of a row's n scores less the largest, in place; returns what to multiply by for their sum to be 1. A row that
/// attends nothing gives zeros.
inline float exponentials(float* x, const float* mask, std::int64_t n) {
  const Vec lowest = broadcast(-__builtin_inff());
  Vec most = lowest;
  for_each_vector(n, [&](std::int64_t i, int m) {
    Vec v = load_part(x + i, m);
    if (mask != nullptr) {
      v = v + load_part(mask + i, m);
      store_part(x + i, m, v);
    }
    v = m == kLanes ? v : select(first(m), v, lowest);
    most = select(is_nan(v), v, max(v, most));
  });
  float largest = any(is_nan(most)) ? __builtin_nanf("") : max_lane(most);
  if (largest == -__builtin_inff()) largest = 0;
  Vec total = zero();
  for_each_vector(n, [&](std::int64_t i, int m) {
    const Vec e = exp(load_part(x + i, m) - broadcast(largest));
    total = total + (m == kLanes ? e : select(first(m), e, zero()));
    store_part(x + i, m, e);
  });
  const float all = sum(total);
  return all == 0 ? 0.0f : 1.0f / all;
}

/// The packed keys and values of one head.
[[gnu::always_inline]] inline float* packed_keys(const AttentionState& s, void* scratch, std::int64_t shared) {
  return static_cast<float*>(scratch) + shared * (s.scores.panels * s.scores.k + s.values.panels * s.values.k) * kPanel;
}

template <class T>
inline void pack_operands(const AttentionState& s, const compiler::KernelArgs& args) {
  const std::int64_t packs = s.scores.packs + s.values.packs;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t shared = t / packs, pack = t % packs;
    const bool of_keys = pack < s.scores.packs;
    const MatmulState& product = of_keys ? s.scores : s.values;
    const std::int64_t first_panel = (of_keys ? pack : pack - s.scores.packs) * product.panels_per_pack;
    const std::int64_t left = product.panels - first_panel;
    const T* from = static_cast<const T*>(args.src[of_keys ? 1 : 2]) + (of_keys ? s.keys[shared].k : s.keys[shared].v);
    float* to = packed_keys(s, args.shared_scratch, shared) + (of_keys ? 0 : s.scores.panels * s.scores.k * kPanel);
    for (std::int64_t p = first_panel; p < first_panel + (left < product.panels_per_pack ? left : product.panels_per_pack); ++p)
      pack_panel(product, from, p, to + p * product.k * kPanel);
  }
}

/// Rows of queries as floats, one behind the other.
template <class T>
inline void widen_rows(const AttentionState& s, const T* q, std::int64_t rows, float* to) {
  for (std::int64_t i = 0; i < rows; ++i, q += s.q_row, to += s.scores.k) {
    if (s.q_step == 1)
      for_each_vector(s.scores.k, [&](std::int64_t d, int m) { store_part(to + d, m, load_part(q + d, m)); });
    else
      for (std::int64_t d = 0; d < s.scores.k; ++d) to[d] = widen(q[d * s.q_step]);
  }
}

/// T: what queries, keys, values and results are stored as. Where those are no floats, queries and results of a task wait as
/// floats behind its scores.
template <class T>
inline void run_attention(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const AttentionState*>(args.state);
  if (args.phase == 0) return pack_operands<T>(s, args);
  constexpr bool kStored = sizeof(T) < sizeof(float);
  auto* scores = static_cast<float*>(args.thread_scratch);
  float* const waiting_q = scores + s.rows * s.scores.dst_row;
  float* const waiting = waiting_q + s.rows * s.scores.k;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const AttentionItem& item = s.items[t / s.row_tasks];
    const std::int64_t row = t % s.row_tasks * s.rows, left = s.scores.m - row, rows = left < s.rows ? left : s.rows;
    const float* keys = packed_keys(s, args.shared_scratch, item.shared);
    const T* q = static_cast<const T*>(args.src[0]) + item.q + row * s.q_row;
    T* dst = static_cast<T*>(args.dst[0]) + item.dst + row * s.dst_row;
    if constexpr (kStored) widen_rows(s, q, rows, waiting_q);
    const float* const left_rows = kStored ? waiting_q : reinterpret_cast<const float*>(q);
    float* const results = kStored ? waiting : reinterpret_cast<float*>(dst);
    multiply({&s.scores, left_rows, keys, nullptr, scores}, 0, rows, 0, s.scores.panels);
    float factors[kAttentionRows];
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* mask =
          s.has_mask ? static_cast<const float*>(args.src[3]) + item.mask + (row + i) * s.mask_row : nullptr;
      factors[i] = exponentials(scores + i * s.scores.dst_row, mask, s.scores.n);
    }
    multiply({&s.values, scores, keys + s.scores.panels * s.scores.k * kPanel, nullptr, results}, 0, rows, 0, s.values.panels);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Vec factor = broadcast(factors[i]);
      const float* y = results + i * s.values.dst_row;
      T* to = dst + i * s.dst_row;
      for_each_vector(s.values.n, [&](std::int64_t c, int m) { store_part(to + c, m, load_part(y + c, m) * factor); });
    }
  }
}

inline void run_attention(const compiler::KernelArgs& args) {
  if (static_cast<const AttentionState*>(args.state)->bf16)
    run_attention<Bf16>(args);
  else
    run_attention<float>(args);
}
