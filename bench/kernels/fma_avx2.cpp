#include "cpu/simd/avx2.h"
#include "fma.h"

namespace saccade::cpu::avx2 {
namespace {
#include "fma.inl"
}  // namespace

double multiply_adds(long rounds) { return fma_rate(rounds); }

}  // namespace saccade::cpu::avx2
