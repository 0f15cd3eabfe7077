// Pictures of three planes, as models get them, with their channels last, as kernels multiply them; included inside the
// namespace of each instruction set.

/// `count` pixels of three planes that lie `plane` floats apart, one behind the other, as floats or bfloat16.
template <class T>
inline void interleave_planes(const float* src, std::int64_t plane, T* dst, std::int64_t count) {
  std::int64_t i = 0;
#pragma GCC unroll 1
  for (; i + kLanes <= count; i += kLanes) {
    Vec v[3] = {load(src + i), load(src + plane + i), load(src + 2 * plane + i)};
    interleave(v);
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) store(dst + 3 * i + k * kLanes, v[k]);
  }
  if (i == count) return;
  const int left = static_cast<int>(count - i);
  Vec v[3] = {load_first(src + i, left), load_first(src + plane + i, left), load_first(src + 2 * plane + i, left)};
  interleave(v);
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    const int some = 3 * left - k * kLanes;
    if (some > 0) store_first(dst + 3 * i + k * kLanes, some < kLanes ? some : kLanes, v[k]);
  }
}
