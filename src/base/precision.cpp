#include "saccade/precision.h"

#include <algorithm>
#include <array>

namespace saccade {

namespace {
constexpr std::array<const char*, kPrecisionCount> kNames = {"fp32", "bf16", "fp16", "int8", "auto"};
}

const char* precision_name(Precision precision) noexcept {
  return kNames[static_cast<std::size_t>(precision)];
}

std::optional<Precision> parse_precision(std::string_view name) noexcept {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Precision>(found - kNames.begin());
}

}  // namespace saccade
