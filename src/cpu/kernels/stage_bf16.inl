// Strips of pictures made ready for products of bfloat16; included inside the namespace of each instruction set, after
// byte_stage.h. Strides of the stage are in elements of the input.

#include "cpu/kernels/planes.inl"

/// `count` numbers as bfloat16.
[[gnu::always_inline]] inline void narrow_row(const Bf16* src, Bf16* dst, std::int64_t count) {
  __builtin_memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(Bf16));
}
inline void narrow_row(const float* src, Bf16* dst, std::int64_t count) {
  std::int64_t i = 0;
#pragma GCC unroll 1
  for (; i + kLanes <= count; i += kLanes) store(dst + i, load(src + i));
  if (i < count) store_first(dst + i, static_cast<int>(count - i), load_first(src + i, static_cast<int>(count - i)));
}

inline void clear_row(Bf16* dst, std::int64_t count) {
  __builtin_memset(dst, 0, static_cast<std::size_t>(count) * sizeof(Bf16));
}

/// Pixels of three planes, side by side.
inline void narrow_planes(const Bf16*, std::int64_t, Bf16*, std::int64_t) {}  // planes are floats
inline void narrow_planes(const float* src, std::int64_t plane, Bf16* dst, std::int64_t count) {
  interleave_planes(src, plane, dst, count);
}

/// Pixels [x0, x1) of one input row, some of which may lie outside the picture.
template <class T>
void stage_row_bf16(const ByteStage& s, const T* row, std::int64_t x0, std::int64_t x1, Bf16* dst) {
  const std::int64_t first = x0 < 0 ? (x1 < 0 ? x1 : 0) : x0, last = x1 > s.in_w ? (x0 > s.in_w ? x0 : s.in_w) : x1;
  if (first > x0) clear_row(dst, (first - x0) * s.pitch);
  dst += (first - x0) * s.pitch;
  if (last > first) {
    const T* src = row + first * s.src_pixel;
    if (s.src_plane != 0) {
      narrow_planes(src, s.src_plane, dst, last - first);
    } else if (s.src_pixel == s.channels && s.pitch == s.channels) {
      narrow_row(src, dst, (last - first) * s.channels);
    } else {
      for (std::int64_t x = 0; x < last - first; ++x) {
        narrow_row(src + x * s.src_pixel, dst + x * s.pitch, s.channels);
        clear_row(dst + x * s.pitch + s.channels, s.pitch - s.channels);
      }
    }
    dst += (last - first) * s.pitch;
  }
  const std::int64_t end = last > first ? last : first;
  if (x1 > end) clear_row(dst, (x1 - end) * s.pitch);
}

/// The rows that outputs [y0, y1) x [x0, x1) read, and zeros for what words reach beyond them.
template <class T>
void stage_strip_bf16(const ByteStage& s, const T* image, std::int64_t y0, std::int64_t y1, std::int64_t x0, std::int64_t x1,
                      char* staged) {
  const std::int64_t left = x0 * s.stride_w - s.pad_left, right = (x1 - 1) * s.stride_w - s.pad_left + s.reach_w + 1;
  const std::int64_t top = y0 * s.stride_h - s.pad_top;
  const std::int64_t slots =
      s.gathered ? (y1 - y0) * s.kernel_h : (y1 - 1 - y0) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  const std::int64_t used = (right - left) * s.pitch;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t y = s.gathered ? top + slot / s.kernel_h * s.stride_h + slot % s.kernel_h * s.dilation_h : top + slot;
    auto* dst = reinterpret_cast<Bf16*>(staged + slot * s.slot_bytes);
    if (y < 0 || y >= s.in_h)
      clear_row(dst, used);
    else
      stage_row_bf16(s, image + y * s.src_row, left, right, dst);
    clear_row(dst + used, s.slot_bytes / static_cast<std::int64_t>(sizeof(Bf16)) - used);
  }
}
