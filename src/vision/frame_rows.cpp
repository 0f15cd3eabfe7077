#include "vision/frame_rows.h"

#include <algorithm>

namespace saccade::vision {

namespace {

// Kernels may read a vector past the end of rows in scratch memory.
std::size_t row_bytes(int width, int depth) noexcept {
  return (static_cast<std::size_t>(width) * (depth > 8 ? 2 : 1) + 127) / 64 * 64;
}

bool cosited_horizontally(ChromaLocation l) noexcept {
  return l == ChromaLocation::left || l == ChromaLocation::top_left || l == ChromaLocation::bottom_left;
}

}  // namespace

std::size_t FrameRows::scratch_bytes(int width, int depth) noexcept { return 4 * row_bytes(width, depth); }

FrameRows::FrameRows(const CompositeFrame& frame, const SampleOps& ops, std::uint8_t* scratch)
    : frame_(frame),
      ops_(ops),
      info_(format_info(frame.source.format)),
      target_info_(format_info(frame.target.format)),
      source_(scratch) {
  const std::size_t bytes = row_bytes(frame.source.width, ops.depth());
  background_ = source_ + bytes;
  chroma_alpha_ = background_ + bytes;
  target_ = chroma_alpha_ + bytes;
}

const void* FrameRows::read(const ConstPictureView& view, int c, int y, std::uint8_t* buffer) const {
  const FormatInfo& info = format_info(view.format);
  const Component& part = info.component[static_cast<std::size_t>(c)];
  const std::uint8_t* row = view.planes[part.plane] + view.strides[part.plane] * y;
  if (part.step == 1) return row;
  ops_.kernels().unpack_u8(row + part.offset, part.step, info.width_of(c, view.width), buffer);
  return buffer;
}

const void* FrameRows::source(int c, int y) { return read(frame_.source, c, y, source_); }
const void* FrameRows::background(int c, int y) { return read(*frame_.background, c, y, background_); }

const std::uint8_t* FrameRows::alpha_row(int y) const noexcept {
  return frame_.alpha.data + frame_.alpha.stride * std::clamp(y, 0, frame_.alpha.height - 1);
}

const void* FrameRows::alpha(int c, int y) {
  if (!subsampled(c)) return alpha_row(y);
  if (y == chroma_alpha_y_) return chroma_alpha_;
  chroma_alpha_y_ = y;
  const ChromaLocation location = frame_.source.color.chroma;
  ChromaAlpha a{};
  const int top = y << info_.shift_y;
  if (info_.shift_y == 0) {
    a.rows = 1;
    a.row[0] = alpha_row(top);
  } else if (location == ChromaLocation::left || location == ChromaLocation::center) {
    a.rows = 2;
    a.row[0] = alpha_row(top);
    a.row[1] = alpha_row(top + 1);
  } else {
    // On a luma row: that row twice and its two neighbours.
    const bool bottom = location == ChromaLocation::bottom || location == ChromaLocation::bottom_left;
    const int middle = top + (bottom ? 1 : 0);
    a.rows = 4;
    a.row[0] = alpha_row(middle - 1);
    a.row[1] = a.row[2] = alpha_row(middle);
    a.row[3] = alpha_row(middle + 1);
  }
  a.cosited = cosited_horizontally(location);
  a.luma_width = frame_.source.width;
  a.width = width(c);
  a.out = chroma_alpha_;
  ops_.chroma_alpha(a);
  return chroma_alpha_;
}

void* FrameRows::target(int c, int y) {
  const Component& part = target_info_.component[static_cast<std::size_t>(c)];
  if (part.step != 1) return target_;
  return frame_.target.planes[part.plane] + frame_.target.strides[part.plane] * y;
}

void FrameRows::commit(int c, int y) {
  const Component& part = target_info_.component[static_cast<std::size_t>(c)];
  if (part.step == 1) return;
  std::uint8_t* row = frame_.target.planes[part.plane] + frame_.target.strides[part.plane] * y;
  ops_.kernels().pack_u8(target_, part.step, target_info_.width_of(c, frame_.target.width),
                         row + part.offset);
}

}  // namespace saccade::vision
