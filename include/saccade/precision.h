// In what numbers a network computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {

/// `fp32`: as the model says. `bf16`, `fp16`: weights and activations in 16 bits, sums in single precision.
/// `int8`: weights and activations in bytes, exact sums. `automatic`: whichever is fastest while its masks
/// stay those of fp32. Models that are quantised already run in bytes under each of them.
enum class Precision : std::uint8_t { fp32, bf16, fp16, int8, automatic };
inline constexpr std::size_t kPrecisionCount = 5;

/// "fp32", "bf16", "fp16", "int8", "auto".
const char* precision_name(Precision precision) noexcept;
std::optional<Precision> parse_precision(std::string_view name) noexcept;

/// What `int8` or `auto` came to, and what it costs. Nothing is measured for other precisions.
struct PrecisionReport {
  Precision asked = Precision::fp32;
  Precision used = Precision::fp32;      ///< never `automatic`
  int layers = 0;                        ///< convolutions that could be lowered
  int lowered = 0;                       ///< those that were
  std::vector<std::string> fp32_layers;  ///< those that were not
  int coarse =
      0;  ///< of those in bf16: run after Winograd's transforms, and err more (CompileOptions::coarse)
  std::vector<std::string> exact_layers;  ///< those that could have been, and were not
  int calibration_pictures = 0;           ///< ranges were measured on
  int measured_pictures = 0;              ///< masks were compared on
  double mask_change = 0;                 ///< share of pixels whose class differs from that in fp32
  double miou = 0, fp32_miou = 0;         ///< against labels, where there are any
  bool labelled = false;
  double run_ms = 0, fp32_run_ms = 0;  ///< of one run of the network; 0: not measured
  bool from_cache = false;             ///< decided in an earlier run

  /// What was looked at.
  struct Candidate {
    Precision precision = Precision::fp32;
    int lowered = 0, coarse = 0;
    double mask_change = 0, miou_drop = 0;  ///< 0 where the time already says no
    double run_ms = 0;                      ///< 0: not measured
    std::string verdict;                    ///< "used", "slower than fp32", "changes too much", …
  };
  std::vector<Candidate> candidates;
};

}  // namespace saccade
