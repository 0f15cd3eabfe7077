// One operator over rows of elements, in loops that the compiler turns into vectors of the unit's instruction set. Included inside
// the namespace of each instruction set.

using Byte = unsigned char;

/// A row: `n` elements of the destination (operand 0) and of each source, `steps` elements apart.
struct Row {
  const TypedState* s;
  Byte* to;
  const Byte* from[3];
  std::int64_t steps[4];
  std::int64_t n;
};
using RowFunction = void (*)(const Row&);

template <class To, class From>
[[gnu::always_inline]] inline To reinterpret(From x) {
  return __builtin_bit_cast(To, x);
}

/// A number of 16 bits as a float, exactly; every NaN keeps its bits.
struct HalfBits {
  unsigned short bits;
};
[[gnu::always_inline]] inline float real_of(HalfBits half) {
  const unsigned sign = (half.bits & 0x8000u) << 16, magnitude = half.bits & 0x7fffu;
  const unsigned normal = (magnitude << 13) + (112u << 23), special = (magnitude << 13) + (224u << 23);
  const unsigned small = reinterpret<unsigned>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  const unsigned finite = magnitude < 0x400u ? small : normal;
  return reinterpret<float>(sign | (magnitude < 0x7c00u ? finite : special));
}
/// To the nearest, ties to even; every NaN becomes the same one.
[[gnu::always_inline]] inline HalfBits half_of(float x) {
  const unsigned u = reinterpret<unsigned>(x), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  // What becomes denormal is rounded by an addition.
  const unsigned small = reinterpret<unsigned>(reinterpret<float>(magnitude) + 0.5f) - 0x3f000000u;
  const unsigned normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const unsigned finite = magnitude < 0x38800000u ? small : normal;
  const unsigned number = magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return {static_cast<unsigned short>(sign | (magnitude > 0x7f800000u ? 0x7e00u : number))};
}

/// Towards zero, saturated, 0 where there is no number.
template <class To>
[[gnu::always_inline]] inline To whole_of(float x) {
  // Least and largest float that the type holds; `past` is the first that it does not.
  constexpr bool kWide = sizeof(To) >= 4;
  constexpr float kPast = sizeof(To) == 8 ? 0x1p63f : 0x1p31f;
  constexpr float kLow = sizeof(To) == 8 ? -0x1p63f : sizeof(To) == 4 ? -0x1p31f : To(-1) < To(0) ? -128.0f : 0.0f;
  constexpr float kHigh =
      sizeof(To) == 8 ? 0x1.fffffep62f : sizeof(To) == 4 ? 0x1.fffffep30f : To(-1) < To(0) ? 127.0f : 255.0f;
  float inside = x == x ? x : 0.0f;
  inside = inside > kLow ? inside : kLow;
  inside = inside < kHigh ? inside : kHigh;
  if constexpr (kWide) {
    constexpr To kLargest = static_cast<To>(sizeof(To) == 8 ? 0x7fffffffffffffffll : 0x7fffffffll);
    const To all = static_cast<To>(inside);
    return x >= kPast ? kLargest : all;
  } else {
    return static_cast<To>(static_cast<int>(inside));
  }
}

/// Booleans are bytes of 0 and 1.
struct Truth {
  Byte value;
};
template <class T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<HalfBits> {
  using Type = float;
};
template <>
struct Computed<Truth> {
  using Type = Byte;
};

template <class To, class From>
[[gnu::always_inline]] inline To convert_one(From stored) {
  typename Computed<From>::Type x;
  if constexpr (__is_same(From, HalfBits))
    x = real_of(stored);
  else if constexpr (__is_same(From, Truth))
    x = stored.value;
  else
    x = stored;
  if constexpr (__is_same(To, HalfBits))
    return half_of(static_cast<float>(x));  // integers that are no floats are too large for a half
  else if constexpr (__is_same(To, Truth))
    return {static_cast<Byte>(x != 0)};
  else if constexpr (__is_same(decltype(x), float) && !__is_same(To, float))
    return whole_of<To>(x);
  else
    return static_cast<To>(x);
}

