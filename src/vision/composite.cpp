#include "vision/composite.h"

#include <algorithm>
#include <string>
#include <utility>

#include "saccade/error.h"
#include "vision/effect_rows.h"
#include "vision/frame_rows.h"
#include "vision/geometry.h"
#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

namespace {

constexpr float kMaxSigma = 1024;

// What stands in the alpha component of a target that has one.
enum class TargetAlpha : std::uint8_t { opaque, source, mask };

std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

void require_plane(const ConstPlaneView& plane, const PictureSpec& spec, int depth, const char* what) {
  if (plane.data == nullptr || plane.width != spec.width || plane.height != spec.height ||
      plane.depth != depth)
    throw Error(ErrorCode::invalid_argument,
                std::string(what) + " plane of " + size_text(plane.width, plane.height) + " at " +
                    std::to_string(plane.depth) + " bits, expected " + size_text(spec.width, spec.height) +
                    " at " + std::to_string(depth));
}

std::unique_ptr<EffectRows> make_effect(const PictureSpec& spec, bool transparent,
                                        const EffectOptions& options, const SampleOps& ops) {
  switch (options.effect) {
    case Effect::remove:
      return transparent ? make_transparent_effect(spec, options, ops) : make_flat_effect(spec, options, ops);
    case Effect::blur:
      return make_blur_effect(spec, options, ops);
    case Effect::replace:
      return make_flat_effect(spec, options, ops);
    case Effect::mask:
      return make_matte_effect(spec, ops);
    case Effect::overlay:
      return make_overlay_effect(spec, options, ops);
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown effect " + std::to_string(static_cast<int>(options.effect)));
}

}  // namespace

struct Compositor::Impl {
  Impl(const PictureSpec& source_spec, PixelFormat target, const EffectOptions& effect_options, Isa isa)
      : spec(source_spec),
        target_spec(source_spec),
        background_spec(source_spec),
        info(format_info(source_spec.format)),
        target_info(format_info(target)),
        options(effect_options),
        ops(composite_kernels(isa), info.depth) {
    target_spec.format = target;
    background_spec.format = without_alpha(spec.format);
    effect = make_effect(spec, target_info.alpha, options, ops);
    by_picture = make_picture_effect(ops);
    // A source with alpha shows what is behind it wherever something is put there.
    combines_alpha = info.alpha && (options.effect == Effect::remove || options.effect == Effect::replace);
    if (options.effect == Effect::remove)
      target_alpha = TargetAlpha::mask;
    else if (info.alpha && (options.effect == Effect::blur || options.effect == Effect::overlay))
      target_alpha = TargetAlpha::source;
  }

  PictureSpec spec, target_spec, background_spec;
  FormatInfo info, target_info;
  EffectOptions options;
  SampleOps ops;
  std::unique_ptr<EffectRows> effect, by_picture;
  bool combines_alpha = false;
  TargetAlpha target_alpha = TargetAlpha::opaque;

