// Numbers that look random and depend on nothing but a seed and their place in the tensor.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/op_def.h"

namespace saccade::ops {

/// The generator SplitMix64, of which any number can be had without those before it.
class RandomStream {
 public:
  explicit RandomStream(std::int64_t seed) : start_(mix(static_cast<std::uint64_t>(seed))) {}

  /// Number i, evenly distributed over the multiples of 2^-53 in [0, 1).
  double uniform(std::uint64_t i) const {
    return static_cast<double>(mix(start_ + (i + 1) * kStep) >> 11) * 0x1p-53;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t start_;
};

/// Shape rule of the generators: the input is the shape, the attribute `dtype` the type.
void infer_random(InferContext& context);

}  // namespace saccade::ops
