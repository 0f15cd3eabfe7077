// The multiply-add ceiling of an instruction set. Each returns how many multiply-adds it did.
#pragma once

namespace saccade::cpu {

namespace portable {
double multiply_adds(long rounds);
}
namespace avx2 {
double multiply_adds(long rounds);
}
namespace avx512 {
double multiply_adds(long rounds);
}

}  // namespace saccade::cpu
