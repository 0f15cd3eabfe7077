#include "cpu/simd/portable.h"

#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::portable {
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

}  // namespace saccade::cpu::portable
