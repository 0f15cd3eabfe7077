// How much of a pixel is foreground, from what a network says of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "saccade/isa.h"
#include "saccade/model_spec.h"
#include "vision/kernels/mask/mask_kernels.h"
#include "vision/mask.h"

namespace saccade::vision {

/// Immutable.
class Foreground {
 public:
  /// `classes` as MaskOptions::classes. Throws Error(invalid_argument) for one that the output does not have.
  Foreground(const OutputSpec& spec, const OutputLayout& layout, const std::vector<int>& classes, Isa isa);

  /// Probabilities of the n pixels that lie `pixel_step` elements apart from `first` on, their channels
  /// `channel_step` apart: n values in `values`, or the output's own where these are probabilities already.
  /// They are `step` apart.
  const float* read(const void* first, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step, int n,
                    float* values, std::ptrdiff_t& step) const noexcept;
  /// A flag for each class, whether it is foreground; empty for outputs without classes.
  const std::vector<std::uint8_t>& selected() const noexcept { return selected_; }

 private:
  OutputKind kind_;
  DType dtype_;
  int channels_, channel_;  ///< the channel that counts alone; -1: none is named
  float bound_;             ///< a lead in logits beyond which a probability is 0 or 1, see docs/numerics.md
  const MaskKernels* kernels_;
  std::vector<std::uint8_t> selected_;
};

}  // namespace saccade::vision
