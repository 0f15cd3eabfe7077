// Strips of 8-bit pictures made ready for products; included inside the namespace of each instruction set.
// `Shorts`: integers of 16 bits, the zero point taken off. `Quads`: unsigned bytes; what is signed moves up by 128. Padding
// holds what stands for zero.

struct Shorts {
  using Element = short;
  template <class S>
  [[gnu::always_inline]] static S multiply(S c, Int a, Int b) {
    return add_pairs(c, a, b);
  }
  static Element padding(const ByteStage&) { return 0; }
  static void convert(const ByteStage& s, const unsigned char* src, Element* dst, std::int64_t count) {
    const short zero = static_cast<short>(s.zero);
    if (s.is_signed) {
      const auto* bytes = reinterpret_cast<const signed char*>(src);
      for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<short>(bytes[i] - zero);
    } else {
      for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<short>(src[i] - zero);
    }
  }
};

struct Quads {
  using Element = unsigned char;
  template <class S>
  [[gnu::always_inline]] static S multiply(S c, Int a, Int b) {
    return add_quads(c, a, b);
  }
  static Element padding(const ByteStage& s) { return static_cast<Element>(s.is_signed ? s.zero + 128 : s.zero); }
  static void convert(const ByteStage& s, const unsigned char* src, Element* dst, std::int64_t count) {
    const unsigned char flip = s.is_signed ? 128 : 0;
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<Element>(src[i] ^ flip);
  }
};

template <class Kind>
[[gnu::noinline]] void fill_padding(const ByteStage& s, typename Kind::Element* dst, std::int64_t count) {
  const typename Kind::Element value = Kind::padding(s);
  for (std::int64_t i = 0; i < count; ++i) dst[i] = value;
}

/// Pixels [x0, x1) of one input row, some of which may lie outside the picture.
template <class Kind>
void stage_row(const ByteStage& s, const unsigned char* row, std::int64_t x0, std::int64_t x1, typename Kind::Element* dst) {
  const std::int64_t first = x0 < 0 ? (x1 < 0 ? x1 : 0) : x0, last = x1 > s.in_w ? (x0 > s.in_w ? x0 : s.in_w) : x1;
  if (first > x0) fill_padding<Kind>(s, dst, (first - x0) * s.pitch);
  dst += (first - x0) * s.pitch;
  if (last > first) {
    const unsigned char* src = row + first * s.src_pixel;
    if (s.src_pixel == s.channels && s.pitch == s.channels) {
      Kind::convert(s, src, dst, (last - first) * s.channels);
    } else {
      for (std::int64_t x = 0; x < last - first; ++x) {
        Kind::convert(s, src + x * s.src_pixel, dst + x * s.pitch, s.channels);
        for (std::int64_t c = s.channels; c < s.pitch; ++c) dst[x * s.pitch + c] = 0;
      }
    }
    dst += (last - first) * s.pitch;
  }
  const std::int64_t end = last > first ? last : first;
  if (x1 > end) fill_padding<Kind>(s, dst, (x1 - end) * s.pitch);
}

/// The rows that outputs [y0, y1) x [x0, x1) read.
template <class Kind>
void stage_strip(const ByteStage& s, const unsigned char* image, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                 std::int64_t x1, char* staged) {
  const std::int64_t left = x0 * s.stride_w - s.pad_left, right = (x1 - 1) * s.stride_w - s.pad_left + s.reach_w + 1;
  const std::int64_t top = y0 * s.stride_h - s.pad_top;
  const std::int64_t slots =
      s.gathered ? (y1 - y0) * s.kernel_h : (y1 - 1 - y0) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t y = s.gathered ? top + slot / s.kernel_h * s.stride_h + slot % s.kernel_h * s.dilation_h : top + slot;
    auto* dst = reinterpret_cast<typename Kind::Element*>(staged + slot * s.slot_bytes);
    if (y < 0 || y >= s.in_h)
      fill_padding<Kind>(s, dst, (right - left) * s.pitch);
    else
      stage_row<Kind>(s, image + y * s.src_row, left, right, dst);
  }
}
