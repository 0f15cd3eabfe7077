// Elementwise programs on bytes; included inside the namespace of each instruction set. Each element is read before the same
// element of the result is written, in tails too.

/// Where a piece of a row is.
struct ByteRow {
  const unsigned char *a, *b;
  unsigned char* dst;
  std::int64_t count;
};

/// What does not change from row to row.
struct ByteLine {
  Vec a_zero, a_scale, b_zero, b_scale, least, most, divisor, low, high, scale, no_number;
  Int a_flip, b_flip, zero;
};

template <bool kBytes>
[[gnu::always_inline]] inline Vec read_lanes(const unsigned char* p, Int flip) {
  if constexpr (kBytes) return to_float(load_byte_lanes(p) ^ flip);
  return load(reinterpret_cast<const float*>(p));
}

/// The first `count` lanes; the others are anything.
template <bool kBytes>
[[gnu::always_inline]] inline Vec read_first(const unsigned char* p, int count, Int flip) {
  if constexpr (kBytes) {
    unsigned char bytes[kLanes] = {};
    for (int i = 0; i < count; ++i) bytes[i] = p[i];
    return to_float(load_byte_lanes(bytes) ^ flip);
  }
  return load_first(reinterpret_cast<const float*>(p), count);
}

/// Of floats, what is no number becomes the byte 0.
template <bool kReals>
[[gnu::always_inline]] inline Int quantised(const ByteLine& l, Vec quotient) {
  Vec v = min(l.high, max(l.low, quotient));
  if constexpr (kReals) v = select(is_nan(v), l.no_number, v);
  return to_int(v) + l.zero;
}

/// A row: kB of the second operand is where `kSecond` says.
template <bool kA, ByteSecond kSecond, bool kB, ByteJoin kJoin, bool kQuantises, bool kResult>
void run_line_row(const ByteLine& line, const ByteRow& row) {
  constexpr bool kReals = !kA || (kSecond != ByteSecond::none && !kB);
  constexpr std::int64_t kASize = kA ? 1 : 4, kBSize = kB ? 1 : 4, kSize = kResult ? 1 : 4;
  const ByteLine l = line;
  Vec number = zero();
  if constexpr (kSecond == ByteSecond::number) {
    const float x = kB ? static_cast<float>(*row.b) : *reinterpret_cast<const float*>(row.b);
    number = kB ? to_float(to_int(broadcast(x)) ^ l.b_flip) : broadcast(x);
    number = (number - l.b_zero) * l.b_scale;
  }
  const auto quotient = [&](Vec a, Vec b) __attribute__((always_inline)) {
    Vec x = (a - l.a_zero) * l.a_scale;
    if constexpr (kSecond != ByteSecond::none) {
      const Vec y = kSecond == ByteSecond::row ? (b - l.b_zero) * l.b_scale : number;
      x = kJoin == ByteJoin::add ? x + y : x * y;
    }
    x = min(l.most, max(l.least, x));
    return kQuantises ? x / l.divisor : x;
  };
  const auto real = [&](Vec q) __attribute__((always_inline)) {
    return kQuantises ? min(l.high, max(l.low, round(q))) * l.scale : q;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= row.count; i += kLanes) {
    const Vec a = read_lanes<kA>(row.a + i * kASize, l.a_flip);
    const Vec b = kSecond == ByteSecond::row ? read_lanes<kB>(row.b + i * kBSize, l.b_flip) : a;
    const Vec q = quotient(a, b);
    if constexpr (kResult)
      store_bytes(row.dst + i, quantised<kReals>(l, q));
    else
      store(reinterpret_cast<float*>(row.dst + i * kSize), real(q));
  }
  if (i == row.count) return;
  const int left = static_cast<int>(row.count - i);
  const Vec a = read_first<kA>(row.a + i * kASize, left, l.a_flip);
  const Vec b = kSecond == ByteSecond::row ? read_first<kB>(row.b + i * kBSize, left, l.b_flip) : a;
  const Vec q = quotient(a, b);
  if constexpr (kResult) {
    unsigned char bytes[kLanes];
    store_bytes(bytes, quantised<kReals>(l, q));
    for (int k = 0; k < left; ++k) row.dst[i + k] = bytes[k];
  } else {
    store_first(reinterpret_cast<float*>(row.dst + i * kSize), left, real(q));
  }
}

using LineRow = void (*)(const ByteLine&, const ByteRow&);

template <bool kA, ByteSecond kSecond, bool kB, ByteJoin kJoin>
LineRow line_by_result(const ElementwiseBytesState& s) {
  if (s.result_bytes) return run_line_row<kA, kSecond, kB, kJoin, true, true>;
  return s.quantises ? run_line_row<kA, kSecond, kB, kJoin, true, false>
                     : run_line_row<kA, kSecond, kB, kJoin, false, false>;
}

template <bool kA, ByteSecond kSecond>
LineRow line_by_second(const ElementwiseBytesState& s) {
  const bool adds = s.join == ByteJoin::add;
  if (s.b.bytes)
    return adds ? line_by_result<kA, kSecond, true, ByteJoin::add>(s)
                : line_by_result<kA, kSecond, true, ByteJoin::multiply>(s);
  return adds ? line_by_result<kA, kSecond, false, ByteJoin::add>(s)
              : line_by_result<kA, kSecond, false, ByteJoin::multiply>(s);
}

template <bool kA>
LineRow line_by_first(const ElementwiseBytesState& s) {
  switch (s.second) {
    case ByteSecond::none: return line_by_result<kA, ByteSecond::none, kA, ByteJoin::add>(s);
    case ByteSecond::number: return line_by_second<kA, ByteSecond::number>(s);
    default: return line_by_second<kA, ByteSecond::row>(s);
  }
}

