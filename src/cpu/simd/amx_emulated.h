// The tiles of amx.h in plain C++ beside avx512_emulated.h. Only for tests.
#pragma once

#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {

class Tiles {
 public:
  void configure() { configured_ = true; }
  void release() { configured_ = false; }
  template <int kTile>
  void zero() {
    check();
    __builtin_memset(data_[kTile], 0, sizeof data_[kTile]);
  }
  template <int kTile>
  void load(const void* p, long stride) {
    check();
    for (int row = 0; row < 16; ++row)
      __builtin_memcpy(data_[kTile][row], static_cast<const char*>(p) + row * stride, 64);
  }
  template <int kTile>
  void store(void* p, long stride) {
    check();
    for (int row = 0; row < 16; ++row)
      __builtin_memcpy(static_cast<char*>(p) + row * stride, data_[kTile][row], 64);
  }
  /// As the manual says it: even and odd products have sums of their own over all rows of kB, and those two
  /// are added to the tile; denormal numbers are zeros.
  template <int kSum, int kA, int kB>
  void add_bf16() {
    check();
    for (int row = 0; row < 16; ++row) {
      Vec even = saccade::cpu::avx512_emulated::zero(), odd = even;
      for (int k = 0; k < 16; ++k) {
        const Int a = broadcast_word(data_[kA][row] + 4 * k), b = load_words(data_[kB][k]);
        const Int upper{_mm256_set1_epi32(static_cast<int>(0xffff0000u)),
                        _mm256_set1_epi32(static_cast<int>(0xffff0000u))};
        const Int a0{_mm256_slli_epi32(a.lo, 16), _mm256_slli_epi32(a.hi, 16)};
        const Int b0{_mm256_slli_epi32(b.lo, 16), _mm256_slli_epi32(b.hi, 16)};
        even = flushed_fma(bits_as_float(a0), bits_as_float(b0), even);
        odd = flushed_fma(bits_as_float(a & upper), bits_as_float(b & upper), odd);
      }
      auto* sums = reinterpret_cast<float*>(data_[kSum][row]);
      saccade::cpu::avx512_emulated::store(
          sums, flushed(flushed(saccade::cpu::avx512_emulated::load(sums)) + flushed(even + odd)));
    }
  }
  template <int kSum, int kA, int kB>
  void add_bytes() {
    check();
    for (int row = 0; row < 16; ++row) {
      auto* place = reinterpret_cast<int*>(data_[kSum][row]);
      Sums sums = load_sums(place);
      for (int k = 0; k < 16; ++k)
        sums = add_quads(sums, broadcast_word(data_[kA][row] + 4 * k), load_words(data_[kB][k]));
      store_sums(place, sums);
    }
  }

 private:
  static Vec flushed(Vec a) { return {flush(a.lo), flush(a.hi)}; }
  static Vec flushed_fma(Vec a, Vec b, Vec c) { return flushed(fma(flushed(a), flushed(b), c)); }
  // The instructions fault without a configuration.
  void check() const {
    if (!configured_) __builtin_trap();
  }
  alignas(64) unsigned char data_[8][16][64];
  bool configured_ = false;
};

}  // namespace
}  // namespace saccade::cpu::avx512_emulated
