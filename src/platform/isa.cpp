#include "saccade/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "saccade/error.h"

namespace saccade {

namespace {

constexpr std::array<const char*, kIsaCount> kNames = {"portable",    "avx2",        "avx512",
                                                       "avx512_vnni", "avx512_bf16", "amx"};

// The kernel grants the 8 KB of tile state once a process asks for it (arch_prctl ARCH_REQ_XCOMP_PERM,
// feature 18).
bool request_tile_permission() noexcept {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtileData = 18;
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtileData) == 0;
}

bool has_amx() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  return (d & (kBf16 | kTile | kInt8)) == (kBf16 | kTile | kInt8) && request_tile_permission();
}

Isa detect() noexcept {
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (!avx2) return Isa::portable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return Isa::avx2;
  if (!__builtin_cpu_supports("avx512vnni")) return Isa::avx512;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::avx512_vnni;
  return has_amx() ? Isa::amx : Isa::avx512_bf16;
}

}  // namespace

const char* isa_name(Isa isa) noexcept { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> parse_isa(std::string_view name) noexcept {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Isa>(found - kNames.begin());
}

Isa detected_isa() noexcept {
  static const Isa isa = detect();
  return isa;
}

Isa active_isa() {
  static const Isa isa = [] {
    const char* cap = std::getenv("SACCADE_MAX_ISA");
    if (cap == nullptr || *cap == '\0') return detected_isa();
    const std::optional<Isa> wanted = parse_isa(cap);
    if (!wanted)
      throw Error(ErrorCode::invalid_argument,
                  std::string("SACCADE_MAX_ISA is '") + cap +
                      "', expected portable, avx2, avx512, avx512_vnni, avx512_bf16 or amx");
    return std::min(*wanted, detected_isa());
  }();
  return isa;
}

}  // namespace saccade
