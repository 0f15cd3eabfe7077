// Elementary functions over the vector vocabulary; included inside the namespace of each instruction set.

/// Within 1.5 ulp where the result is normal; 0 below -87.34 (no denormal results), infinity above 88.73, NaN for NaN.
[[gnu::always_inline]] inline Vec exp(Vec x) {
  const Vec clamped = max(broadcast(-88.0f), min(broadcast(89.0f), x));  // keeps NaN
  const Vec n = round(clamped * broadcast(1.44269504f));
  // ln 2 in two parts, the first with 9 trailing zero bits, so that n times it is exact.
  const Vec r = fnma(n, broadcast(-2.12194440e-4f), fnma(n, broadcast(0.693359375f), clamped));
  Vec p = broadcast(0.0013950522f);
  p = fma(p, r, broadcast(0.0083689084f));
  p = fma(p, r, broadcast(0.0416662053f));
  p = fma(p, r, broadcast(0.1666651868f));
  p = fma(p, r, broadcast(0.5000000095f));
  const Vec y = fma(p * r, r, r) + broadcast(1.0f);
  return select(less(x, broadcast(-87.33654f)), zero(), scale_exponent(y, n));
}

/// Natural logarithm of normal numbers and infinity, within 2 ulp; 0 and denormals give -infinity, negative numbers NaN.
[[gnu::always_inline]] inline Vec log(Vec x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  const Int raised = float_bits(x) + broadcast_int(0x3F800000 - 0x3F3504F3);
  const Vec e = to_float(exponent(bits_as_float(raised)));
  const Vec m = bits_as_float((raised & broadcast_int(0x007FFFFF)) + broadcast_int(0x3F3504F3));
  const Vec v = m - broadcast(1.0f);
  Vec p = broadcast(0.0691536807f);
  p = fma(p, v, broadcast(-0.1178980769f));
  p = fma(p, v, broadcast(0.1187297629f));
  p = fma(p, v, broadcast(-0.1238434847f));
  p = fma(p, v, broadcast(0.1421865809f));
  p = fma(p, v, broadcast(-0.1666925082f));
  p = fma(p, v, broadcast(0.2000222661f));
  p = fma(p, v, broadcast(-0.2499998660f));
  p = fma(p, v, broadcast(0.3333331044f));
  const Vec square = v * v;
  const Vec tail = fma(e, broadcast(-2.12194440e-4f), fnma(square, broadcast(0.5f), p * square * v));
  const Vec y = fma(e, broadcast(0.693359375f), v + tail);
  const Vec infinity = broadcast(__builtin_inff());
  const Vec finite = select(less(x, infinity), y, x);  // infinity and NaN are their own logarithm
  const Vec small = select(less(x, broadcast(1.17549435e-38f)), -infinity, finite);
  return select(less(x, zero()), broadcast(__builtin_nanf("")), small);
}

/// 1 / (1 + e^-x), within 2.5 ulp of the result where that is normal; 0 below -88.73, and perhaps below -88.37.
[[gnu::always_inline]] inline Vec sigmoid(Vec x) {
  const Vec clamped = max(broadcast(-89.0f), min(broadcast(87.0f), x));  // keeps NaN
  // e^-x = 2^n e^-s. The lowest bits of m are n + 127: the exponent of 2^n, which is infinite for n = 128.
  const Vec magic = broadcast(12582912.0f + 127.0f), one = broadcast(1.0f);
  const Vec m = fma(clamped, broadcast(-1.44269504f), magic), n = m - magic;
  const Vec s = fma(n, broadcast(-2.12194440e-4f), fma(n, broadcast(0.693359375f), clamped));
  Vec p = broadcast(0.0013950522f);
  p = fnma(p, s, broadcast(0.0083689084f));
  p = fnma(p, s, broadcast(0.0416662053f));
  p = fnma(p, s, broadcast(0.1666651868f));
  p = fnma(p, s, broadcast(0.5000000095f));
  const Vec y = fnma(fnma(p, s, one), s, one);
  return one / fma(y, bits_as_float(shift_left<23>(float_bits(m))), one);
}

/// Within 2 ulp.
[[gnu::always_inline]] inline Vec tanh(Vec x) {
  const Vec a = abs(x);
  const Vec z = x * x;
  Vec p = broadcast(0.0021475369f);
  p = fma(p, z, broadcast(-0.0081826739f));
  p = fma(p, z, broadcast(0.0217029671f));
  p = fma(p, z, broadcast(-0.0539472043f));
  p = fma(p, z, broadcast(0.1333320976f));
  p = fma(p, z, broadcast(-0.3333333091f));
  const Vec small = fma(p * z, x, x);
  const Vec e = exp(a * broadcast(-2.0f));
  const Vec large = copy_sign((broadcast(1.0f) - e) / (broadcast(1.0f) + e), x);
  return select(less(a, broadcast(0.625f)), small, large);
}

[[gnu::always_inline]] inline Vec silu(Vec x) { return x * sigmoid(x); }
/// max(0, min(1, alpha x + beta)).
[[gnu::always_inline]] inline Vec hard_sigmoid(Vec x, Vec alpha, Vec beta) {
  return max(zero(), min(broadcast(1.0f), fma(x, alpha, beta)));
}
/// x max(0, min(1, x / 6 + 1 / 2)).
[[gnu::always_inline]] inline Vec hard_swish(Vec x) {
  return x * hard_sigmoid(x, broadcast(1.0f / 6.0f), broadcast(0.5f));
}
