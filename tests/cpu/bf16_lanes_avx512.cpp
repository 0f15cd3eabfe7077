#include "cpu/bf16_lanes.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/bf16_lanes.inl"
}  // namespace

extern const Bf16Lanes kBf16Lanes;
constinit const Bf16Lanes kBf16Lanes{"avx512", kLanes, narrow, widen, nullptr};

}  // namespace saccade::cpu::avx512
