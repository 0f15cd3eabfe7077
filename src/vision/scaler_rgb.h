// 4:2:0 pictures as MediaPipe sees them when FFmpeg's scaler has made RGB frames of them: the same bytes, for
// the sampled pixels alone. Its arithmetic differs from the exact matrices by one to two steps, and masks by
// more than one should think, so that the rule `mediapipe`, which is there to give MediaPipe's masks, has to
// follow it (docs/numerics.md).
#pragma once

#include <array>
#include <cstdint>

#include "vision/axis.h"
#include "vision/picture.h"

namespace saccade::vision {

class ScalerRgb {
 public:
  /// True for the formats that this describes.
  static bool handles(PixelFormat format) noexcept;
  explicit ScalerRgb(const PictureSpec& picture);

  /// Bytes of scratch that `sample` needs.
  std::size_t scratch_bytes() const noexcept;
  /// R, G, B (0..255, whole numbers) of one row of targets: bilinear in steps of 1/32 between pixels of the
  /// RGB frame.
  void sample(const ConstPictureView& view, const LinearAxis& x, const LinearAxis& y, int row,
              const std::array<float*, 3>& out, std::uint8_t* scratch) const noexcept;

 private:
  struct Pixel {
    int r, g, b;
  };
  Pixel pixel(const std::uint8_t* luma, const std::uint8_t* u, const std::uint8_t* v, int x) const noexcept;
  void chroma_row(const ConstPictureView& view, int c, int luma_row, std::uint8_t* out) const noexcept;

  int width_, height_, chroma_width_, chroma_height_;
  // Chroma as a displacement along the luma table.
  std::array<std::int16_t, 256> red_of_v_, blue_of_u_, green_of_u_, green_of_v_;
  static constexpr int kLowest = -640, kHighest = 896;
  std::array<std::uint8_t, kHighest - kLowest> luma_;
};

}  // namespace saccade::vision
