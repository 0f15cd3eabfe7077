// The transforms of one axis of a tile. Included inside the namespace of each instruction set, after
// points.inl.

/// a + factor x; factors 0, 1 and -1 are known when compiling.
[[gnu::always_inline]] inline Vec add_scaled(Vec a, Vec x, double factor) {
  if (factor == 0) return a;
  if (factor == 1) return a + x;
  if (factor == -1) return a - x;
  return fma(x, broadcast(static_cast<float>(factor)), a);
}

/// v = B^T d: even and odd powers of a pair of points are shared.
template <int M>
[[gnu::always_inline]] inline void transform_input(const Vec (&d)[M + 2], Vec (&v)[M + 2]) {
  using Points = WinogradPoints<M>;
  constexpr int kPairs = Points::kPairs;
  Vec first = d[2 * kPairs], last = d[2 * kPairs + 1];
#pragma GCC unroll 4
  for (int i = 0; i < kPairs; ++i) {
    first = add_scaled(first, d[2 * i], Points::kTable.product[0][i]);
    last = add_scaled(last, d[2 * i + 1], Points::kTable.product[0][i]);
  }
  v[0] = first;
  v[M + 1] = last;
#pragma GCC unroll 4
  for (int k = 0; k < kPairs; ++k) {
    Vec even = d[2 * kPairs], odd = d[2 * kPairs - 1];
#pragma GCC unroll 4
    for (int i = 0; i < kPairs - 1; ++i) {
      even = add_scaled(even, d[2 * i + 2], Points::kTable.product[k + 1][i]);
      odd = add_scaled(odd, d[2 * i + 1], Points::kTable.product[k + 1][i]);
    }
    v[1 + 2 * k] = add_scaled(even, odd, Points::kTable.power[k][1]);
    v[2 + 2 * k] = add_scaled(even, odd, -Points::kTable.power[k][1]);
  }
}

/// y = A^T m.
template <int M>
[[gnu::always_inline]] inline void transform_output(const Vec (&m)[M + 2], Vec (&y)[M]) {
  using Points = WinogradPoints<M>;
  constexpr int kPairs = Points::kPairs;
  Vec even[kPairs], odd[kPairs];
#pragma GCC unroll 4
  for (int k = 0; k < kPairs; ++k) {
    even[k] = m[1 + 2 * k] + m[2 + 2 * k];
    odd[k] = m[1 + 2 * k] - m[2 + 2 * k];
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
    Vec a = i == 0 ? m[0] : i == M - 1 ? m[M + 1] : zero();
    int from = 0;
    if (i > 0 && i < M - 1) {
      a = (i % 2 == 1 ? odd[0] : even[0]) * broadcast(static_cast<float>(Points::kTable.power[0][i]));
      from = 1;
    }
#pragma GCC unroll 4
    for (int k = from; k < kPairs; ++k)
      a = add_scaled(a, i % 2 == 1 ? odd[k] : even[k], Points::kTable.power[k][i]);
    y[i] = a;
  }
}
