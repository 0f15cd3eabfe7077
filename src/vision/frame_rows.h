// One frame seen as rows of components: packed samples are unpacked, chroma gets an alpha of its own.
#pragma once

#include <array>
#include <cstdint>

#include "vision/composite.h"
#include "vision/picture.h"
#include "vision/sample_ops.h"

namespace saccade::vision {

/// Of one call on one thread. Rows that are returned stay valid until the next call for the same component
/// kind.
class FrameRows {
 public:
  /// `scratch` holds scratch_bytes(source.width, depth).
  FrameRows(const CompositeFrame& frame, const SampleOps& ops, std::uint8_t* scratch);
  static std::size_t scratch_bytes(int width, int depth) noexcept;

  const CompositeFrame& frame() const noexcept { return frame_; }
  const FormatInfo& info() const noexcept { return info_; }
  int width(int c) const noexcept { return info_.width_of(c, frame_.source.width); }
  int height(int c) const noexcept { return info_.height_of(c, frame_.source.height); }
  /// True if the component is coarser than alpha, so that its alpha is a mean.
  bool subsampled(int c) const noexcept {
    return info_.is_chroma(c) && (info_.shift_x > 0 || info_.shift_y > 0);
  }

  const void* source(int c, int y);
  const void* background(int c, int y);
  const void* alpha(int c, int y);
  /// Where row y of a component of the target is to be written; `commit` brings it to its place.
  void* target(int c, int y);
  void commit(int c, int y);

 private:
  const void* read(const ConstPictureView& view, int c, int y, std::uint8_t* buffer) const;
  const std::uint8_t* alpha_row(int y) const noexcept;

  const CompositeFrame& frame_;
  const SampleOps& ops_;
  const FormatInfo& info_;
  const FormatInfo& target_info_;
  std::uint8_t* source_;
  std::uint8_t* background_;
  std::uint8_t* chroma_alpha_;
  std::uint8_t* target_;
  int chroma_alpha_y_ = -1;
};

}  // namespace saccade::vision
