// The functions of elementwise programs over arrays. Included inside the namespace of each instruction set.

#include "cpu/simd/erf.inl"

/// y[i] = f(a[i]). `y` may be `a`.
template <int kUnroll, class F>
[[gnu::always_inline]] inline void map(const float* a, float* y, int n, F f) {
  int i = 0;
  for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
    Vec v[kUnroll];
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k) v[k] = f(load(a + i + k * kLanes));
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k) store(y + i + k * kLanes, v[k]);
  }
  if constexpr (kUnroll > 1)
    for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(a + i)));
  if (i < n) store_first(y + i, n - i, f(load_first(a + i, n - i)));
}

/// y[i] = f(a[i], b[i]); where kScalar, b is one number. `y` may be `a` or `b`.
template <bool kScalar, class F>
[[gnu::always_inline]] inline void map2(const float* a, const float* b, float* y, int n, F f) {
  constexpr int kUnroll = 4;
  const Vec one = broadcast(kScalar ? *b : 0.0f);
  int i = 0;
  for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
    Vec v[kUnroll];
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k)
      v[k] = f(load(a + i + k * kLanes), kScalar ? one : load(b + i + k * kLanes));
#pragma GCC unroll 4
    for (int k = 0; k < kUnroll; ++k) store(y + i + k * kLanes, v[k]);
  }
  for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(a + i), kScalar ? one : load(b + i)));
  if (i < n) {
    const int left = n - i;
    store_first(y + i, left, f(load_first(a + i, left), kScalar ? one : load_first(b + i, left)));
  }
}

/// Minimum and maximum that are NaN where either operand is.
[[gnu::always_inline]] inline Vec smaller(Vec a, Vec b) { return select(is_nan(a), a, min(a, b)); }
[[gnu::always_inline]] inline Vec larger(Vec a, Vec b) { return select(is_nan(a), a, max(a, b)); }
[[gnu::always_inline]] inline Vec clamp_to(Vec low, Vec high, Vec x) { return min(high, max(low, x)); }

/// ln(1 + e) for 0 <= e <= 1, exact to a few ulp for small e too.
[[gnu::always_inline]] inline Vec log_one_plus(Vec e) {
  const Vec series = e * fnma(e, fnma(e, broadcast(1.0f / 3.0f), broadcast(0.5f)), broadcast(1.0f));
  return select(less(e, broadcast(0.004f)), series, log(broadcast(1.0f) + e));
}
[[gnu::always_inline]] inline Vec softplus(Vec x) {
  const Vec e = exp(-abs(x));
  return larger(x, zero()) + log_one_plus(e);
}
/// e^x - 1 for x <= 0.
[[gnu::always_inline]] inline Vec exp_minus_one(Vec x) {
  Vec p = broadcast(1.0f / 720.0f);
  p = fma(p, x, broadcast(1.0f / 120.0f));
  p = fma(p, x, broadcast(1.0f / 24.0f));
  p = fma(p, x, broadcast(1.0f / 6.0f));
  p = fma(p, x, broadcast(0.5f));
  p = fma(p * x, x, x);
  return select(less(x, broadcast(-0.3f)), exp(x) - broadcast(1.0f), p);
}
[[gnu::always_inline]] inline Vec elu(Vec x, Vec alpha) {
  return select(less(x, zero()), alpha * exp_minus_one(x), x);
}
[[gnu::always_inline]] inline Vec ceil(Vec x) { return -floor(-x); }
[[gnu::always_inline]] inline Vec sign(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec y = select(less(zero(), x), one, select(less(x, zero()), -one, zero()));
  return select(is_nan(x), x, y);
}

inline void run_scalar(const ElementwiseInstruction& in, const float* a, const float* b, bool b_scalar,
                       float* y, int n) {
  for (int i = 0; i < n; ++i) {
    const double operands[2] = {static_cast<double>(a[i]),
                                b == nullptr ? 0 : static_cast<double>(b[b_scalar ? 0 : i])};
    y[i] = static_cast<float>(in.fn(operands, in.parameters));
  }
}

