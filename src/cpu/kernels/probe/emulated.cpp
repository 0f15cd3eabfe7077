#include "cpu/kernels/probe/probe.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/probe/probe.inl"
}  // namespace

const Probe kProbe = {count_multiply_adds, read_all, write_all, stream_all};

}  // namespace saccade::cpu::avx512_emulated
