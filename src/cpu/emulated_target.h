// The AVX-512 kernels run on two AVX2 registers a vector: for tests on machines without AVX-512.
#pragma once

#include "compiler/target.h"

namespace saccade::cpu {

/// Every AVX-512 kernel of `target()`, with the same choice and preparation but emulated code, under the name
/// "<name>.emulated" and the instruction set avx2. A kernel without an emulation has `fn == nullptr`; a test
/// refuses that.
const compiler::Target& emulated_target();

}  // namespace saccade::cpu
