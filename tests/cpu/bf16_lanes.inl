// Included inside the namespace of each instruction set.

void narrow(const float* x, std::uint16_t* y, int n) {
  store_first(reinterpret_cast<Bf16*>(y), n, load_first(x, n));
  if (n == kLanes) store(reinterpret_cast<Bf16*>(y), load(x));
}
void widen(const std::uint16_t* x, float* y, int n) {
  store_first(y, n, load_first(reinterpret_cast<const Bf16*>(x), n));
  if (n == kLanes) store(y, load(reinterpret_cast<const Bf16*>(x)));
}
