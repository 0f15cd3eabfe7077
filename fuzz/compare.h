// Whether two executors agree on a model that nobody knows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "saccade/tensor.h"

namespace saccade::fuzz {

/// What the reference executor gave, and what it gives where weights and inputs are moved by a part in a
/// million.
struct Reference {
  std::vector<Tensor> results;
  std::vector<std::vector<Tensor>> nudged;
  double largest = 0;   ///< magnitude of all values on the way
  bool rounds = false;  ///< somewhere a real number becomes an integer of few bits
};

/// The first difference that rounding does not explain, or "". An element may differ by a thousandth of the
/// largest element of its output, by a hundred times what a part in a million changes it by, and by what is
/// lost where values on the way are much larger than the result.
std::string difference(const Reference& reference, std::span<const Tensor> got);

/// The same bits.
bool identical(const Tensor& a, const Tensor& b);

}  // namespace saccade::fuzz
