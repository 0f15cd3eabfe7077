#include "cpu/bf16_lanes.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512_bf16 {
namespace {
using namespace saccade::cpu::avx512;
#include "cpu/bf16_lanes.inl"
void add_pairs(const std::uint32_t* a, const std::uint32_t* b, float* c) {
  store(c, add_bf16_pairs(load(c), load_words(a), load_words(b)));
}
}  // namespace

extern const Bf16Lanes kBf16Lanes;
constinit const Bf16Lanes kBf16Lanes{"avx512_bf16", kLanes, narrow, widen, add_pairs};

}  // namespace saccade::cpu::avx512_bf16
