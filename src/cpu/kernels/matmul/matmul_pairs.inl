// Matrix product of words of two bfloat16, summed in floats; included inside the namespace of each instruction set that multiplies
// them. Every element of the result is one chain of words in their order, whatever the block it falls into.

#include "cpu/kernels/word_panels.inl"

/// M rows of A as words, `pitch` bytes apart, times panels [panel, last).
template <int M, class Result>
[[gnu::noinline]] void multiply_words(const MatmulPairsState& s, const char* a, std::int64_t pitch, const char* b,
                                      std::int64_t panel, std::int64_t last, Result* dst) {
  for (; panel < last; ++panel) {
    Vec sum[M][kPanelVectors];
    multiply_panel<M>(sum, a, pitch, b + panel * s.words * kPairPanelBytes, s.words);
    const std::int64_t column = panel * kPairPanel, left = s.product.n - column;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) store_pair_row(dst + i * s.product.dst_row + column, left, sum[i][0], sum[i][1]);
  }
}

template <int M, class Result>
void multiply_word_rows(const MatmulPairsState& s, std::int64_t rows, const char* a, std::int64_t pitch, const char* b,
                        std::int64_t panel, std::int64_t last, Result* dst) {
  if constexpr (M > 1) {
    if (rows < M) {
      multiply_word_rows<M - 1>(s, rows, a, pitch, b, panel, last, dst);
      return;
    }
  }
  multiply_words<M>(s, a, pitch, b, panel, last, dst);
}

template <class Source>
inline void pack_matrices(const MatmulPairsState& s, const compiler::KernelArgs& args) {
  const MatmulState& p = s.product;
  auto* const packed = static_cast<char*>(args.shared_scratch);
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t matrix = t / p.packs, first = t % p.packs * p.panels_per_pack;
    const std::int64_t last = first + p.panels_per_pack < p.panels ? first + p.panels_per_pack : p.panels;
    const PairSource<Source> b{static_cast<const Source*>(args.src[1]) + p.b_offsets[matrix], p.b_k, p.b_column, p.k, p.n};
    for (std::int64_t panel = first; panel < last; ++panel)
      pack_pair_panel(b, panel, packed + (matrix * p.panels + panel) * s.words * kPairPanelBytes);
  }
}

template <class Source, class Result>
inline void multiply_task(const MatmulPairsState& s, const compiler::KernelArgs& args, std::int64_t t, const char* packed) {
  const MatmulState& p = s.product;
  const std::int64_t row = t % p.row_tasks * p.rows_per_task;
  const std::int64_t panel = t / p.row_tasks % p.panel_tasks * p.panels_per_task;
  const MatmulItem& item = p.items[t / (p.row_tasks * p.panel_tasks)];
  const std::int64_t end = row + p.rows_per_task < p.m ? row + p.rows_per_task : p.m;
  const std::int64_t last = panel + p.panels_per_task < p.panels ? panel + p.panels_per_task : p.panels;
  const auto* const a = static_cast<const Source*>(args.src[0]) + item.a;
  auto* const dst = static_cast<Result*>(args.dst[0]) + item.dst;
  const char* const b = packed + item.b * p.panels * s.words * kPairPanelBytes;
  const bool direct = sizeof(Source) == sizeof(Bf16) && p.a_k == 1 && p.k % 2 == 0;
  auto* const copied = static_cast<Bf16*>(args.thread_scratch);
  const std::int64_t blocks = (end - row + kMatmulPairRows - 1) / kMatmulPairRows, height = (end - row + blocks - 1) / blocks;
  for (std::int64_t r = row; r < end; r += height) {
    const std::int64_t rows = end - r < height ? end - r : height;
    const Source* from = a + r * p.a_row;
    if (!direct) copy_words(from, p.a_row, p.a_k, rows, p.k, copied);
    multiply_word_rows<kMatmulPairRows>(s, rows,
                                        direct ? reinterpret_cast<const char*>(from) : reinterpret_cast<const char*>(copied),
                                        direct ? p.a_row * 2 : s.words * 4, b, panel, last, dst + r * p.dst_row);
  }
}

inline void run_matmul_pairs(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const MatmulPairsState*>(args.state);
  if (s.packed == nullptr && args.phase == 0) return s.b_bf16 ? pack_matrices<Bf16>(s, args) : pack_matrices<float>(s, args);
  const char* const packed = s.packed != nullptr ? s.packed : static_cast<const char*>(args.shared_scratch);
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    if (s.a_bf16 && s.dst_bf16)
      multiply_task<Bf16, Bf16>(s, args, t, packed);
    else if (s.a_bf16)
      multiply_task<Bf16, float>(s, args, t, packed);
    else if (s.dst_bf16)
      multiply_task<float, Bf16>(s, args, t, packed);
    else
      multiply_task<float, float>(s, args, t, packed);
  }
}