/// The sine of x + turns quarters of a circle, for |x| up to kTurnLimit, within 2e-7.
constexpr float kTurnLimit = 8192;
[[gnu::always_inline]] inline Vec sine(Vec x, float turns) {
  const Vec n = round(x * broadcast(0.636619772f));
  // A quarter in three parts, of which n times the first two is exact.
  const Vec r = fnma(n, broadcast(7.54978995489e-8f),
                     fnma(n, broadcast(4.837512969970703e-4f), fnma(n, broadcast(1.5703125f), x)));
  const Vec z = r * r;
  Vec odd = broadcast(-1.9515295891e-4f);
  odd = fma(odd, z, broadcast(8.3321608736e-3f));
  odd = fma(odd, z, broadcast(-1.6666654611e-1f));
  odd = fma(odd * z, r, r);
  Vec even = broadcast(2.443315711809948e-5f);
  even = fma(even, z, broadcast(-1.388731625493765e-3f));
  even = fma(even, z, broadcast(4.166664568298827e-2f));
  even = fma(even * z, z, fnma(z, broadcast(0.5f), broadcast(1.0f)));
  const Vec shifted = n + broadcast(turns);
  const Vec quarter = fnma(floor(shifted * broadcast(0.25f)), broadcast(4.0f), shifted);
  const Mask turned = equal(quarter, broadcast(1.0f)) | equal(quarter, broadcast(3.0f));
  const Vec y = select(turned, even, odd);
  return select(less(broadcast(1.5f), quarter), -y, y);
}
inline void run_sine(const ElementwiseInstruction& in, const float* a, float* y, int n, float turns) {
  for (int i = 0; i < n; i += kLanes) {
    const int m = n - i < kLanes ? n - i : kLanes;
    const Vec x = m == kLanes ? load(a + i) : load_first(a + i, m);
    if (!all(less_equal(abs(x), broadcast(kTurnLimit)))) {
      run_scalar(in, a + i, nullptr, false, y + i, m);
      continue;
    }
    const Vec result = sine(x, turns);
    if (m == kLanes)
      store(y + i, result);
    else
      store_first(y + i, m, result);
  }
}
/// Within 2e-7 of the result's magnitude.
[[gnu::always_inline]] inline Vec arc_tangent(Vec x) {
  const Vec a = abs(x), one = broadcast(1.0f);
  const Mask large = less(broadcast(2.41421356f), a), middle = less(broadcast(0.414213562f), a);
  const Vec numerator = select(large, -one, select(middle, a - one, a));
  const Vec denominator = select(large, a, select(middle, a + one, one));
  const Vec base = select(large, broadcast(1.57079633f), select(middle, broadcast(0.785398163f), zero()));
  const Vec t = numerator / denominator, z = t * t;
  Vec p = broadcast(8.05374449538e-2f);
  p = fma(p, z, broadcast(-1.38776856032e-1f));
  p = fma(p, z, broadcast(1.99777106478e-1f));
  p = fma(p, z, broadcast(-3.33329491539e-1f));
  return copy_sign(base + fma(p * z, t, t), x);
}

