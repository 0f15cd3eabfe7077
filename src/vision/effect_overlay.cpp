// A tint over the foreground, or a colour for each class.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "vision/effect_rows.h"

namespace saccade::vision {

namespace {

constexpr int kClasses = 256;

// Hues a golden section apart, so that neighbouring numbers differ strongly.
Rgb palette(int number) noexcept {
  const double hue = 6 * std::fmod(number * 0.61803398875, 1.0), value = 240, saturation = 0.8;
  const double fall = value * (1 - saturation),
               ramp = value * (1 - saturation * std::abs(std::fmod(hue, 2.0) - 1));
  const std::array<std::array<double, 3>, 6> sectors = {{{value, ramp, fall},
                                                         {ramp, value, fall},
                                                         {fall, value, ramp},
                                                         {fall, ramp, value},
                                                         {ramp, fall, value},
                                                         {value, fall, ramp}}};
  const std::array<double, 3>& s = sectors[static_cast<std::size_t>(hue) % 6];
  const auto byte = [](double v) { return static_cast<std::uint8_t>(v + 0.5); };
  return {byte(s[0]), byte(s[1]), byte(s[2])};
}

class OverlayEffect : public EffectRows {
 public:
  OverlayEffect(const PictureSpec& spec, const EffectOptions& options, const SampleOps& ops)
      : ops_(ops),
        width_(spec.width),
        opacity_(static_cast<int>(std::lround(options.opacity * static_cast<float>(ops.full())))),
        background_class_(options.background_class),
        color_(color_samples(options.color, spec.format, spec.color)) {
    for (int k = 0; k < kClasses; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const Rgb rgb = i < options.class_colors.size() ? options.class_colors[i] : palette(k);
      class_colors_.push_back(color_samples(rgb, spec.format, spec.color));
    }
  }

  std::size_t state_bytes() const noexcept override { return 3 * static_cast<std::size_t>(width_ + 64); }

  void row(const RowJob& job, FrameRows& rows, std::uint8_t* state) const override {
    const auto c = static_cast<std::size_t>(job.component);
    if (rows.frame().classes == nullptr) {
      ops_.veil(job.alpha, opacity_, job.n, state);
      ops_.blend_flat(job.source, color_[c], state, job.n, job.target);
      return;
    }
    // Runs of one class share a colour. A coarser component takes the class of its even luma column and row.
    const ConstPlaneView& classes = *rows.frame().classes;
    const int step = rows.info().is_chroma(job.component) ? 1 << rows.info().shift_x : 1;
    const int luma_y = rows.info().is_chroma(job.component) ? job.y << rows.info().shift_y : job.y;
    const std::uint8_t* number = classes.data + classes.stride * luma_y;
    const auto bytes = static_cast<std::size_t>(ops_.bytes());
    ops_.fill(state, ops_.full() - opacity_, job.n);
    const auto* source = static_cast<const std::uint8_t*>(job.source);
    auto* target = static_cast<std::uint8_t*>(job.target);
    for (int begin = 0; begin < job.n;) {
      const std::uint8_t k = number[begin * step];
      int end = begin + 1;
      while (end < job.n && number[end * step] == k) ++end;
      const std::size_t at = static_cast<std::size_t>(begin) * bytes;
      if (k == background_class_)
        ops_.copy(source + at, end - begin, target + at);
      else
        ops_.blend_flat(source + at, class_colors_[k][c], state, end - begin, target + at);
      begin = end;
    }
  }

 private:
  SampleOps ops_;
  int width_, opacity_, background_class_;
  std::array<int, 3> color_;
  std::vector<std::array<int, 3>> class_colors_;
};

}  // namespace

std::unique_ptr<EffectRows> make_overlay_effect(const PictureSpec& spec, const EffectOptions& options,
                                                const SampleOps& ops) {
  return std::make_unique<OverlayEffect>(spec, options, ops);
}

}  // namespace saccade::vision
