// In assembly throughout: the unit is compiled for any x86-64, and compilers tend to copy accumulators of
// these instructions around.
#include "cpu/kernels/probe/dot.h"

#include <cstdint>

namespace saccade::cpu {

namespace {

// clang-format off
#define SACCADE_ZERO(I) "vpxor %%xmm" #I ", %%xmm" #I ", %%xmm" #I "\n"
// A loop over twelve accumulators, which hide the latency of one instruction. Counts down `left`.
#define SACCADE_TWELVE(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define SACCADE_LOOP(BODY)                                                                      \
  asm volatile(SACCADE_TWELVE(SACCADE_ZERO) SACCADE_ZERO(12) SACCADE_ZERO(13) SACCADE_ZERO(14)  \
               ".p2align 6\n1:\n" BODY "dec %0\njnz 1b\nvzeroupper\n"                           \
               : "+r"(left)                                                                     \
               :                                                                                \
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",        \
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "cc")
#define SACCADE_BF16(I) "vdpbf16ps %%zmm13, %%zmm12, %%zmm" #I "\n"
#define SACCADE_BYTES(I) "vpdpbusd %%zmm13, %%zmm12, %%zmm" #I "\n"
// Without an instruction that sums bytes: products to sums of pairs, to sums of fours, to the accumulator.
#define SACCADE_PAIRS(I, T)                          \
  "vpmaddubsw %%ymm13, %%ymm12, %%ymm" #T "\n"       \
  "vpmaddwd %%ymm14, %%ymm" #T ", %%ymm" #T "\n"     \
  "vpaddd %%ymm" #T ", %%ymm" #I ", %%ymm" #I "\n"
// Two by two products of tiles.
#define SACCADE_TILE_LOOP(OP)                                                                   \
  asm volatile("ldtilecfg (%1)\n"                                                               \
               "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\ntilezero %%tmm3\n"           \
               "tilezero %%tmm4\ntilezero %%tmm5\ntilezero %%tmm6\ntilezero %%tmm7\n"           \
               ".p2align 6\n1:\n"                                                               \
               OP " %%tmm6, %%tmm4, %%tmm0\n" OP " %%tmm7, %%tmm4, %%tmm1\n"                    \
               OP " %%tmm6, %%tmm5, %%tmm2\n" OP " %%tmm7, %%tmm5, %%tmm3\n"                    \
               "dec %0\njnz 1b\ntilerelease\n"                                                  \
               : "+r"(left)                                                                     \
               : "r"(&config)                                                                   \
               : "memory", "cc")
// clang-format on

double bf16_vectors(long rounds) {
  long left = rounds;
  SACCADE_LOOP(SACCADE_TWELVE(SACCADE_BF16));
  return static_cast<double>(rounds) * 12 * 32;
}

double byte_vectors(long rounds) {
  long left = rounds;
  SACCADE_LOOP(SACCADE_TWELVE(SACCADE_BYTES));
  return static_cast<double>(rounds) * 12 * 64;
}

double byte_pairs(long rounds) {
  long left = rounds;
  SACCADE_LOOP(SACCADE_PAIRS(0, 6) SACCADE_PAIRS(1, 7) SACCADE_PAIRS(2, 8) SACCADE_PAIRS(3, 9)
                   SACCADE_PAIRS(4, 10) SACCADE_PAIRS(5, 11));
  return static_cast<double>(rounds) * 6 * 32;
}

// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

double bf16_tiles(long rounds) {
  const TileConfig config;
  long left = rounds;
  SACCADE_TILE_LOOP("tdpbf16ps");
  return static_cast<double>(rounds) * 4 * 16 * 16 * 32;
}

double byte_tiles(long rounds) {
  const TileConfig config;
  long left = rounds;
  SACCADE_TILE_LOOP("tdpbusd");
  return static_cast<double>(rounds) * 4 * 16 * 16 * 64;
}

#undef SACCADE_ZERO
#undef SACCADE_TWELVE
#undef SACCADE_LOOP
#undef SACCADE_BF16
#undef SACCADE_BYTES
#undef SACCADE_PAIRS
#undef SACCADE_TILE_LOOP

}  // namespace

DotProbes dot_probes(Isa isa) noexcept {
  if (isa == Isa::amx) return {bf16_tiles, byte_tiles};
  DotProbes probes;
  if (isa >= Isa::avx2) probes.int8 = byte_pairs;
  if (isa >= Isa::avx512_vnni) probes.int8 = byte_vectors;
  if (isa >= Isa::avx512_bf16) probes.bf16 = bf16_vectors;
  return probes;
}

}  // namespace saccade::cpu
