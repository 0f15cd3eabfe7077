// Foreground colours at soft edges: what a pixel of the edge would show without the background that shines
// through.
#pragma once

#include <cstdint>

#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

/// Estimates foreground and background around each soft pixel as means weighted by alpha and by what is left
/// of it, and takes from the pixel what the background gave (docs/numerics.md). Pixels that alpha knows for
/// sure are not touched. Immutable: shared by threads, each with a Workspace of its own.
class Decontaminator {
 public:
  explicit Decontaminator(const PictureSpec& picture) : picture_(picture) {}

  /// `picture` is changed in place; `alpha` has its size. Throws Error(invalid_argument) if a view does not
  /// fit.
  void run(const PictureView& picture, const ConstPlaneView& alpha, Workspace& workspace) const;

 private:
  PictureSpec picture_;
};

}  // namespace saccade::vision
