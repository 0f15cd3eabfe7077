// Matrix product: C[m][n] = activation(alpha * sum over k of A[m][k] B[k][n] + bias). Included by each unit inside the
// namespace of its instruction set.
//
// B is packed in panels of kPanel = kVectors * kLanes columns, [panel][k][kPanel]: when the plan is made, if B is
// constant, else by the first phase of the step. A block of rows times a panel or several is summed in registers: one
// vector of B times the broadcast elements of A. Every element of C is one chain of products in the order of k,
// whatever the block it falls into, so that its bits depend neither on the number of rows nor on the split into tasks.

constexpr int kVectors = 2;
constexpr int kPanel = kVectors * kLanes;
constexpr int kRows = kLanes == 16 ? 12 : 6;

/// kM rows times kN panels, steps [k0, k1) of the sum. `first`: starts at zero, else from what C holds; `last`: finishes.
template <int kM, int kN>
[[gnu::noinline]] void matmul_block(const MatmulParams& p, const MatmulItem& item, std::int64_t m, std::int64_t panel, std::int64_t k0,
                                    std::int64_t k1) {
  Vec sum[kM][kN * kVectors];
  const bool first = k0 == 0, last = k1 == p.k;
  float* to = item.dst + m * p.dst_row + panel * kPanel;
  const std::int64_t columns = p.n - panel * kPanel;   // may be less than the block's or more
#pragma GCC unroll 12
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kN * kVectors; ++j) sum[i][j] = zero();
  if (!first) {
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN * kVectors; ++j) sum[i][j] = load_columns(to + i * p.dst_row + j * kLanes, columns - j * kLanes);
  }
  const float* a = item.a + m * p.a_row + k0 * p.a_k;
  const float* b = item.b + panel * p.k * kPanel + k0 * kPanel;
  const std::int64_t next_panel = p.k * kPanel;
  for (std::int64_t k = k0; k < k1; ++k) {
    Vec column[kN * kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kN * kVectors; ++j) column[j] = load(b + (j / kVectors) * next_panel + (j % kVectors) * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kM; ++i) {
      const Vec x = broadcast(a[i * p.a_row]);
#pragma GCC unroll 8
      for (int j = 0; j < kN * kVectors; ++j) sum[i][j] = fma(x, column[j], sum[i][j]);
    }
    a += p.a_k;
    b += kPanel;
  }
  if (last) matmul_finish<kM, kN * kVectors>(p, item, m, panel * kPanel, sum);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN * kVectors; ++j) store_columns(to + i * p.dst_row + j * kLanes, columns - j * kLanes, sum[i][j]);
}
