// The error function and what is made of it; included inside the namespace of each instruction set, behind its vocabulary.

/// erf(x) / x for |x| < kErfSmall, of z = x^2.
constexpr float kErfSmall = 0.9f;
[[gnu::always_inline]] inline Vec erf_ratio(Vec z) {
  Vec p = broadcast(-0.00060903537f);
  p = fma(p, z, broadcast(0.0050119618f));
  p = fma(p, z, broadcast(-0.0267789084f));
  p = fma(p, z, broadcast(0.1128214076f));
  p = fma(p, z, broadcast(-0.3761252463f));
  return fma(p, z, broadcast(1.1283791065f));
}
/// 1 - erf(a) for a >= kErfSmall, within 1e-8; 0 above 4.1.
[[gnu::always_inline]] inline Vec erf_rest(Vec a) {
  const Vec b = min(broadcast(4.1f), a);  // keeps NaN
  Vec p = broadcast(5.4722168e-6f);
  p = fma(p, b, broadcast(-5.2091440e-5f));
  p = fma(p, b, broadcast(-1.6386526e-5f));
  p = fma(p, b, broadcast(0.0028383376f));
  p = fma(p, b, broadcast(-0.0225253664f));
  p = fma(p, b, broadcast(0.1051214263f));
  p = fma(p, b, broadcast(0.6356980801f));
  p = fma(p, b, broadcast(1.1285359859f));
  return select(less(broadcast(4.1f), a), zero(), exp(-(p * b)));
}
/// Within 2 ulp.
[[gnu::always_inline]] inline Vec erf(Vec x) {
  const Vec a = abs(x);
  const Vec large = copy_sign(broadcast(1.0f) - erf_rest(a), x);
  return select(less(a, broadcast(kErfSmall)), x * erf_ratio(x * x), large);
}
/// x times the part of a normal distribution below x, within 1e-7 |x|.
[[gnu::always_inline]] inline Vec gelu(Vec x) {
  const Vec half = broadcast(0.5f), t = x * broadcast(0.70710678f), a = abs(t);
  const Vec rest = half * erf_rest(a);
  const Vec large = select(less(x, zero()), rest, broadcast(1.0f) - rest);
  return x * select(less(a, broadcast(kErfSmall)), fma(half * t, erf_ratio(t * t), half), large);
}
/// As gelu within 6e-5, for results that are stored as bfloat16: a polynomial, and nearly 0 below -4.25.
[[gnu::always_inline]] inline Vec gelu_short(Vec x) {
  const Vec low = max(broadcast(-4.25f), x), b = min(broadcast(4.25f), low), z = b * b;  // keep NaN
  Vec p = broadcast(-1.4255582e-12f);
  p = fma(p, z, broadcast(1.7427211e-10f));
  p = fma(p, z, broadcast(-9.4451398e-9f));
  p = fma(p, z, broadcast(3.0264636e-7f));
  p = fma(p, z, broadcast(-6.4667752e-6f));
  p = fma(p, z, broadcast(9.8762903e-5f));
  p = fma(p, z, broadcast(-0.0011272080f));
  p = fma(p, z, broadcast(0.0098456796f));
  p = fma(p, z, broadcast(-0.0663531795f));
  p = fma(p, z, broadcast(0.3988904655f));
  return low * fma(p, b, broadcast(0.5f));
}
/// As gelu by its usual approximation.
[[gnu::always_inline]] inline Vec gelu_tanh(Vec x) {
  const Vec inner = x * broadcast(0.79788456f) * fma(x * x, broadcast(0.044715f), broadcast(1.0f));
  return broadcast(0.5f) * x * (broadcast(1.0f) + tanh(inner));
}
