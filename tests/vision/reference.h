// Plain double-precision forms of what vision computes, and pictures to try them on.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "saccade/isa.h"
#include "vision/geometry.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/picture.h"

namespace saccade::vision::testing {

using Generator = std::mt19937;

/// Instruction sets this machine can run.
std::vector<Isa> runnable_isas();
std::vector<PixelFormat> all_formats();

/// A picture inside a larger allocation of known content, so that reads are on odd strides and writes outside
/// are seen.
class GuardedPicture {
 public:
  GuardedPicture(PixelFormat format, int width, int height, ColorSpec color = {});
  const PictureView& view() const { return view_; }
  /// True if no byte outside the rows was changed.
  bool intact() const;

 private:
  PictureView view_;
  std::array<std::vector<std::uint8_t>, 4> storage_;
  std::array<std::size_t, 4> row_bytes_{};
};

int get(const ConstPictureView& view, int component, int x, int y);
void set(const PictureView& view, int component, int x, int y, int value);
/// Random samples over the whole range of the depth.
void fill_random(const PictureView& view, Generator& random);
/// Smooth waves plus some noise: like a picture, for tests with tolerances on gradients.
void fill_smooth(const PictureView& view, Generator& random);
void fill_flat(const PictureView& view, std::array<int, 4> samples);
/// Number of samples that differ over all components.
std::int64_t differences(const ConstPictureView& a, const ConstPictureView& b);

int get(const ConstPlaneView& view, int x, int y);
void set(const PlaneView& view, int x, int y, int value);

/// Luma position of chroma sample 0 in each direction (0 for a component that is not subsampled).
std::array<double, 2> first_position(const ConstPictureView& view, int component);
/// Bilinear value of a component at a luma position of the stored picture, clamped at the edges.
double component_at(const ConstPictureView& view, int component, double x, double y);
/// R, G, B in 0..255, not rounded, clamped.
std::array<double, 3> to_rgb(const ConstPictureView& view, std::array<double, 3> samples);
std::array<double, 3> rgb_at(const ConstPictureView& view, double x, double y);
/// Stored position of an upright pixel position.
std::array<double, 2> stored_position(Rotation rotation, int width, int height, double x, double y);

}  // namespace saccade::vision::testing
