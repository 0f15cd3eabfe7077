// 15-bit interpolation, one value at a time.

inline std::int16_t multiply_q15(std::int16_t a, std::int16_t b) noexcept {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(a) * b + 0x4000) >> 15);
}

inline std::int16_t lerp_q15(std::int16_t a, std::int16_t b, std::int16_t weight) noexcept {
  return static_cast<std::int16_t>(a + multiply_q15(static_cast<std::int16_t>(b - a), weight));
}

inline std::int16_t spread_at(const std::int16_t* row, const SpreadTable& table, int i) noexcept {
  const std::int16_t* p = row + table.index[i];
  return lerp_q15(p[0], p[1], table.weight[i]);
}
