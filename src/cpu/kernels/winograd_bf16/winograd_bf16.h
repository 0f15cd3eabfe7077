// Winograd convolution F(4x4, 3x3) whose products are of bfloat16, channels last, stride 1, any dilation. Its
// error is a multiple of that of a convolution of bfloat16: for layers that are said to bear it. Plain:
// kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/kernels/winograd/winograd.h"

namespace saccade::cpu {

/// Words, of two channels each, of a slice, whose products are added up in registers: a slice of a register
/// block of filters takes 16 KB of the first-level cache.
inline constexpr std::int64_t kWinogradWords = 64;
/// Channels that are transformed together. Where the input is of bfloat16, even channels of such a group come
/// first, then the odd ones, as they come out of its words; a group that is not full keeps its order.
inline constexpr std::int64_t kWinogradGroup = 32;

/// Place of a channel among the transformed ones.
[[gnu::always_inline]] constexpr std::int64_t winograd_place(std::int64_t channel, std::int64_t channels,
                                                             bool src_bf16) {
  const std::int64_t group = channel / kWinogradGroup * kWinogradGroup, at = channel - group;
  if (!src_bf16 || group + kWinogradGroup > channels) return channel;
  return group + at / 2 + at % 2 * (kWinogradGroup / 2);
}
/// Words between two tiles of the slice that `left` words are left for: whole groups.
[[gnu::always_inline]] constexpr std::int64_t word_row(std::int64_t left) {
  return left < kWinogradWords ? (left + 15) / 16 * 16 : kWinogradWords;
}

/// As the Winograd convolution of floats, but for these. `position_step` is in words, `weights` are words:
/// [panel][position][slice][block][word][vectors of the block x lanes].
struct WinogradBf16State : WinogradState {
  std::int64_t words;  ///< of a pixel
};

namespace avx512 {
void winograd_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void winograd_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
