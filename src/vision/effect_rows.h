// What an effect does to one row of one colour component.
#pragma once

#include <memory>

#include "vision/composite.h"
#include "vision/frame_rows.h"

namespace saccade::vision {

struct RowJob {
  int component;
  int y;
  int n;
  const void* source;
  const void* alpha;  ///< at the component's own resolution
  void* target;       ///< may be `source`
};

/// Prepared for pictures of one kind; immutable. `state` is memory of one frame, state_bytes() long.
class EffectRows {
 public:
  virtual ~EffectRows() = default;
  virtual std::size_t state_bytes() const noexcept { return 0; }
  /// Looks at the whole frame before its first row.
  virtual void prepare(FrameRows&, std::uint8_t* /*state*/) const {}
  virtual void row(const RowJob& job, FrameRows& rows, std::uint8_t* state) const = 0;
};

/// remove and replace by a colour.
std::unique_ptr<EffectRows> make_flat_effect(const PictureSpec& spec, const EffectOptions& options,
                                             const SampleOps& ops);
/// remove where the target carries alpha: colours stay, except where nothing of them may be seen.
std::unique_ptr<EffectRows> make_transparent_effect(const PictureSpec& spec, const EffectOptions& options,
                                                    const SampleOps& ops);
/// replace by a picture.
std::unique_ptr<EffectRows> make_picture_effect(const SampleOps& ops);
std::unique_ptr<EffectRows> make_matte_effect(const PictureSpec& spec, const SampleOps& ops);
std::unique_ptr<EffectRows> make_overlay_effect(const PictureSpec& spec, const EffectOptions& options,
                                                const SampleOps& ops);
std::unique_ptr<EffectRows> make_blur_effect(const PictureSpec& spec, const EffectOptions& options,
                                             const SampleOps& ops);

}  // namespace saccade::vision
