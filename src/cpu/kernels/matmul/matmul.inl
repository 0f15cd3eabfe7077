// Matrix product. B is packed in panels of kPanel columns, [panel][k][kPanel]: when the plan is made, if it
// is constant, else by the first phase of the step. A block of rows times a panel or several is summed in
// registers: vectors of B times single elements of A. Every element of the result is one chain of products in
// the order of k, whatever the block it falls into, so its bits depend neither on the number of rows nor on
// the split into tasks. Included inside the namespace of each instruction set.

#include "cpu/kernels/epilogue.inl"

constexpr int kPanel = kMatmulVectors * kLanes;
constexpr int kRows = kRegisters == 32 ? 12 : 6;
/// Steps of the sum done at a time: a panel of that length stays in L1. Sums so far wait in the result.
constexpr std::int64_t kDepth = 256;

struct MatmulCall {
  const MatmulState* s;
  const float* a;
  const float* b;     ///< packed
  const float* bias;  ///< nullptr: none
  float* dst;
};

/// A vector of the columns that exist: `columns` may be less than kLanes, or nothing.
template <class T>
[[gnu::always_inline]] inline Vec load_columns(const T* p, std::int64_t columns) {
  if (columns >= kLanes) return load(p);
  return columns > 0 ? load_first(p, static_cast<int>(columns)) : zero();
}
[[gnu::always_inline]] inline void store_columns(float* p, std::int64_t columns, Vec v) {
  if (columns >= kLanes)
    store(p, v);
  else if (columns > 0)
    store_first(p, static_cast<int>(columns), v);
}

/// The activations that are neither a clamp nor hard_swish, on stored results.
[[gnu::noinline]] inline void activate_stored(const MatmulState& s, float* to, int rows,
                                              std::int64_t columns) {
  for (int i = 0; i < rows; ++i, to += s.dst_row)
    for (std::int64_t j = 0; j < columns; j += kLanes)
      store_columns(to + j, columns - j, activate(s.epilogue, load_columns(to + j, columns - j)));
}

/// Scale, bias and activation of a finished tile.
template <int M, int N>
[[gnu::always_inline]] inline void finish_block(const MatmulCall& call, std::int64_t m, std::int64_t column,
                                                Vec (&sum)[M][N]) {
  const MatmulState& s = *call.s;
  if (s.alpha != 1.0f) {
    const Vec alpha = broadcast(s.alpha);
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) sum[i][j] = sum[i][j] * alpha;
  }
  if (call.bias != nullptr) {
    const Vec beta = broadcast(s.beta);
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i) {
      const float* from = call.bias + (m + i) * s.bias_row;
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        const std::int64_t at = column + j * kLanes;
        const Vec c = s.bias_column == 0 ? broadcast(*from) : load_columns(from + at, s.n - at);
        sum[i][j] = fma(beta, c, sum[i][j]);
      }
    }
  }
  if (is_clamp(s.epilogue)) {
    const Vec low = lower_bound(s.epilogue), high = upper_bound(s.epilogue);
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) sum[i][j] = clamp(low, high, sum[i][j]);
  }
}

/// M rows times P panels, steps [k0, k1) of the sum.
template <int M, int P>
[[gnu::noinline]] void multiply_block(const MatmulCall& call, std::int64_t m, std::int64_t panel,
                                      std::int64_t k0, std::int64_t k1) {
  constexpr int kVectors = P * kMatmulVectors;
  const MatmulState& s = *call.s;
  const std::int64_t column = panel * kPanel, left = s.n - column, next_panel = s.k * kPanel;
  float* to = call.dst + m * s.dst_row + column;
  Vec sum[M][kVectors];
#pragma GCC unroll 12
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = k0 == 0 ? zero() : load_columns(to + i * s.dst_row + j * kLanes, left - j * kLanes);
  const float* b = call.b + panel * next_panel + k0 * kPanel;
  constexpr int kGroups = (M + 2) / 3;
  const float* a[kGroups];  // one pointer for three rows: +0, +row, +2 row are address modes
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    a[g] = call.a + (m + 3 * g) * s.a_row + k0 * s.a_k;
    asm("" : "+r"(a[g]));
  }
