// Every measure of agreement at once, over any number of pairs of masks.
#pragma once

#include <cstdint>
#include <span>

#include "accuracy/metrics.h"
#include "saccade/compare.h"

namespace saccade::accuracy {

class Summary {
 public:
  /// Pixels whose `valid` is 0 count for nothing but the outline; empty: all are valid.
  void add(MaskView first, MaskView second, std::span<const std::uint8_t> valid = {});
  void add(const Summary& other) noexcept;
  MaskAgreement agreement() const noexcept;

 private:
  Confusion confusion_;
  Boundary boundary_;
  MatteError matte_;
  std::int64_t pictures_ = 0;
};

}  // namespace saccade::accuracy
