#include "cpu/simd/avx512.h"
#include "fma.h"

namespace saccade::cpu::avx512 {
namespace {
#include "fma.inl"
}  // namespace

double multiply_adds(long rounds) { return fma_rate(rounds); }

}  // namespace saccade::cpu::avx512
