#include "pipeline/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

constexpr vision::Rgb kChromaGreen{0, 255, 0};
constexpr vision::Rgb kTint{235, 60, 90};

vision::Effect to_vision_effect(Effect effect) {
  switch (effect) {
    case Effect::remove:
      return vision::Effect::remove;
    case Effect::blur:
      return vision::Effect::blur;
    case Effect::replace:
      return vision::Effect::replace;
    case Effect::mask:
      return vision::Effect::mask;
    case Effect::overlay:
      return vision::Effect::overlay;
  }
  throw Error(ErrorCode::internal, "unknown effect");
}

int class_index(const std::string& text, const OutputSpec& spec) {
  const auto& names = spec.class_names;
  if (const auto found = std::find(names.begin(), names.end(), text); found != names.end())
    return static_cast<int>(found - names.begin());
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && index >= 0) return index;
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 24); ++i)
    known += (i == 0 ? "" : ", ") + names[i];
  throw Error(ErrorCode::invalid_argument,
              fmt::format("class '{}' is not one of the model's; {}", text,
                          known.empty() ? "it names none, so give numbers"
                                        : "it knows " + known + (names.size() > 24 ? ", …" : "")));
}

/// Whether samples stay what they are on their way to the effect.
bool keeps_samples(const PictureFlow& flow) {
  return flow.work.pixel_format == flow.decoded.pixel_format &&
         color_of(flow.work).range == color_of(flow.decoded).range;
}

bool same_form(const media::VideoFormat& a, const media::VideoFormat& b) {
  return a.width == b.width && a.height == b.height && a.pixel_format == b.pixel_format;
}

}  // namespace

vision::MaskOptions mask_options(const JobOptions& options, const ModelSpec& spec) {
  vision::MaskOptions mask;
  for (const std::string& name : options.classes) mask.classes.push_back(class_index(name, spec.output));
  mask.threshold = options.threshold;
  mask.invert = options.invert;
  mask.grow = options.grow;
  mask.feather = options.feather;
  return mask;
}

vision::EffectOptions effect_options(const JobOptions& options, const ModelSpec& spec,
                                     const PictureFlow& flow) {
  vision::EffectOptions effect;
  effect.effect = to_vision_effect(options.effect);
  if (!(options.strength >= 0 && options.strength <= 100)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("strength {} is out of range 0 to 100", options.strength));
  }
  if (!(options.opacity >= 0 && options.opacity <= 1)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("opacity {} is out of range 0 to 1", options.opacity));
  }
  effect.color = options.effect == Effect::overlay ? kTint : kChromaGreen;
  if (const auto color = vision::parse_rgb(options.background)) effect.color = *color;
  effect.opacity = options.opacity;
  effect.blur_sigma = vision::blur_sigma(options.strength, flow.work.width, flow.work.height);
  for (const auto& c : spec.output.class_colors) effect.class_colors.push_back({c[0], c[1], c[2]});
  effect.background_class = spec.output.background_class;
  return effect;
}

namespace {

/// A colour for each class, where none is chosen.
bool wants_classes(const JobOptions& options, const Network& network) {
  return options.effect == Effect::overlay && options.classes.empty() &&
         vision::has_classes(network.spec().output, network.output());
}

/// A tint by class does not ask how much of a pixel is foreground.
bool wants_mask(const JobOptions& options, const Network& network, int mask_bits) {
  return !wants_classes(options, network) || options.decontaminate || mask_bits > 0;
}

std::optional<PictureParts> make_parts(const JobOptions& options, const Network& network,
                                       const vision::PictureSpec& picture, bool mask, Isa isa) {
  if (!options.tile && !options.window) return std::nullopt;
  return std::optional<PictureParts>(std::in_place, picture, options, network,
                                     wants_classes(options, network), mask, isa);
}

std::optional<vision::Preprocessor> make_preprocessor(const JobOptions& options, const Network& network,
                                                      const vision::PictureSpec& picture, Isa isa) {
  if (options.tile || options.window) return std::nullopt;
  InputSpec input = network.spec().input;
  if (options.resize) input.resize = *options.resize;
  return vision::Preprocessor(picture, input, network.input_width(), network.input_height(), isa);
}

}  // namespace

Worker::Worker() = default;
Worker::~Worker() = default;