#pragma GCC unroll 1
  for (std::int64_t k = k0; k < k1; ++k) {
    Vec row[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j)
      row[j] = load(b + j / kMatmulVectors * next_panel + j % kMatmulVectors * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i) {
      const Vec x = broadcast(a[i / 3][i % 3 * s.a_row]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) a[g] += s.a_k;
    b += kPanel;
  }
  if (k1 == s.k) finish_block<M, kVectors>(call, m, column, sum);
#pragma GCC unroll 12
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) store_columns(to + i * s.dst_row + j * kLanes, left - j * kLanes, sum[i][j]);
  if (k1 == s.k && !is_clamp(s.epilogue)) activate_stored(s, to, M, left < P * kPanel ? left : P * kPanel);
}

template <int M>
void multiply_few(const MatmulCall& call, std::int64_t rows, std::int64_t m, std::int64_t panel,
                  std::int64_t k0, std::int64_t k1) {
  if constexpr (M > 1) {
    if (rows < M) {
      multiply_few<M - 1>(call, rows, m, panel, k0, k1);
      return;
    }
  }
  multiply_block<M, 1>(call, m, panel, k0, k1);
}

/// Rows [m, end) times panels [panel, last).
inline void multiply(const MatmulCall& call, std::int64_t m, std::int64_t end, std::int64_t panel,
                     std::int64_t last) {
  const MatmulState& s = *call.s;
  for (std::int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
    const std::int64_t k1 = k0 + kDepth < s.k ? k0 + kDepth : s.k;
    std::int64_t p = panel;
    // One or two rows have too few sums to keep the multipliers busy: take several panels.
    if (end - m == 1)
      for (; p + 4 <= last; p += 4) multiply_block<1, 4>(call, m, p, k0, k1);
    if (end - m == 2)
      for (; p + 2 <= last; p += 2) multiply_block<2, 2>(call, m, p, k0, k1);
    // Blocks of rows of nearly equal height.
    const std::int64_t blocks = (end - m + kRows - 1) / kRows, height = (end - m + blocks - 1) / blocks;
    for (; p < last; ++p)
      for (std::int64_t r = m; r < end; r += height)
        multiply_few<kRows>(call, end - r < height ? end - r : height, r, p, k0, k1);
  }
}

/// Packs one panel; columns that do not exist are zero.
template <class T>
inline void pack_panel(const MatmulState& s, const T* b, std::int64_t panel, float* to) {
  const std::int64_t column = panel * kPanel, left = s.n - column;
  const T* from = b + column * s.b_column;
  if (s.b_column == 1) {
    for (std::int64_t k = 0; k < s.k; ++k, from += s.b_k, to += kPanel)
      for (int j = 0; j < kMatmulVectors; ++j)
        store(to + j * kLanes, load_columns(from + j * kLanes, left - j * kLanes));
    return;
  }
  for (std::int64_t j = 0; j < kPanel; ++j)
    for (std::int64_t k = 0; k < s.k; ++k)
      to[k * kPanel + j] = j < left ? widen(from[j * s.b_column + k * s.b_k]) : 0.0f;
}

inline void pack_tasks(const MatmulState& s, const compiler::KernelArgs& args) {
  auto* packed = static_cast<float*>(args.shared_scratch);
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t matrix = t / s.packs, first = t % s.packs * s.panels_per_pack;
    const std::int64_t last = first + s.panels_per_pack < s.panels ? first + s.panels_per_pack : s.panels;
    const float* b = static_cast<const float*>(args.src[1]) + s.b_offsets[matrix];
    for (std::int64_t p = first; p < last; ++p)
      pack_panel(s, b, p, packed + (matrix * s.panels + p) * s.k * kPanel);
  }
}

inline void run_matmul(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const MatmulState*>(args.state);
  if (s.packed == nullptr && args.phase == 0) {
    pack_tasks(s, args);
    return;
  }
  const float* packed = s.packed != nullptr ? s.packed : static_cast<const float*>(args.shared_scratch);
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    const std::int64_t row = t % s.row_tasks * s.rows_per_task;
    const std::int64_t panel = t / s.row_tasks % s.panel_tasks * s.panels_per_task;
    const MatmulItem& item = s.items[t / (s.row_tasks * s.panel_tasks)];
    MatmulCall call{&s, static_cast<const float*>(args.src[0]) + item.a,
                    packed + item.b * s.panels * s.k * kPanel, nullptr,
                    static_cast<float*>(args.dst[0]) + item.dst};
    if (s.has_bias) call.bias = s.bias != nullptr ? s.bias : static_cast<const float*>(args.src[2]);
    const std::int64_t row_end = row + s.rows_per_task < s.m ? row + s.rows_per_task : s.m;
    const std::int64_t panel_end =
        panel + s.panels_per_task < s.panels ? panel + s.panels_per_task : s.panels;
    multiply(call, row, row_end, panel, panel_end);
  }
}
