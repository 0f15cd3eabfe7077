// The first n lanes of bfloat16 in memory, for instruction sets without masks for 16 bits; included inside the namespace of
// each, behind `load` and `store`.

[[gnu::always_inline]] inline Vec load_first(const Bf16* p, int n) {
  if (n == kLanes) return load(p);
  Bf16 some[kLanes] = {};
  for (int i = 0; i < n; ++i) some[i] = p[i];
  return load(some);
}
[[gnu::always_inline]] inline void store_first(Bf16* p, int n, Vec a) {
  if (n == kLanes) {
    store(p, a);
    return;
  }
  Bf16 some[kLanes];
  store(some, a);
  for (int i = 0; i < n; ++i) p[i] = some[i];
}
