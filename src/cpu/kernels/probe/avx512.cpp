#include "cpu/simd/avx512.h"

#include "cpu/kernels/probe/probe.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/probe/probe.inl"
}  // namespace

const Probe kProbe = {count_multiply_adds, read_all, write_all, stream_all};

}  // namespace saccade::cpu::avx512
