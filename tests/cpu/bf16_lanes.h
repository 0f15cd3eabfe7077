// The bfloat16 part of the vector vocabulary, one entry an instruction set.
#pragma once

#include <cstdint>

namespace saccade::cpu {

/// Lanes of a vector there, and its operations on arrays of `n` numbers, n at most that many lanes.
struct Bf16Lanes {
  const char* name;
  int lanes;
  void (*narrow)(const float* x, std::uint16_t* y, int n);
  void (*widen)(const std::uint16_t* x, float* y, int n);
  /// Where there is one: c[i] + the products of the two bfloat16 of the words a[i], b[i].
  void (*add_pairs)(const std::uint32_t* a, const std::uint32_t* b, float* c);
};

namespace portable {
extern const Bf16Lanes kBf16Lanes;
}
namespace avx2 {
extern const Bf16Lanes kBf16Lanes;
}
namespace avx512 {
extern const Bf16Lanes kBf16Lanes;
}
namespace avx512_bf16 {
extern const Bf16Lanes kBf16Lanes;
}
namespace avx512_emulated {
extern const Bf16Lanes kBf16Lanes;
}

}  // namespace saccade::cpu