Processor::Processor(const PictureFlow& flow, const JobOptions& options, const Network& network,
                     const Background* background, Isa isa, StageClocks& clocks, int mask_bits)
    : flow_(flow),
      work_spec_(picture_spec(flow.work)),
      result_spec_(picture_spec(flow.result)),
      network_(network),
      background_(background),
      clocks_(clocks),
      parts_(make_parts(options, network, work_spec_, wants_mask(options, network, mask_bits), isa)),
      preprocessor_(make_preprocessor(options, network, work_spec_, isa)),
      masker_(make_masker(options, vision::format_info(work_spec_.format).depth, isa)),
      mask_wanted_(wants_mask(options, network, mask_bits)),
      compositor_(work_spec_, result_spec_.format, effect_options(options, network.spec(), flow), isa),
      converted_pool_(flow.work.pixel_format, flow.decoded.width, flow.decoded.height),
      work_pool_(flow.work.pixel_format, flow.work.width, flow.work.height),
      result_pool_(flow.result.pixel_format, flow.result.width, flow.result.height) {
  if (wants_classes(options, network)) {
    if (parts_) {
      const vision::Mosaic& mosaic = parts_->mosaic();
      class_mapper_.emplace(parts_->geometry(), mosaic.class_spec(), mosaic.class_layout(), isa);
    } else {
      class_mapper_.emplace(preprocessor_->geometry(), network.spec().output, network.output(), isa);
    }
  }
  if (options.refine != 0) {
    const float radius =
        options.refine > 0 ? options.refine : vision::refine_radius(flow.work.width, flow.work.height);
    refiner_.emplace(work_spec_, radius, isa);
  }
  if (options.decontaminate && options.effect != Effect::mask) decontaminator_.emplace(work_spec_);
  mask_bits_ = mask_bits;
  if (mask_bits == 0) return;
  if (mask_bits != vision::format_info(work_spec_.format).depth)
    mask_masker_ = make_masker(options, mask_bits, isa);
  const media::VideoFormat upright = mask_format();
  mask_pool_.emplace(upright.pixel_format, flow.work.width, flow.work.height);
  if (flow.work.display_matrix)
    turned_mask_pool_.emplace(upright.pixel_format, upright.width, upright.height);
}

vision::Masker Processor::make_masker(const JobOptions& options, int depth, Isa isa) const {
  vision::MaskOptions mask = mask_options(options, network_.spec());
  if (!parts_)
    return {preprocessor_->geometry(), network_.spec().output, network_.output(), mask, depth, isa};
  mask.classes.clear();  // the parts' results hold them already
  const vision::Mosaic& mosaic = parts_->mosaic();
  return {parts_->geometry(), mosaic.mask_spec(), mosaic.mask_layout(), mask, depth, isa};
}

media::VideoFormat Processor::mask_format() const {
  media::VideoFormat format = flow_.work;
  format.pixel_format = mask_bits_ > 8 ? AV_PIX_FMT_GRAY16LE : AV_PIX_FMT_GRAY8;
  format = media::upright_format(format);
  format.display_matrix.reset();
  format.range = AVCOL_RANGE_JPEG;
  return format;
}

media::FramePtr Processor::mask(const AVFrame& result, Worker& worker) const {
  const trace::StageClock::Scope timing(clocks_.mask);
  vision::PlaneView alpha = worker.alpha_.view();
  if (mask_masker_) {
    alpha = worker.mask_.view();
    mask_masker_->run(worker.output_, alpha, worker.workspace_);
    if (refiner_) refiner_->run(view_of(*worker.source_, work_spec_), alpha, worker.workspace_);
    worker.source_.reset();
  }
  media::FramePtr frame = mask_pool_->get();
  const std::size_t row_bytes = static_cast<std::size_t>(alpha.width) * (mask_bits_ > 8 ? 2 : 1);
  {
    const trace::Span copying(clocks_.recorder, clocks_.copy_mask,
                              2 * alpha.height * static_cast<std::int64_t>(row_bytes));
    for (int y = 0; y < alpha.height; ++y) {
      std::memcpy(frame->data[0] + std::ptrdiff_t{y} * frame->linesize[0], alpha.data + alpha.stride * y,
                  row_bytes);
    }
  }
  frame->pts = result.pts;
  frame->pkt_duration = result.pkt_duration;
  if (turned_mask_pool_) {
    media::FramePtr turned = turned_mask_pool_->get();
    media::turn_upright(*frame, media::orientation_of(*flow_.work.display_matrix), *turned);
    frame = std::move(turned);
  }
  frame->color_range = AVCOL_RANGE_JPEG;
  frame->sample_aspect_ratio = mask_format().sample_aspect;
  return frame;
}

Processor::~Processor() = default;

std::unique_ptr<Worker> Processor::make_worker(int threads) const {
  std::unique_ptr<Worker> worker(new Worker);
  if (parts_)
    worker->parts_ = parts_->make_state(threads);
  else
    worker->network_ = network_.make_run(threads);
  if (clocks_.recorder != nullptr)
    parts_ ? worker->parts_->record(*clocks_.recorder) : worker->network_->record(*clocks_.recorder);
  worker->alpha_ =
      vision::Plane(flow_.work.width, flow_.work.height, vision::format_info(work_spec_.format).depth);
  if (mask_masker_) worker->mask_ = vision::Plane(flow_.work.width, flow_.work.height, mask_bits_);
  if (class_mapper_) worker->classes_ = vision::Plane(flow_.work.width, flow_.work.height);
  if (background_ != nullptr && background_->moving()) {
    worker->background_ = vision::Picture(vision::without_alpha(work_spec_.format), flow_.work.width,
                                          flow_.work.height, work_spec_.color);
  }
  return worker;
}

