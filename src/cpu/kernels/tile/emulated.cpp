#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/tile/tile.inl"
}  // namespace

void run_tile(int vectors, int pixels, const Run* runs, int count, std::int64_t pixel, std::int64_t repeat,
              const Output& out) noexcept {
  choose_tile(vectors, pixels, runs, count, pixel, repeat, out);
}
void run_tile(int vectors, int pixels, const ScatteredRun* runs, int count, const Output& out) noexcept {
  choose_tile(vectors, pixels, runs, count, 0, 1, out);
}

}  // namespace saccade::cpu::avx512_emulated
