// What each layer's level does to the masks.
#pragma once

#include <vector>

#include "quantise/agreement.h"
#include "quantise/variants.h"

namespace saccade::quantise {

/// Errors of layers at levels, as Brink measures them on one picture. Measured when first asked about, layer
/// by layer, or several together where the network is large. In bytes and coarse a layer alone is lowered;
/// bf16 does nothing to a layer between others in fp32, so there one alone is not.
class Sensitivity {
 public:
  /// All must outlive it.
  Sensitivity(Variants& variants, const Question& question, const std::vector<Sample>& measured,
              const Variant& fp32);
  /// 0 in fp32.
  double error(std::size_t layer, Level level);

 private:
  const std::vector<double>& errors(Level level);
  std::vector<double> measure(Level level);
  Tensor output_of(const Levels& levels);

  Variants& variants_;
  const Question& question_;
  const Sample& probe_;
  Tensor exact_;
  std::vector<double> errors_[kLevels];
};

}  // namespace saccade::quantise