template <class To, class From, class F>
[[gnu::always_inline]] inline void map(const Row& row, F f) {
  const From* __restrict a = reinterpret_cast<const From*>(row.from[0]);
  To* __restrict y = reinterpret_cast<To*>(row.to);
  const std::int64_t n = row.n;
  if (row.steps[0] == 1 && row.steps[1] == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) y[i * row.steps[0]] = f(a[i * row.steps[1]]);
}

/// A bool of each pair.
template <class From, class F>
[[gnu::always_inline]] inline void map_pairs(const Row& row, F f) {
  const From* __restrict a = reinterpret_cast<const From*>(row.from[0]);
  const From* __restrict b = reinterpret_cast<const From*>(row.from[1]);
  Byte* __restrict y = row.to;
  const std::int64_t n = row.n, sa = row.steps[1], sb = row.steps[2];
  if (row.steps[0] == 1 && sa == 1 && sb == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Byte>(f(a[i], b[i]));
  } else if (row.steps[0] == 1 && sa == 1 && sb == 0) {
    const From one = *b;
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Byte>(f(a[i], one));
  } else if (row.steps[0] == 1 && sa == 0 && sb == 1) {
    const From one = *a;
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Byte>(f(one, b[i]));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * row.steps[0]] = static_cast<Byte>(f(a[i * sa], b[i * sb]));
  }
}

template <class T>
inline void choose_row(const Row& row) {
  const Byte* __restrict c = row.from[0];
  const T* __restrict a = reinterpret_cast<const T*>(row.from[1]);
  const T* __restrict b = reinterpret_cast<const T*>(row.from[2]);
  T* __restrict y = reinterpret_cast<T*>(row.to);
  const std::int64_t n = row.n, sc = row.steps[1], sa = row.steps[2], sb = row.steps[3];
  if (row.steps[0] == 1 && sc == 1 && sa == 1 && sb == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T yes = a[i], no = b[i];
      y[i] = c[i] != 0 ? yes : no;
    }
  } else if (row.steps[0] == 1 && sc == 1 && sa == 0 && sb == 1) {
    const T yes = *a;
    for (std::int64_t i = 0; i < n; ++i) {
      const T no = b[i];
      y[i] = c[i] != 0 ? yes : no;
    }
  } else if (row.steps[0] == 1 && sc == 1 && sa == 1 && sb == 0) {
    const T no = *b;
    for (std::int64_t i = 0; i < n; ++i) {
      const T yes = a[i];
      y[i] = c[i] != 0 ? yes : no;
    }
  } else if (row.steps[0] == 1 && sc == 1 && sa == 0 && sb == 0) {
    const T yes = *a, no = *b;
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? yes : no;
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const T yes = a[i * sa], no = b[i * sb];
      y[i * row.steps[0]] = c[i * sc] != 0 ? yes : no;
    }
  }
}

template <class To, class From>
inline void cast_row(const Row& row) {
  map<To, From>(row, [](From x) __attribute__((always_inline)) { return convert_one<To, From>(x); });
}
template <class From>
inline RowFunction cast_to(TypedElement to) {
  switch (to) {
    case TypedElement::real: return cast_row<float, From>;
    case TypedElement::half: return cast_row<HalfBits, From>;
    case TypedElement::boolean: return cast_row<Truth, From>;
    case TypedElement::unsigned_byte: return cast_row<Byte, From>;
    case TypedElement::signed_byte: return cast_row<signed char, From>;
    case TypedElement::whole: return cast_row<std::int32_t, From>;
    case TypedElement::long_whole: return cast_row<std::int64_t, From>;
  }
  return nullptr;
}
inline RowFunction cast_of(TypedElement from, TypedElement to) {
  switch (from) {
    case TypedElement::real: return cast_to<float>(to);
    case TypedElement::half: return cast_to<HalfBits>(to);
    case TypedElement::boolean: return cast_to<Truth>(to);
    case TypedElement::unsigned_byte: return cast_to<Byte>(to);
    case TypedElement::signed_byte: return cast_to<signed char>(to);
    case TypedElement::whole: return cast_to<std::int32_t>(to);
    case TypedElement::long_whole: return cast_to<std::int64_t>(to);
  }
  return nullptr;
}