/// log2 of a positive normal number, in double.
[[gnu::always_inline]] inline double log2_of(float a) {
  const int raised = static_cast<int>(__builtin_bit_cast(unsigned, a) + (0x3F800000u - 0x3F3504F3u));
  const double e = static_cast<double>((raised >> 23) - 127);
  const double m = static_cast<double>(__builtin_bit_cast(float, (raised & 0x007FFFFF) + 0x3F3504F3));
  // 2 / ln 2 artanh s.
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 2.8853900817779268 / 13;
  p = p * z + 2.8853900817779268 / 11;
  p = p * z + 2.8853900817779268 / 9;
  p = p * z + 2.8853900817779268 / 7;
  p = p * z + 2.8853900817779268 / 5;
  p = p * z + 2.8853900817779268 / 3;
  p = p * z + 2.8853900817779268;
  return e + p * s;
}
/// 2 to the power w, for w from -200 to 200.
[[gnu::always_inline]] inline float exp2_of(double w) {
  const int n = static_cast<int>(w + 512.5) - 512;
  const double r = (w - static_cast<double>(n)) * 0.69314718055994531;
  double q = 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  q = q * r + 1;
  q = q * r + 1;
  return static_cast<float>(q * __builtin_bit_cast(double, static_cast<long long>(n + 1023) << 52));
}
/// A piece at a time: what is no positive normal number, or has no such power, is left to the operator's function.
inline void run_power(const ElementwiseInstruction& in, const float* a, const float* b, bool b_scalar, float* y, int n) {
  constexpr int kPiece = 64;
  float base[kPiece], exponent[kPiece], result[kPiece];
  double wide[kPiece];
  for (int i = 0; i < n; i += kPiece) {
    const int m = n - i < kPiece ? n - i : kPiece;
    for (int k = 0; k < kPiece; ++k) base[k] = exponent[k] = 1;
    for (int k = 0; k < m; ++k) base[k] = a[i + k];
    for (int k = 0; k < m; ++k) exponent[k] = b_scalar ? *b : b[i + k];
    int usual = 0;
    for (int k = 0; k < kPiece; ++k)
      usual += (base[k] >= 1.17549435e-38f) & (base[k] <= 3.40282347e38f) & (__builtin_fabsf(exponent[k]) <= 3.40282347e38f);
    // Loops apart, which the compiler turns into vectors.
    for (int k = 0; k < kPiece; ++k) wide[k] = static_cast<double>(exponent[k]) * log2_of(base[k]);
    for (int k = 0; k < kPiece; ++k) wide[k] = wide[k] < 200 ? wide[k] : 200;
    for (int k = 0; k < kPiece; ++k) wide[k] = wide[k] > -200 ? wide[k] : -200;
    for (int k = 0; k < kPiece; ++k) result[k] = exp2_of(wide[k]);
    if (usual != kPiece) {
      for (int k = 0; k < m; ++k) {
        if (base[k] >= 1.17549435e-38f && base[k] <= 3.40282347e38f && __builtin_fabsf(exponent[k]) <= 3.40282347e38f) continue;
        run_scalar(in, base + k, exponent + k, true, result + k, 1);
      }
    }
    for (int k = 0; k < m; ++k) y[i + k] = result[k];
  }
}

template <bool kScalar>
[[gnu::always_inline]] inline void run_binary(const ElementwiseInstruction& in, const float* a,
                                              const float* b, float* y, int n) {
  const Vec low = broadcast(in.low), high = broadcast(in.high);
  switch (in.code) {
    case ElementwiseCode::add:
      map2<kScalar>(a, b, y, n, [=](Vec x, Vec z) { return clamp_to(low, high, x + z); });
      break;
    case ElementwiseCode::sub:
      map2<kScalar>(a, b, y, n, [=](Vec x, Vec z) { return clamp_to(low, high, x - z); });
      break;
    case ElementwiseCode::mul:
      map2<kScalar>(a, b, y, n, [=](Vec x, Vec z) { return clamp_to(low, high, x * z); });
      break;
    case ElementwiseCode::div:
      map2<kScalar>(a, b, y, n, [=](Vec x, Vec z) { return clamp_to(low, high, x / z); });
      break;
    case ElementwiseCode::min:
      map2<kScalar>(a, b, y, n, [](Vec x, Vec z) { return smaller(x, z); });
      break;
    case ElementwiseCode::max:
      map2<kScalar>(a, b, y, n, [](Vec x, Vec z) { return larger(x, z); });
      break;
    case ElementwiseCode::prelu:
      map2<kScalar>(a, b, y, n, [](Vec x, Vec z) { return select(less(x, zero()), x * z, x); });
      break;
    case ElementwiseCode::pow:
      run_power(in, a, b, kScalar, y, n);
      break;
    default:
      run_scalar(in, a, b, kScalar, y, n);
      break;
  }
}

