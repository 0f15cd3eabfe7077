#include "cpu/bf16_lanes.h"
#include "cpu/simd/avx2.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/bf16_lanes.inl"
}  // namespace

extern const Bf16Lanes kBf16Lanes;
constinit const Bf16Lanes kBf16Lanes{"avx2", kLanes, narrow, widen, nullptr};

}  // namespace saccade::cpu::avx2
