#include "vision/geometry.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "saccade/error.h"

namespace saccade::vision {

namespace {

constexpr int kMaxSide = 65536;

void require_side(const char* what, int width, int height) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    throw Error(ErrorCode::invalid_argument, std::string(what) + " of " + std::to_string(width) + "x" +
                                                 std::to_string(height) + ": each side must be 1 to " +
                                                 std::to_string(kMaxSide));
}

}  // namespace

bool swaps_axes(Rotation rotation) noexcept {
  return rotation == Rotation::clockwise_90 || rotation == Rotation::clockwise_270 ||
         rotation == Rotation::transpose || rotation == Rotation::transverse;
}

// Upright (x, y) of a picture stored W x H is stored (y, H-1-x) after clockwise_90, (W-1-y, x) after
// clockwise_270, (y, x) after transpose, (W-1-y, H-1-x) after transverse.
bool reverses_columns(Rotation rotation) noexcept {
  return rotation == Rotation::half_turn || rotation == Rotation::clockwise_270 ||
         rotation == Rotation::flip_horizontal || rotation == Rotation::transverse;
}

bool reverses_rows(Rotation rotation) noexcept {
  return rotation == Rotation::half_turn || rotation == Rotation::clockwise_90 ||
         rotation == Rotation::flip_vertical || rotation == Rotation::transverse;
}

Geometry make_geometry(const PictureSpec& picture, Fit fit, int network_width, int network_height) {
  require_side("picture", picture.width, picture.height);
  require_side("network input", network_width, network_height);
  if (!(picture.pixel_aspect > 1e-3 && picture.pixel_aspect < 1e3))
    throw Error(ErrorCode::invalid_argument, "pixel aspect of " + std::to_string(picture.pixel_aspect) +
                                                 ": must be within 0.001 and 1000");
  Geometry g;
  g.rotation = picture.rotation;
  g.stored_width = g.upright_width = picture.width;
  g.stored_height = g.upright_height = picture.height;
  if (swaps_axes(picture.rotation)) std::swap(g.upright_width, g.upright_height);
  g.network_width = network_width;
  g.network_height = network_height;
  g.content = {0, 0, network_width, network_height};
  if (fit == Fit::stretch) return g;
  // The size on a screen with square pixels decides the shape of the content.
  const double shown_width = g.upright_width * (swaps_axes(picture.rotation) ? 1.0 : picture.pixel_aspect);
  const double shown_height = g.upright_height * (swaps_axes(picture.rotation) ? picture.pixel_aspect : 1.0);
  const double scale = std::min(network_width / shown_width, network_height / shown_height);
  g.content.width = std::clamp(static_cast<int>(std::lround(shown_width * scale)), 1, network_width);
  g.content.height = std::clamp(static_cast<int>(std::lround(shown_height * scale)), 1, network_height);
  g.content.x = (network_width - g.content.width) / 2;
  g.content.y = (network_height - g.content.height) / 2;
  return g;
}

}  // namespace saccade::vision
