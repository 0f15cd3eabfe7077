// AMX: eight tiles of 16 rows of 64 bytes beside the vocabulary of avx512.h. In assembly: GCC 12 drops stores
// to a configuration that its own load of it reads, and its tile names are no template arguments.
#pragma once

#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {

/// The tiles of this thread, between `configure` and `release`: code in between may not be foreign, which may
/// release them too. Numbers of tiles are constants.
class Tiles {
 public:
  [[gnu::always_inline]] static void configure() {
    alignas(64) unsigned char config[64] = {1};  // palette 1; bytes of a row from 16 on, rows from 48 on
    for (int i = 0; i < 8; ++i) {
      config[16 + 2 * i] = 64;
      config[48 + i] = 16;
    }
    asm volatile("ldtilecfg (%0)" ::"r"(config) : "memory");
  }
  [[gnu::always_inline]] static void release() { asm volatile("tilerelease" ::: "memory"); }
  template <int kTile>
  [[gnu::always_inline]] static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  /// 16 rows `stride` bytes apart.
  template <int kTile>
  [[gnu::always_inline]] static void load(const void* p, long stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static void store(void* p, long stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  /// Floats kSum += rows of pairs of bfloat16 kA times rows of words of pairs kB.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void add_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
  /// 32-bit integers kSum += unsigned bytes kA times signed bytes kB, in fours.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void add_bytes() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace
}  // namespace saccade::cpu::avx512