/// The decoded picture in the form the effect works on; the picture itself where that is the same.
media::FramePtr Processor::prepare(const AVFrame& decoded, Worker& worker) const {
  media::VideoFormat from = format_of_later(flow_.decoded, decoded);
  const bool recolored = !same_colors(flow_.decoded, from);
  const bool kept = same_form(flow_.decoded, from) && !recolored && keeps_samples(flow_);
  if (kept && !flow_.turn) {
    media::FramePtr frame = media::share(decoded);
    frame->format = flow_.work.pixel_format;  // without the disguise of a full range as a format of its own
    return frame;
  }
  const trace::StageClock::Scope timing(clocks_.convert);
  media::FramePtr frame = media::share(decoded);
  if (!kept) {
    media::VideoFormat to = flow_.decoded;
    to.pixel_format = flow_.work.pixel_format;
    to.matrix = flow_.work.matrix;
    to.range = flow_.work.range;
    if (recolored) {
      from.matrix = matrix_of(from);
      to.matrix = matrix_of(to);
    }
    const media::VideoFormat& last = worker.converter_from_;
    if (!worker.converter_ || !same_form(last, from) || last.matrix != from.matrix ||
        last.range != from.range) {
      worker.converter_.emplace(from, to);
      worker.converter_from_ = from;
    }
    media::FramePtr converted = converted_pool_.get();
    worker.converter_->run(*frame, *converted);
    frame = std::move(converted);
  }
  if (flow_.turn) {
    media::FramePtr turned = work_pool_.get();
    media::turn_upright(*frame, media::orientation_of(*flow_.decoded.display_matrix), *turned);
    frame = std::move(turned);
  }
  return frame;
}

/// The network's output, the mask and the classes of a picture.
void Processor::segment(const vision::ConstPictureView& picture, Worker& worker) const {
  const void* classes = nullptr;
  if (parts_) {
    worker.output_ = parts_->run(picture, *worker.parts_, clocks_);
    classes = parts_->classes(*worker.parts_);
  } else {
    {
      const trace::StageClock::Scope timing(clocks_.preprocess);
      preprocessor_->run(picture, worker.network_->input(), worker.workspace_);
    }
    const trace::StageClock::Scope timing(clocks_.infer);
    worker.output_ = classes = worker.network_->run();
  }
  const trace::StageClock::Scope timing(clocks_.mask);
  if (mask_wanted_) masker_.run(worker.output_, worker.alpha_.view(), worker.workspace_);
  if (class_mapper_) class_mapper_->run(classes, worker.classes_.view(), worker.workspace_);
  if (refiner_ && mask_wanted_) refiner_->run(picture, worker.alpha_.view(), worker.workspace_);
}

media::FramePtr Processor::run(const AVFrame& decoded, const AVFrame* background, Worker& worker) const {
  const media::FramePtr source = prepare(decoded, worker);
  const vision::ConstPictureView view = view_of(*source, work_spec_);
  segment(view, worker);
  if (mask_masker_ && refiner_) worker.source_ = media::share(*source);
  const trace::StageClock::Scope timing(clocks_.composite);
  media::FramePtr result = result_pool_.get();
  vision::CompositeFrame composite;
  composite.source = view;
  media::FramePtr clean;
  if (decontaminator_) {  // on a copy: decoders still look at their pictures
    clean = work_pool_.get();
    const trace::Span copying(clocks_.recorder, clocks_.copy_picture);
    media::check(av_frame_copy(clean.get(), source.get()), "copying a picture");
    decontaminator_->run(writable_view_of(*clean, work_spec_), worker.alpha_.view(), worker.workspace_);
    composite.source = view_of(*clean, work_spec_);
  }
  composite.alpha = worker.alpha_.view();
  composite.target = writable_view_of(*result, result_spec_);
  vision::ConstPictureView background_view;
  if (background_ != nullptr) {
    background_view = background_->view(background, worker.background_, worker.workspace_);
    composite.background = &background_view;
  }
  const vision::ConstPlaneView classes = worker.classes_.view();
  if (class_mapper_) composite.classes = &classes;
  compositor_.run(composite, worker.workspace_);
  media::check(av_frame_copy_props(result.get(), source.get()), "copying a picture's properties");
  media::tag_frame(*result, flow_.result);
  result->pict_type = AV_PICTURE_TYPE_NONE;
  return result;
}

}  // namespace saccade::pipeline
