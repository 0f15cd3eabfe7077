// 15-bit interpolation, thirty-two values at a time.

inline __m512i lerp_q15_512(__m512i a, __m512i b, __m512i weight) noexcept {
  return _mm512_add_epi16(a, _mm512_mulhrs_epi16(_mm512_sub_epi16(b, a), weight));
}

// Thirty-two targets from i (a multiple of 32) on, whose neighbours lie within one vector each.
inline __m512i spread_32(const std::int16_t* row, const SpreadTable& table, int i) noexcept {
  const std::int16_t* from = row + table.base[i / 8];
  const __m512i place = _mm512_loadu_si512(table.place + i);
  const __m512i left = _mm512_permutexvar_epi16(place, _mm512_loadu_si512(from));
  const __m512i right = _mm512_permutexvar_epi16(place, _mm512_loadu_si512(from + 1));
  return lerp_q15_512(left, right, _mm512_loadu_si512(table.weight + i));
}

// The first n of 64 lanes, or all.
inline __mmask64 first_lanes(int n) noexcept { return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1; }

// Words of `low`, then those of `high`, as bytes.
inline __m512i pack_words(__m512i low, __m512i high) noexcept {
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  return _mm512_permutexvar_epi64(order, _mm512_packus_epi16(low, high));
}
