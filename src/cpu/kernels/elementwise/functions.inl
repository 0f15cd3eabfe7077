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
    case ElementwiseCode::gelu:
      map<1>(a, y, n, [](Vec x) { return gelu(x); });
      break;
    case ElementwiseCode::erf:
      map<1>(a, y, n, [](Vec x) { return erf(x); });
      break;
    default:
      run_scalar(in, a, nullptr, false, y, n);
      break;
  }
}
