// Runs of neighbouring floats, or Bf16 as floats, as vectors; included inside the namespace of each instruction set.

template <class T>
[[gnu::always_inline]] inline Vec load_part(const T* p, int n) { return n == kLanes ? load(p) : load_first(p, n); }
template <class T>
[[gnu::always_inline]] inline void store_part(T* p, int n, Vec v) {
  if (n == kLanes)
    store(p, v);
  else
    store_first(p, n, v);
}

/// Vectors of a run of n floats in order: all but the last are whole.
template <class Body>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(i, static_cast<int>(n - i));
}

/// Vectors that cover a run of n floats, the last one overlapping its neighbour: whole vectors only, where n is at least one.
/// (Masked stores are slow on some processors.) For bodies that may compute an element twice.
template <class Body>
[[gnu::always_inline]] inline void cover_vectors(std::int64_t n, Body body) {
  if (n < kLanes) {
    if (n > 0) body(std::int64_t{0}, static_cast<int>(n));
    return;
  }
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(n - kLanes, kLanes);
}