/// y = code(a) or code(a, b), n elements; where b_scalar, b is one number.
[[gnu::noinline]] inline void run_instruction(const ElementwiseInstruction& in, const float* a,
                                              const float* b, bool b_scalar, float* y, int n) {
  if (b != nullptr) {
    if (b_scalar)
      run_binary<true>(in, a, b, y, n);
    else
      run_binary<false>(in, a, b, y, n);
    return;
  }
  const Vec p = broadcast(in.p), q = broadcast(in.q), low = broadcast(in.low), high = broadcast(in.high);
  switch (in.code) {
    case ElementwiseCode::copy:
      map<4>(a, y, n, [=](Vec x) { return clamp_to(low, high, x); });
      break;
    case ElementwiseCode::leaky_relu:
      map<4>(a, y, n, [=](Vec x) { return select(less(x, zero()), x * p, x); });
      break;
    case ElementwiseCode::sigmoid:
      map<2>(a, y, n, [](Vec x) { return sigmoid(x); });
      break;
    case ElementwiseCode::hard_sigmoid:
      map<4>(a, y, n, [=](Vec x) { return hard_sigmoid(x, p, q); });
      break;
    case ElementwiseCode::hard_swish:
      map<4>(a, y, n, [](Vec x) { return hard_swish(x); });
      break;
    case ElementwiseCode::silu:
      map<2>(a, y, n, [](Vec x) { return silu(x); });
      break;
    case ElementwiseCode::tanh:
      map<2>(a, y, n, [](Vec x) { return tanh(x); });
      break;
    case ElementwiseCode::elu:
      map<1>(a, y, n, [=](Vec x) { return q * elu(x, p); });
      break;
    case ElementwiseCode::exp:
      map<2>(a, y, n, [](Vec x) { return exp(x); });
      break;
    case ElementwiseCode::log:
      map<2>(a, y, n, [](Vec x) { return log(x); });
      break;
    case ElementwiseCode::sqrt:
      map<4>(a, y, n, [](Vec x) { return sqrt(x); });
      break;
    case ElementwiseCode::rsqrt:
      map<4>(a, y, n, [](Vec x) { return broadcast(1.0f) / sqrt(x); });
      break;
    case ElementwiseCode::square:
      map<4>(a, y, n, [](Vec x) { return x * x; });
      break;
    case ElementwiseCode::cube:
      map<4>(a, y, n, [](Vec x) { return x * x * x; });
      break;
    case ElementwiseCode::abs:
      map<4>(a, y, n, [](Vec x) { return abs(x); });
      break;
    case ElementwiseCode::neg:
      map<4>(a, y, n, [](Vec x) { return -x; });
      break;
    case ElementwiseCode::reciprocal:
      map<4>(a, y, n, [](Vec x) { return broadcast(1.0f) / x; });
      break;
    case ElementwiseCode::floor:
      map<4>(a, y, n, [](Vec x) { return floor(x); });
      break;
    case ElementwiseCode::ceil:
      map<4>(a, y, n, [](Vec x) { return ceil(x); });
      break;
    case ElementwiseCode::round:
      map<4>(a, y, n, [](Vec x) { return round(x); });
      break;
    case ElementwiseCode::sign:
      map<4>(a, y, n, [](Vec x) { return sign(x); });
      break;
    case ElementwiseCode::softplus:
      map<1>(a, y, n, [](Vec x) { return softplus(x); });
      break;
    case ElementwiseCode::mish:
      map<1>(a, y, n, [](Vec x) { return x * tanh(softplus(x)); });
      break;
    case ElementwiseCode::gelu_tanh:
      map<1>(a, y, n, [](Vec x) { return gelu_tanh(x); });
      break;
    case ElementwiseCode::gelu_short:
      map<2>(a, y, n, [](Vec x) { return gelu_short(x); });
      break;
    case ElementwiseCode::gelu:
      map<1>(a, y, n, [](Vec x) { return gelu(x); });
      break;
    case ElementwiseCode::erf:
      map<1>(a, y, n, [](Vec x) { return erf(x); });
      break;
    case ElementwiseCode::softsign:
      map<4>(a, y, n, [](Vec x) { return x / (broadcast(1.0f) + abs(x)); });
      break;
    case ElementwiseCode::thresholded_relu:
      map<4>(a, y, n, [=](Vec x) { return select(less(p, x), x, zero()); });
      break;
    case ElementwiseCode::celu:
      map<1>(a, y, n, [=](Vec x) {
        const Vec below = p * exp_minus_one(min(x, zero()) / p);
        return select(less(x, zero()), below, select(is_nan(x), zero(), x));
      });
      break;
    case ElementwiseCode::shrink:
      map<4>(a, y, n, [=](Vec x) {
        return select(less(x, -q), x + p, select(less(q, x), x - p, zero()));
      });
      break;
    case ElementwiseCode::sin:
      run_sine(in, a, y, n, 0);
      break;
    case ElementwiseCode::cos:
      run_sine(in, a, y, n, 1);
      break;
    case ElementwiseCode::atan:
      map<1>(a, y, n, [](Vec x) { return arc_tangent(x); });
      break;
    default:
      run_scalar(in, a, nullptr, false, y, n);
      break;
  }
}