  std::ptrdiff_t alpha_stride() const noexcept {
    return (static_cast<std::ptrdiff_t>(spec.width) * ops.bytes() + 63) / 64 * 64;
  }
  void require_views(const CompositeFrame& frame) const;
  ConstPlaneView combine_alpha(const CompositeFrame& frame, FrameRows& rows, std::uint8_t* memory) const;
  void write_alpha(FrameRows& rows, int y) const;
};

Compositor::Compositor(const PictureSpec& source, PixelFormat target, const EffectOptions& options, Isa isa) {
  if (target != source.format && target != with_alpha(source.format) &&
      target != without_alpha(source.format))
    throw Error(ErrorCode::invalid_argument, std::string("an effect on ") + format_info(source.format).name +
                                                 " cannot be written as " + format_info(target).name);
  if (!(options.blur_sigma >= 0 && options.blur_sigma <= kMaxSigma))
    throw Error(ErrorCode::invalid_argument,
                "blur of " + std::to_string(options.blur_sigma) + " pixels: must be within 0 and 1024");
  if (!(options.opacity >= 0 && options.opacity <= 1))
    throw Error(ErrorCode::invalid_argument,
                "opacity " + std::to_string(options.opacity) + ": must be within 0 and 1");
  make_geometry(source, Fit::stretch, 1, 1);  // checks the size
  impl_ = std::make_unique<Impl>(source, target, options, isa);
}

Compositor::~Compositor() = default;
Compositor::Compositor(Compositor&&) noexcept = default;
Compositor& Compositor::operator=(Compositor&&) noexcept = default;

void Compositor::Impl::require_views(const CompositeFrame& frame) const {
  require_match(frame.source, spec, "source");
  require_match(frame.target, target_spec, "target");
  require_plane(frame.alpha, spec, info.depth, "alpha");
  if (frame.background != nullptr) require_match(*frame.background, background_spec, "background");
  if (frame.classes != nullptr) require_plane(*frame.classes, spec, 8, "class");
}

ConstPlaneView Compositor::Impl::combine_alpha(const CompositeFrame& frame, FrameRows& rows,
                                               std::uint8_t* memory) const {
  ConstPlaneView combined = frame.alpha;
  combined.data = memory;
  combined.stride = alpha_stride();
  for (int y = 0; y < spec.height; ++y)
    ops.multiply(rows.source(info.colors, y), frame.alpha.data + frame.alpha.stride * y, spec.width,
                 memory + combined.stride * y);
  return combined;
}

void Compositor::Impl::write_alpha(FrameRows& rows, int y) const {
  const int c = info.colors;
  void* out = rows.target(c, y);
  switch (target_alpha) {
    case TargetAlpha::opaque:
      ops.fill(out, ops.full(), spec.width);
      break;
    case TargetAlpha::source:
      ops.copy(rows.source(c, y), spec.width, out);
      break;
    case TargetAlpha::mask:
      ops.copy(rows.alpha(c, y), spec.width, out);
      break;
  }
  rows.commit(c, y);
}

void Compositor::run(const CompositeFrame& frame, Workspace& workspace) const {
  const Impl& impl = *impl_;
  impl.require_views(frame);
  const EffectRows& effect =
      frame.background != nullptr && impl.options.effect == Effect::replace ? *impl.by_picture : *impl.effect;
  const std::size_t scratch = FrameRows::scratch_bytes(impl.spec.width, impl.info.depth);
  const std::size_t alpha_bytes =
      impl.combines_alpha
          ? static_cast<std::size_t>(impl.alpha_stride()) * static_cast<std::size_t>(impl.spec.height) + 64
          : 0;
  const std::size_t state_at = (scratch + alpha_bytes + 63) / 64 * 64;
  std::uint8_t* memory = workspace.reserve(state_at + effect.state_bytes(), Scratch::rows);
  std::uint8_t* state = memory + state_at;

  CompositeFrame effective = frame;
  if (impl.combines_alpha) {
    FrameRows rows(frame, impl.ops, memory);
    effective.alpha = impl.combine_alpha(frame, rows, memory + scratch);
  }
  FrameRows rows(effective, impl.ops, memory);
  effect.prepare(rows, state);

  const auto write_row = [&](int c, int y) {
    const void* source = rows.source(c, y);
    effect.row({c, y, rows.width(c), source, rows.alpha(c, y), rows.target(c, y)}, rows, state);
    rows.commit(c, y);
  };
  // Rows of luma and chroma that lie on each other follow each other, so that alpha is at hand.
  const int coarse = impl.info.model == ColorModel::yuv ? impl.info.shift_y : 0;
  const int bands = (impl.spec.height + (1 << coarse) - 1) >> coarse;
  for (int band = 0; band < bands; ++band) {
    for (int y = band << coarse; y < std::min(impl.spec.height, (band + 1) << coarse); ++y) {
      write_row(0, y);
      if (impl.target_info.alpha) impl.write_alpha(rows, y);
      for (int c = 1; c < impl.info.colors && !rows.subsampled(c); ++c) write_row(c, y);
    }
    for (int c = 1; c < impl.info.colors && rows.subsampled(c); ++c) write_row(c, band);
  }
}

}  // namespace saccade::vision
