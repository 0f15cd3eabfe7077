// Where the parts of a picture lie that a network sees one by one, and what each of them gives to the whole.
#pragma once

#include <vector>

namespace saccade::vision {

/// How far pixels of a fully convolutional network's result look, in one direction.
struct TileRule {
  int step_in = 1, step_out = 1;  ///< so many pixels of the input are so many of the result, in lowest terms
  int before = 0, after = 0;      ///< pixels of a tile's result that are wrong next to an inner edge
  int period = 1;                 ///< tiles begin at multiples of it, and their sizes are such
};

/// A part along one direction.
struct Part {
  int begin = 0;               ///< its first pixel of the picture
  int out_begin = 0;           ///< where its result begins in the whole one
  int first = 0, last = 0;     ///< the pixels [first, last) of the whole result that it counts for …
  std::vector<float> weights;  ///< … and how much, if there is more than one part for a pixel; else empty
};

/// The parts along one direction, first to last.
struct PartsAxis {
  int pixels = 0;                 ///< of the picture
  int padded = 0;                 ///< with its last pixel repeated, so that all parts lie inside
  int part = 0;                   ///< pixels of a part
  int part_out = 0;               ///< and of its result
  int out = 0;                    ///< pixels of the whole result
  int step_in = 1, step_out = 1;  ///< pixels of the picture to pixels of the result
  bool enlarged = false;          ///< a part's result must first be brought to the size of the part
  std::vector<Part> parts;
  bool weighted() const noexcept { return !parts.front().weights.empty(); }
};

/// Tiles whose results are those of the whole picture: each pixel comes from a tile that sees all that it
/// looks at. `tile` is a multiple of the rule's period. Throws Error(invalid_argument) if tiles of that size
/// have no right pixel to add.
PartsAxis tile_axis(int pixels, int tile, const TileRule& rule);

/// The least size for which tile_axis() works on any picture.
int least_tile(const TileRule& rule) noexcept;

/// Windows that overlap by at least the share `overlap` (0 .. 0.95) of their size, spread evenly. With
/// `weighted` every pixel is a mean of all windows that hold it, with the weights of a Gaussian around each
/// window's centre; else it belongs to the window whose centre is nearest. `result` is the size of a window's
/// result.
PartsAxis window_axis(int pixels, int window, int result, double overlap, bool weighted);

}  // namespace saccade::vision
