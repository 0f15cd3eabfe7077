// The compositing kernels behind one face for 8-bit and 16-bit samples. Lengths are in samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "vision/kernels/composite/composite_kernels.h"

namespace saccade::vision {

class SampleOps {
 public:
  SampleOps(const CompositeKernels& kernels, int depth) : k_(&kernels), depth_(depth) {}

  const CompositeKernels& kernels() const noexcept { return *k_; }
  int depth() const noexcept { return depth_; }
  int bytes() const noexcept { return depth_ > 8 ? 2 : 1; }
  int full() const noexcept { return (1 << depth_) - 1; }

  void blend(const void* source, const void* background, const void* alpha, int n, void* out) const noexcept {
    if (bytes() == 1)
      k_->blend_u8(u8(source), u8(background), u8(alpha), n, u8(out));
    else
      k_->blend_u16(u16(source), u16(background), u16(alpha), depth_, n, u16(out));
  }
  void blend_flat(const void* source, int background, const void* alpha, int n, void* out) const noexcept {
    if (bytes() == 1)
      k_->blend_flat_u8(u8(source), static_cast<std::uint8_t>(background), u8(alpha), n, u8(out));
    else
      k_->blend_flat_u16(u16(source), static_cast<std::uint16_t>(background), u16(alpha), depth_, n,
                         u16(out));
  }
  void blend_spread(const void* source, const std::int16_t* row, const SpreadTable& table, const void* alpha,
                    void* out) const noexcept {
    if (bytes() == 1)
      k_->blend_spread_u8(u8(source), row, table, u8(alpha), u8(out));
    else
      k_->blend_spread_u16(u16(source), row, table, u16(alpha), depth_, u16(out));
  }
  void chroma_alpha(const ChromaAlpha& a) const noexcept {
    bytes() == 1 ? k_->chroma_alpha_u8(a) : k_->chroma_alpha_u16(a);
  }
  void cell_sums(const CellSums& a) const noexcept {
    bytes() == 1 ? k_->cell_sums_u8(a) : k_->cell_sums_u16(a);
  }
  void multiply(const void* a, const void* b, int n, void* out) const noexcept {
    if (bytes() == 1)
      k_->multiply_u8(u8(a), u8(b), n, u8(out));
    else
      k_->multiply_u16(u16(a), u16(b), depth_, n, u16(out));
  }
  void veil(const void* alpha, int opacity, int n, void* out) const noexcept {
    if (bytes() == 1)
      k_->veil_u8(u8(alpha), static_cast<std::uint8_t>(opacity), n, u8(out));
    else
      k_->veil_u16(u16(alpha), static_cast<std::uint16_t>(opacity), depth_, n, u16(out));
  }
  void erase(const void* source, const void* alpha, int value, int n, void* out) const noexcept {
    if (bytes() == 1)
      k_->erase_u8(u8(source), u8(alpha), static_cast<std::uint8_t>(value), n, u8(out));
    else
      k_->erase_u16(u16(source), u16(alpha), static_cast<std::uint16_t>(value), n, u16(out));
  }
  void fill(void* out, int value, int n) const noexcept {
    if (bytes() == 1)
      std::memset(out, value, static_cast<std::size_t>(n));
    else
      std::fill_n(u16(out), n, static_cast<std::uint16_t>(value));
  }
  void copy(const void* in, int n, void* out) const noexcept {
    if (in != out) std::memcpy(out, in, static_cast<std::size_t>(n) * static_cast<std::size_t>(bytes()));
  }

 private:
  static const std::uint8_t* u8(const void* p) noexcept { return static_cast<const std::uint8_t*>(p); }
  static std::uint8_t* u8(void* p) noexcept { return static_cast<std::uint8_t*>(p); }
  static const std::uint16_t* u16(const void* p) noexcept { return static_cast<const std::uint16_t*>(p); }
  static std::uint16_t* u16(void* p) noexcept { return static_cast<std::uint16_t*>(p); }

  const CompositeKernels* k_;
  int depth_;
};

}  // namespace saccade::vision
