#include "cpu/simd/portable.h"

#include "cpu/kernels/conv_bytes/conv_bytes.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/conv_bytes/conv_bytes.inl"
}  // namespace

void conv_bytes(const compiler::KernelArgs& args) noexcept { run_conv_bytes<Shorts>(args); }

}  // namespace saccade::cpu::portable
