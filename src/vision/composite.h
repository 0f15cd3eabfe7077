// Effects: what becomes of foreground and background, straight in the picture's own samples.
#pragma once

#include <memory>
#include <vector>

#include "saccade/isa.h"
#include "vision/color.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

enum class Effect : std::uint8_t {
  remove,   ///< transparent where the target has an alpha component, else `color` (chroma green)
  blur,     ///< the background, without colours of the foreground
  replace,  ///< by a picture given to `run`, or by `color`
  mask,     ///< the alpha as a grey picture (in the alpha component as well, if there is one: opaque)
  overlay,  ///< a tint: `color` over the foreground, or a colour for each class
};

struct EffectOptions {
  Effect effect = Effect::remove;
  Rgb color{0, 255, 0};  ///< remove without alpha, replace without a picture, overlay without classes
  float blur_sigma = 0;  ///< standard deviation in pixels; 0: blur_sigma(50, width, height)
  float opacity = 0.5f;  ///< of the overlay
  std::vector<Rgb> class_colors;  ///< overlay: by class; beyond its end a fixed palette
  int background_class = 0;       ///< overlay: a class that is not tinted (-1: none)
  /// remove: pixels of alpha 0 lose their colour too, so that what was removed cannot be brought back.
  bool erase_hidden = true;
};

/// Standard deviation in pixels of a blur of strength 0..100, which looks alike at any resolution (50: 1.5 %
/// of the shorter side).
float blur_sigma(float strength, int width, int height) noexcept;

/// What `run` works on. `alpha` has the stored picture's size and the picture's depth. The target has the
/// source's size and format, or that format with_alpha; it may be the source itself.
struct CompositeFrame {
  ConstPictureView source;
  ConstPlaneView alpha;
  PictureView target;
  const ConstPictureView* background =
      nullptr;  ///< replace: same size, format (without alpha) and colour as the source
  const ConstPlaneView* classes = nullptr;  ///< overlay by class: see ClassMapper
};

/// Prepared for pictures of one kind. Immutable: shared by threads, each with a Workspace of its own.
/// Where alpha is full the foreground's samples are copied bit for bit (overlay and mask excepted).
class Compositor {
 public:
  /// Throws Error(invalid_argument) for options out of range or a target format that does not go with the
  /// source's.
  Compositor(const PictureSpec& source, PixelFormat target, const EffectOptions& options,
             Isa isa = active_isa());
  ~Compositor();
  Compositor(Compositor&&) noexcept;
  Compositor& operator=(Compositor&&) noexcept;

  /// Throws Error(invalid_argument) if a view does not fit.
  void run(const CompositeFrame& frame, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace saccade::vision
