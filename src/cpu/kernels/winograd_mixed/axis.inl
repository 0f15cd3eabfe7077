// One axis of a tile, of every kind. Included inside the namespace of each instruction set, after
// winograd/transforms.inl.
//
// F(6) takes eight points: 0, the pairs +-p0, +-p1 and +-p2, infinity. F(5) leaves 0 out, F(4) the pair +-p1;
// filters are scaled as for F(6), and what that changes is made good here.
//
// With d and y of a phase of n pixels among zeros, y = T d, where T has g1 on its diagonal, g2 above and g0
// below.
//   n = 2: y0 = g1 (d0 + d1) + (g2 - g1) d1 and y1 = g1 (d0 + d1) + (g0 - g1) d0.
//   n = 3: with s = (g0 + g2) / 2 and h = (g2 - g0) / 2, the symmetric part of T has the eigenvectors (1, 0,
//   -1) and
//          (1, +-sqrt(2), 1) and the eigenvalues g1 and g1 +- sqrt(2) s, whatever the filter; the rest is h
//          d1 to y0, -h d1 to y2 and h (d2 - d0) to y1. So all numbers stay as large as they are.

using SixPoints = WinogradPoints<6>;

constexpr double kRootOf2 = 1.41421356237309504880;

/// F(5) of d: what is multiplied with the points of F(6) but 0.
[[gnu::always_inline]] inline void transform_input_5(const Vec (&d)[7], Vec (&v)[7]) {
  Vec last = d[6];
#pragma GCC unroll 4
  for (int i = 0; i < 3; ++i) last = add_scaled(last, d[2 * i], SixPoints::kTable.product[0][i]);
  v[6] = last;
#pragma GCC unroll 4
  for (int k = 0; k < 3; ++k) {
    Vec even = d[4], odd = d[5];
#pragma GCC unroll 4
    for (int i = 0; i < 2; ++i) {
      even = add_scaled(even, d[2 * i], SixPoints::kTable.product[k + 1][i]);
      odd = add_scaled(odd, d[2 * i + 1], SixPoints::kTable.product[k + 1][i]);
    }
    const double p = SixPoints::kTable.power[k][1];
    if (p != 1) even = even * broadcast(static_cast<float>(p * p));
    v[2 * k] = add_scaled(even, odd, p);
    v[2 * k + 1] = add_scaled(even, odd, -p);
  }
}

[[gnu::always_inline]] inline void transform_output_5(const Vec (&m)[7], Vec (&y)[5]) {
  Vec even[3], odd[3];
#pragma GCC unroll 4
  for (int k = 0; k < 3; ++k) {
    even[k] = m[2 * k] + m[2 * k + 1];
    odd[k] = m[2 * k] - m[2 * k + 1];
  }
#pragma GCC unroll 8
  for (int i = 0; i < 5; ++i) {
    Vec a = i == 4 ? m[6] : zero();
    int from = 0;
    if (i < 4) {
      a = (i % 2 == 1 ? odd[0] : even[0]) * broadcast(static_cast<float>(SixPoints::kTable.power[0][i]));
      from = 1;
    }
#pragma GCC unroll 4
    for (int k = from; k < 3; ++k)
      a = add_scaled(a, i % 2 == 1 ? odd[k] : even[k], SixPoints::kTable.power[k][i]);
    y[i] = a;
  }
}

/// F(4): the points 0, +-p0, +-p2 and infinity.
[[gnu::always_inline]] inline void transform_input_4(const Vec (&d)[6], Vec (&v)[6]) {
  constexpr double a = SixPoints::point(0), b = SixPoints::point(2);
  v[0] = add_scaled(add_scaled(d[4], d[2], -(a * a + b * b)), d[0], a * a * b * b);
  v[5] = add_scaled(add_scaled(d[5], d[3], -(a * a + b * b)), d[1], a * a * b * b);
  const Vec even_a = add_scaled(d[4], d[2], -b * b), odd_a = add_scaled(d[3], d[1], -b * b);
  const Vec even_b = add_scaled(d[4], d[2], -a * a), odd_b = add_scaled(d[3], d[1], -a * a);
  v[1] = add_scaled(even_a, odd_a, a);
  v[2] = add_scaled(even_a, odd_a, -a);
  v[3] = add_scaled(even_b, odd_b, b);
  v[4] = add_scaled(even_b, odd_b, -b);
}

