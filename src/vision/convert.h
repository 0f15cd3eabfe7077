// Pictures to other sizes, formats, orientations and colours. For backgrounds and still pictures: not for the
// hot path.
#pragma once

#include <memory>

#include "saccade/isa.h"
#include "vision/geometry.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

/// How a picture of another shape is brought to the target's size. `cover` keeps the aspect ratio and cuts
/// what is too much, `contain` keeps it and leaves black bars, `stretch` does not keep it.
enum class Placement : std::uint8_t { cover, contain, stretch };

/// From any format, size, rotation and colour to any other. Immutable: shared by threads, each with a
/// Workspace of its own. The target's rotation says how *it* is to be turned for display: a background is
/// fitted to the upright picture.
class Converter {
 public:
  Converter(const PictureSpec& source, const PictureSpec& target, Placement placement = Placement::stretch,
            Isa isa = active_isa());
  ~Converter();
  Converter(Converter&&) noexcept;
  Converter& operator=(Converter&&) noexcept;

  /// Throws Error(invalid_argument) if a view does not fit.
  void run(const ConstPictureView& source, const PictureView& target, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace saccade::vision