template <class T>
inline void less_row(const Row& row) {
  map_pairs<T>(row, [](T a, T b) { return a < b; });
}
template <class T>
inline void less_equal_row(const Row& row) {
  map_pairs<T>(row, [](T a, T b) { return a <= b; });
}
template <class T>
inline void equal_row(const Row& row) {
  map_pairs<T>(row, [](T a, T b) { return a == b; });
}
template <class T>
inline RowFunction comparison_of(TypedCode code) {
  switch (code) {
    case TypedCode::less: return less_row<T>;
    case TypedCode::less_equal: return less_equal_row<T>;
    default: return equal_row<T>;
  }
}
inline RowFunction comparison(TypedCode code, TypedElement from) {
  switch (from) {
    case TypedElement::real: return comparison_of<float>(code);
    case TypedElement::signed_byte: return comparison_of<signed char>(code);
    case TypedElement::whole: return comparison_of<std::int32_t>(code);
    case TypedElement::long_whole: return comparison_of<std::int64_t>(code);
    default: return comparison_of<Byte>(code);
  }
}

inline void both_row(const Row& row) {
  map_pairs<Byte>(row, [](Byte a, Byte b) { return a & b; });
}
inline void either_row(const Row& row) {
  map_pairs<Byte>(row, [](Byte a, Byte b) { return a | b; });
}
inline void one_row(const Row& row) {
  map_pairs<Byte>(row, [](Byte a, Byte b) { return a ^ b; });
}
inline void negate_row(const Row& row) {
  map<Byte, Byte>(row, [](Byte x) { return static_cast<Byte>(x ^ 1u); });
}
inline void is_nan_row(const Row& row) {
  map<Byte, float>(row, [](float x) { return static_cast<Byte>(x != x); });
}
inline void is_infinite_row(const Row& row) {
  // An infinity that does not count is replaced by the other; where none does, by a NaN.
  const TypedState& s = *row.s;
  const float plus = __builtin_inff(), none = __builtin_nanf("");
  const float a = s.positive ? plus : s.negative ? -plus : none, b = s.negative ? -plus : a;
  map<Byte, float>(row, [=](float x) { return static_cast<Byte>((x == a) | (x == b)); });
}

/// The remainder of a / b for quotients below 2^22: rounding makes the quotient one too large at most, and either remainder is
/// exact.
[[gnu::always_inline]] inline float remainder_of(float a, float b) {
  const float r = __builtin_fmaf(-__builtin_truncf(a / b), b, a);
  const float corrected = r + __builtin_copysignf(b, a);
  const bool over = (a < 0.0f) != (r < 0.0f);
  return __builtin_copysignf((over & (r != 0.0f)) ? corrected : r, a);
}
[[gnu::always_inline]] inline bool divides_simply(float a, float b) {
  return (__builtin_fabsf(a / b) < 0x1p22f) & (__builtin_fabsf(b) <= 0x1.fffffep127f);
}
template <bool kModulo>
inline void remainder_row(const Row& row) {
  constexpr int kPiece = 64;
  const auto* x = reinterpret_cast<const float*>(row.from[0]);
  const auto* z = reinterpret_cast<const float*>(row.from[1]);
  auto* y = reinterpret_cast<float*>(row.to);
  float a[kPiece], b[kPiece], result[kPiece] = {};
  for (int k = 0; k < kPiece; ++k) a[k] = b[k] = 1;
  for (std::int64_t i = 0; i < row.n; i += kPiece) {
    const int m = row.n - i < kPiece ? static_cast<int>(row.n - i) : kPiece;
    for (int k = 0; k < m; ++k) a[k] = x[(i + k) * row.steps[1]];
    for (int k = 0; k < m; ++k) b[k] = z[(i + k) * row.steps[2]];
#ifdef __FMA__
    int simple = 0;
    for (int k = 0; k < kPiece; ++k) simple += divides_simply(a[k], b[k]) ? 1 : 0;
    for (int k = 0; k < kPiece; ++k) result[k] = remainder_of(a[k], b[k]);
    if (simple != kPiece)
      for (int k = 0; k < m; ++k)
        if (!divides_simply(a[k], b[k])) result[k] = __builtin_fmodf(a[k], b[k]);
#else
    for (int k = 0; k < m; ++k) result[k] = __builtin_fmodf(a[k], b[k]);
#endif
    if constexpr (kModulo)
      for (int k = 0; k < kPiece; ++k) {
        const float moved = result[k] + b[k];
        result[k] = ((result[k] != 0.0f) & ((result[k] < 0.0f) != (b[k] < 0.0f))) ? moved : result[k];
      }
    for (int k = 0; k < m; ++k) y[(i + k) * row.steps[0]] = result[k];
  }
}

