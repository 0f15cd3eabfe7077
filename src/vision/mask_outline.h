// A binary mask as polygons along the edges of its pixels.
#pragma once

#include <vector>

#include "vision/picture.h"

namespace saccade::vision {

/// A corner of a pixel: (0, 0) is the picture's top left corner, (width, height) its bottom right one.
struct Corner {
  int x = 0, y = 0;
  bool operator==(const Corner&) const = default;
};
/// A closed line without its first corner repeated; corners are where the direction changes.
using Ring = std::vector<Corner>;

/// A connected part (pixels that share an edge) of the foreground: its outline and those of its holes.
struct Outline {
  Ring outer;
  std::vector<Ring> holes;
};

/// Every part of the foreground (alpha * 2 > full), top to bottom by its first pixel. Seen on the screen,
/// outer rings run clockwise and holes counterclockwise. Filling all rings by the even-odd rule at the
/// centres of the pixels gives the mask back.
std::vector<Outline> mask_outlines(const ConstPlaneView& alpha);

}  // namespace saccade::vision
