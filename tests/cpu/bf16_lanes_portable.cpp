#include "cpu/bf16_lanes.h"
#include "cpu/simd/portable.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/bf16_lanes.inl"
}  // namespace

extern const Bf16Lanes kBf16Lanes;
constinit const Bf16Lanes kBf16Lanes{"portable", kLanes, narrow, widen, nullptr};

}  // namespace saccade::cpu::portable