inline RowFunction row_function(const TypedState& s) {
  switch (s.code) {
    case TypedCode::cast: return cast_of(s.from, s.to);
    case TypedCode::less:
    case TypedCode::less_equal:
    case TypedCode::equal: return comparison(s.code, s.from);
    case TypedCode::both: return both_row;
    case TypedCode::either: return either_row;
    case TypedCode::one: return one_row;
    case TypedCode::negate: return negate_row;
    case TypedCode::is_nan: return is_nan_row;
    case TypedCode::is_infinite: return is_infinite_row;
    case TypedCode::remainder: return remainder_row<false>;
    case TypedCode::modulo: return remainder_row<true>;
    case TypedCode::choose: break;
  }
  switch (s.sizes[0]) {
    case 1: return choose_row<Byte>;
    case 2: return choose_row<unsigned short>;
    case 4: return choose_row<unsigned>;
    default: return choose_row<std::uint64_t>;
  }
}

inline void run_typed(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const TypedState*>(args.state);
  const RowFunction function = row_function(s);
  const std::int64_t height = s.dims[s.rank - 2], width = s.dims[s.rank - 1];
  const std::int64_t end = args.end * s.blocks_per_task < s.blocks ? args.end * s.blocks_per_task : s.blocks;
  for (std::int64_t index = args.begin * s.blocks_per_task; index < end; ++index) {
    std::int64_t outer = index / s.blocks_inside, inside = index % s.blocks_inside;
    std::int64_t at[4] = {0, 0, 0, 0};  // offsets of each operand, in elements
    for (int d = s.rank - 3; d >= 0; --d) {
      const std::int64_t i = outer % s.dims[d];
      outer /= s.dims[d];
      for (int k = 0; k <= s.sources; ++k) at[k] += i * s.strides[k][d];
    }
    std::int64_t first_row = inside * s.rows, first = 0, rows = s.rows, columns = width;
    if (s.pieces > 1) {
      first_row = inside / s.pieces;
      first = inside % s.pieces * kTypedBlock;
      columns = width - first < kTypedBlock ? width - first : kTypedBlock;
    }
    if (rows > height - first_row) rows = height - first_row;
    Row row;
    row.s = &s;
    row.n = columns;
    for (int k = 0; k <= s.sources; ++k) {
      row.steps[k] = s.strides[k][s.rank - 1];
      at[k] += first_row * s.strides[k][s.rank - 2] + first * row.steps[k];
    }
    row.to = static_cast<Byte*>(args.dst[0]) + at[0] * s.sizes[0];
    for (int k = 0; k < s.sources; ++k)
      row.from[k] = static_cast<const Byte*>(args.src[s.numbers[k]]) + at[k + 1] * s.sizes[k + 1];
    for (std::int64_t r = 0; r < rows; ++r) {
      function(row);
      row.to += s.strides[0][s.rank - 2] * s.sizes[0];
      for (int k = 0; k < s.sources; ++k) row.from[k] += s.strides[k + 1][s.rank - 2] * s.sizes[k + 1];
    }
  }
}