/// The sum of two rows of bytes, with the steps that were found to give every pair its byte.
inline void run_sum_row(const ElementwiseBytesState& s, const ByteRow& row) {
  const Vec a_step = broadcast(s.a_step), b_step = broadcast(s.b_step), start = broadcast(s.start);
  const Vec low = broadcast(s.low), high = broadcast(s.high);
  const Int a_flip = broadcast_int(s.a.flip), b_flip = broadcast_int(s.b.flip), zero = broadcast_int(s.zero);
  const auto exact = [&](const unsigned char* a, const unsigned char* b) __attribute__((always_inline)) {
    return fma(read_lanes<true>(a, a_flip), a_step, fma(read_lanes<true>(b, b_flip), b_step, start));
  };
  const auto sum = [&](const unsigned char* a, const unsigned char* b) __attribute__((always_inline)) {
    return to_int(min(high, max(low, exact(a, b)))) + zero;
  };
  std::int64_t i = 0;
  if (s.saturates) {
    const Int shorts = broadcast_short(static_cast<short>(s.zero));
    for (; i + 4 * kLanes <= row.count; i += 4 * kLanes) {
      Int v[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) v[k] = to_int(exact(row.a + i + k * kLanes, row.b + i + k * kLanes));
      store_saturated(row.dst + i, v[0], v[1], v[2], v[3], shorts);
    }
  }
  for (; i + kLanes <= row.count; i += kLanes) store_bytes(row.dst + i, sum(row.a + i, row.b + i));
  if (i == row.count) return;
  unsigned char a[kLanes] = {}, b[kLanes] = {};
  const std::int64_t left = row.count - i;
  for (std::int64_t k = 0; k < left; ++k) a[k] = row.a[i + k], b[k] = row.b[i + k];
  store_bytes(a, sum(a, b));
  for (std::int64_t k = 0; k < left; ++k) row.dst[i + k] = a[k];
}

inline void run_table_row(const ElementwiseBytesState& s, const ByteTable& table, const ByteRow& row) {
  std::int64_t i = 0;
  for (; i + kTableBytes <= row.count; i += kTableBytes) look_up(table, row.a + i, row.dst + i);
  for (; i < row.count; ++i) row.dst[i] = s.table[row.a[i]];
}

/// The rows of units [first, last), one after the other.
template <class Run>
[[gnu::always_inline]] inline void for_byte_rows(const compiler::KernelArgs& args, const ElementwiseBytesState& s, Run run) {
  const std::int64_t a_size = s.a.bytes ? 1 : 4, b_size = s.b.bytes ? 1 : 4, size = s.result_bytes ? 1 : 4;
  const std::int64_t first = args.begin * s.units_per_task;
  const std::int64_t last = args.end * s.units_per_task < s.units ? args.end * s.units_per_task : s.units;
  std::int64_t at[kByteDims] = {}, piece = first % s.pieces, rest = first / s.pieces;
  std::int64_t a = 0, b = 0, dst = 0;
  for (int d = s.rank - 1; d >= 0; --d) {
    at[d] = rest % s.dims[d];
    rest /= s.dims[d];
    a += at[d] * s.a.strides[d], b += at[d] * s.b.strides[d], dst += at[d] * s.dst_strides[d];
  }
  const bool second = s.second != ByteSecond::none, moves = s.second == ByteSecond::row;
  const auto* a_data = static_cast<const unsigned char*>(args.src[s.a.number]);
  const auto* b_data = second ? static_cast<const unsigned char*>(args.src[s.b.number]) : a_data;
  auto* data = static_cast<unsigned char*>(args.dst[0]);
  for (std::int64_t unit = first; unit < last; ++unit) {
    const std::int64_t x = piece * s.piece, left = s.columns - x;
    run(ByteRow{a_data + (a + x) * a_size, second ? b_data + (b + (moves ? x : 0)) * b_size : b_data, data + (dst + x) * size,
                left < s.piece ? left : s.piece});
    if (++piece < s.pieces) continue;
    piece = 0;
    for (int d = s.rank - 1; d >= 0; --d) {
      a += s.a.strides[d], b += s.b.strides[d], dst += s.dst_strides[d];
      if (++at[d] < s.dims[d]) break;
      at[d] = 0;
      a -= s.dims[d] * s.a.strides[d], b -= s.dims[d] * s.b.strides[d], dst -= s.dims[d] * s.dst_strides[d];
    }
  }
}

inline void run_elementwise_bytes(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const ElementwiseBytesState*>(args.state);
  if (s.program == ByteProgram::table) {
    const ByteTable table = load_table(s.table);
    for_byte_rows(args, s, [&](const ByteRow& row) { run_table_row(s, table, row); });
  } else if (s.program == ByteProgram::sum) {
    for_byte_rows(args, s, [&](const ByteRow& row) { run_sum_row(s, row); });
  } else {
    const LineRow run = s.a.bytes ? line_by_first<true>(s) : line_by_first<false>(s);
    const ByteLine line{broadcast(s.a.zero),      broadcast(s.a.scale),     broadcast(s.b.zero), broadcast(s.b.scale),
                        broadcast(s.least),       broadcast(s.most),        broadcast(s.divisor), broadcast(s.low),
                        broadcast(s.high),        broadcast(s.result_scale), broadcast(static_cast<float>(-s.zero)),
                        broadcast_int(s.a.flip), broadcast_int(s.b.flip),  broadcast_int(s.zero)};
    for_byte_rows(args, s, [&](const ByteRow& row) { run(line, row); });
  }
}