[[gnu::always_inline]] inline void transform_output_4(const Vec (&m)[6], Vec (&y)[4]) {
  constexpr double a = SixPoints::point(0), b = SixPoints::point(2),
                   left_out = SixPoints::point(1) * SixPoints::point(1);
  constexpr double scale_a = a * a - left_out, scale_b = b * b - left_out;
  const Vec even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
  const auto both = [](Vec first, double f, Vec second, double g) __attribute__((always_inline)) {
    return add_scaled(first * broadcast(static_cast<float>(f)), second, g);
  };
  y[0] = add_scaled(both(even_a, scale_a, even_b, scale_b), m[0], -left_out);
  y[1] = both(odd_a, scale_a * a, odd_b, scale_b * b);
  y[2] = both(even_a, scale_a * a * a, even_b, scale_b * b * b);
  y[3] = both(odd_a, scale_a * a * a * a, odd_b, scale_b * b * b * b) + m[5];
}

/// Loads all that kTransform takes, and puts all that it makes.
template <auto kTransform, class Load, class Put, std::size_t kTaken, std::size_t kMade>
[[gnu::always_inline]] inline void transform_all(void (*)(const Vec (&)[kTaken], Vec (&)[kMade]), Load load, Put put) {
  Vec taken[kTaken], made[kMade];
#pragma GCC unroll 10
  for (int i = 0; i < static_cast<int>(kTaken); ++i) taken[i] = load(i);
  kTransform(taken, made);
#pragma GCC unroll 10
  for (int k = 0; k < static_cast<int>(kMade); ++k) put(k, made[k]);
}
template <auto kTransform, class Load, class Put>
[[gnu::always_inline]] inline void transform_all(Load load, Put put) {
  transform_all<kTransform>(kTransform, load, put);
}

/// What the products of a segment take: load(i) is its i-th input, put(k, v) takes the factor of the k-th
/// product.
template <class Load, class Put>
[[gnu::always_inline]] inline void transform_inputs(MixedKind kind, Load load, Put put) {
  switch (kind) {
    case MixedKind::one:
      put(0, load(0));
      break;
    case MixedKind::two: {
      const Vec d0 = load(0), d1 = load(1);
      put(0, d0 + d1);
      put(1, d0);
      put(2, d1);
      break;
    }
    case MixedKind::three: {
      const Vec d0 = load(0), d1 = load(1), d2 = load(2);
      const Vec outer = d0 + d2, apart = d0 - d2, inner = d1 * broadcast(static_cast<float>(kRootOf2));
      put(0, apart);
      put(1, outer + inner);
      put(2, outer - inner);
      put(3, d1);
      put(4, apart);
      break;
    }
    case MixedKind::four:
      transform_all<transform_input_4>(load, put);
      break;
    case MixedKind::five:
      transform_all<transform_input_5>(load, put);
      break;
    case MixedKind::six:
      transform_all<transform_input<6>>(load, put);
      break;
    case MixedKind::eight:
      transform_all<transform_input<8>>(load, put);
      break;
  }
}

/// The outputs of a segment: load(k) is its k-th product, put(i, y) takes the i-th output.
template <class Load, class Put>
[[gnu::always_inline]] inline void transform_outputs(MixedKind kind, Load load, Put put) {
  switch (kind) {
    case MixedKind::one:
      put(0, load(0));
      break;
    case MixedKind::two: {
      const Vec both = load(0);
      put(0, both + load(2));
      put(1, both + load(1));
      break;
    }
    case MixedKind::three: {  // filters of the second and third product are a quarter of what is above
      const Vec apart = load(0) * broadcast(0.5f), plus = load(1), minus = load(2), ends = load(3);
      const Vec outer = plus + minus, lean = apart + ends;
      put(0, outer + lean);
      put(1, fma(plus - minus, broadcast(static_cast<float>(kRootOf2)), -load(4)));
      put(2, outer - lean);
      break;
    }
    case MixedKind::four:
      transform_all<transform_output_4>(load, put);
      break;
    case MixedKind::five:
      transform_all<transform_output_5>(load, put);
      break;
    case MixedKind::six:
      transform_all<transform_output<6>>(load, put);
      break;
    case MixedKind::eight:
      transform_all<transform_output<8>>(load, put);
      break;
  }
}
