#include "cpu/simd/portable.h"
#include "fma.h"

namespace saccade::cpu::portable {
namespace {
#include "fma.inl"
}  // namespace

double multiply_adds(long rounds) { return fma_rate(rounds); }

}  // namespace saccade::cpu::portable
