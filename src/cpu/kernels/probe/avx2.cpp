#include "cpu/simd/avx2.h"

#include "cpu/kernels/probe/probe.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/probe/probe.inl"
}  // namespace

const Probe kProbe = {count_multiply_adds, read_all, write_all, stream_all};

}  // namespace saccade::cpu::avx2
