// Where a stored picture, its upright form and the network's input lie on each other.
#pragma once

#include "saccade/model_spec.h"
#include "vision/picture.h"

namespace saccade::vision {

/// True if rows of the stored picture become columns of the upright one.
bool swaps_axes(Rotation rotation) noexcept;
/// True if the stored picture's columns (rows) are met from last to first when the upright one is walked left
/// to right, top to bottom.
bool reverses_columns(Rotation rotation) noexcept;
bool reverses_rows(Rotation rotation) noexcept;

/// A rectangle of whole pixels.
struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Rect&) const = default;
};

/// How the upright picture lies in the network's input.
struct Geometry {
  Rotation rotation = Rotation::none;
  int stored_width = 0, stored_height = 0;
  int upright_width = 0, upright_height = 0;
  int network_width = 0, network_height = 0;
  Rect content;  ///< part of the network's input that the picture fills; the rest is letterbox bars
};

/// Throws Error(invalid_argument) for sides outside 1..65536.
Geometry make_geometry(const PictureSpec& picture, Fit fit, int network_width, int network_height);

}  // namespace saccade::vision
