#include "cpu/simd/portable.h"

#include "cpu/kernels/probe/probe.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/probe/probe.inl"
}  // namespace

const Probe kProbe = {count_multiply_adds, read_all, write_all, stream_all};

}  // namespace saccade::cpu::portable
