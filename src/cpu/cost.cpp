#include "cpu/cost.h"

namespace saccade::cpu {

double multiply_adds_per_ns(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return 8;
    case Isa::avx2:
      return 48;
    default:
      return 80;
  }
}

double bytes_per_ns(Isa isa) noexcept { return isa == Isa::portable ? 15 : 25; }

int lanes(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return 4;
    case Isa::avx2:
      return 8;
    default:
      return 16;
  }
}

}  // namespace saccade::cpu
