// Growing, shrinking and feathering of an alpha plane, in place.
#pragma once

#include <cstdint>
#include <vector>

#include "saccade/isa.h"
#include "vision/kernels/mask/mask_kernels.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

class MaskShape {
 public:
  /// Throws Error(invalid_argument) for values out of range.
  MaskShape(float grow, float feather, Isa isa);
  bool active() const noexcept { return !half_widths_.empty() || !taps_.empty(); }
  void run(const PlaneView& alpha, Workspace& workspace) const;

 private:
  class Uniform;
  template <class T>
  void grow(const PlaneView& alpha, Workspace& workspace) const;
  template <class T>
  void feather(const PlaneView& alpha, Workspace& workspace) const;

  const MaskKernels* kernels_;
  bool erode_ = false;
  std::vector<int> half_widths_;     // of the disc's row at distance 0, 1, ...
  std::vector<std::uint32_t> taps_;  // Gaussian weights at distance 0, 1, ...; together they make 2^14
};

}  // namespace saccade::vision
