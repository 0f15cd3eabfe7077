// What a core does at most: loops that do nothing but arithmetic, or nothing but loads or stores. For
// ceilings.h.
#pragma once

#include <cstddef>

namespace saccade::cpu {

/// One instruction set's loops. `floats` is a multiple of 256, `p` aligned to 64 bytes.
struct Probe {
  double (*multiply_adds)(long rounds);               ///< returns how many it did
  float (*read)(const float* p, std::size_t floats);  ///< returns something made of all of it
  void (*write)(float* p, std::size_t floats);
  void (*stream)(float* p, std::size_t floats);  ///< writes past the caches
};

namespace portable {
extern const Probe kProbe;
}
namespace avx2 {
extern const Probe kProbe;
}
namespace avx512 {
extern const Probe kProbe;
}
namespace avx512_emulated {
extern const Probe kProbe;
}

}  // namespace saccade::cpu
