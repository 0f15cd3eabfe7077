// Effects that need nothing but the row itself: a colour, transparency, another picture, the alpha as a
// picture.
#include <array>

#include "vision/effect_rows.h"

namespace saccade::vision {

namespace {

class FlatEffect : public EffectRows {
 public:
  FlatEffect(std::array<int, 3> color, const SampleOps& ops) : color_(color), ops_(ops) {}
  void row(const RowJob& job, FrameRows&, std::uint8_t*) const override {
    ops_.blend_flat(job.source, color_[static_cast<std::size_t>(job.component)], job.alpha, job.n,
                    job.target);
  }

 private:
  std::array<int, 3> color_;
  SampleOps ops_;
};

class TransparentEffect : public EffectRows {
 public:
  TransparentEffect(std::array<int, 3> black, bool erase, const SampleOps& ops)
      : black_(black), erase_(erase), ops_(ops) {}
  void row(const RowJob& job, FrameRows&, std::uint8_t*) const override {
    if (erase_)
      ops_.erase(job.source, job.alpha, black_[static_cast<std::size_t>(job.component)], job.n, job.target);
    else
      ops_.copy(job.source, job.n, job.target);
  }

 private:
  std::array<int, 3> black_;
  bool erase_;
  SampleOps ops_;
};

class PictureEffect : public EffectRows {
 public:
  explicit PictureEffect(const SampleOps& ops) : ops_(ops) {}
  void row(const RowJob& job, FrameRows& rows, std::uint8_t*) const override {
    ops_.blend(job.source, rows.background(job.component, job.y), job.alpha, job.n, job.target);
  }

 private:
  SampleOps ops_;
};

// Alpha between the samples of black and white; chroma is neutral in both.
class MatteEffect : public EffectRows {
 public:
  MatteEffect(std::array<int, 3> black, std::array<int, 3> white, const SampleOps& ops)
      : black_(black), white_(white), ops_(ops) {}
  void row(const RowJob& job, FrameRows&, std::uint8_t*) const override {
    const auto c = static_cast<std::size_t>(job.component);
    ops_.fill(job.target, white_[c], job.n);
    if (white_[c] != black_[c]) ops_.blend_flat(job.target, black_[c], job.alpha, job.n, job.target);
  }

 private:
  std::array<int, 3> black_, white_;
  SampleOps ops_;
};

}  // namespace

std::unique_ptr<EffectRows> make_flat_effect(const PictureSpec& spec, const EffectOptions& options,
                                             const SampleOps& ops) {
  return std::make_unique<FlatEffect>(color_samples(options.color, spec.format, spec.color), ops);
}

std::unique_ptr<EffectRows> make_transparent_effect(const PictureSpec& spec, const EffectOptions& options,
                                                    const SampleOps& ops) {
  return std::make_unique<TransparentEffect>(color_samples({0, 0, 0}, spec.format, spec.color),
                                             options.erase_hidden, ops);
}

std::unique_ptr<EffectRows> make_picture_effect(const SampleOps& ops) {
  return std::make_unique<PictureEffect>(ops);
}

std::unique_ptr<EffectRows> make_matte_effect(const PictureSpec& spec, const SampleOps& ops) {
  return std::make_unique<MatteEffect>(color_samples({0, 0, 0}, spec.format, spec.color),
                                       color_samples({255, 255, 255}, spec.format, spec.color), ops);
}

}  // namespace saccade::vision
