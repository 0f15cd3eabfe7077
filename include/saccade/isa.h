// Instruction sets that kernels are written for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace saccade {

/// Ordered: each contains those before it. `avx2` means AVX2 + FMA + F16C + BMI2, `avx512` means F + BW + DQ
/// + VL, `avx512_vnni` means avx512 + VNNI, `avx512_bf16` means avx512_vnni + BF16, `amx` means avx512_bf16 +
/// AMX-TILE + AMX-BF16 + AMX-INT8.
enum class Isa : std::uint8_t { portable, avx2, avx512, avx512_vnni, avx512_bf16, amx };
inline constexpr std::size_t kIsaCount = 6;

const char* isa_name(Isa isa) noexcept;
std::optional<Isa> parse_isa(std::string_view name) noexcept;

/// What this CPU and operating system support.
Isa detected_isa() noexcept;
/// detected_isa() capped by the environment variable SACCADE_MAX_ISA (read once; an unknown value throws
/// Error(invalid_argument)).
Isa active_isa();

}  // namespace saccade
