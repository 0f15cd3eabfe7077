// In what numbers a network computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace saccade {

/// `fp32`: as the model says. `bf16`, `fp16`: weights and activations in 16 bits, sums in single precision.
/// `int8`: weights and activations in bytes, exact sums. `automatic`: whichever is fastest while its masks
/// stay those of fp32. Models that are quantised already run in bytes under each of them.
enum class Precision : std::uint8_t { fp32, bf16, fp16, int8, automatic };
inline constexpr std::size_t kPrecisionCount = 5;

/// "fp32", "bf16", "fp16", "int8", "auto".
const char* precision_name(Precision precision) noexcept;
std::optional<Precision> parse_precision(std::string_view name) noexcept;

}  // namespace saccade
