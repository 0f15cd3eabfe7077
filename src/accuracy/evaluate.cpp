// The masks of a model beside true ones.
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/mask_job.h"
#include "accuracy/run.h"
#include "accuracy/summary.h"
#include "base/temporary_folder.h"
#include "media/convert.h"
#include "media/decoder.h"
#include "media/source.h"
#include "media/video_format.h"
#include "pipeline/job.h"
#include "pipeline/sample_pictures.h"
#include "quantise/agreement.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"

namespace saccade::accuracy {

namespace {

namespace fs = std::filesystem;
constexpr std::uint8_t kNoLabel = 255;  // among classes

struct Label {
  int width = 0, height = 0;
  std::vector<std::uint8_t> alpha, valid;
  std::vector<std::uint8_t> classes;  ///< of a picture with a palette
};

media::FramePtr decoded(media::Source& source) {
  media::Decoder decoder(source.video());
  while (true) {
    if (media::FramePtr frame = decoder.receive()) return frame;
    const media::PacketPtr packet = source.read();
    if (packet && packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    if (packet) continue;
    if (media::FramePtr frame = decoder.receive()) return frame;
    throw Error(ErrorCode::media, source.path().string() + ": the picture cannot be decoded");
  }
}

Label read_label(const fs::path& path) {
  media::Source source(path);
  media::FramePtr frame = decoded(source);
  Label label;
  label.width = frame->width, label.height = frame->height;
  const bool palette = frame->format == AV_PIX_FMT_PAL8;
  if (!palette && frame->format != AV_PIX_FMT_GRAY8) {
    const media::VideoFormat from = media::describe_video(source.context(), source.video(), *frame);
    media::VideoFormat to = from;
    to.pixel_format = AV_PIX_FMT_GRAY8;
    to.range = AVCOL_RANGE_JPEG;
    media::FramePtr gray = media::FramePool(to.pixel_format, frame->width, frame->height).get();
    media::FrameConverter(from, to).run(*frame, *gray);
    frame = std::move(gray);
  }
  int most = 0;
  const auto each = [&](const auto& take) {
    for (int y = 0; y < label.height; ++y)
      for (int x = 0; x < label.width; ++x) take(frame->data[0][std::ptrdiff_t{y} * frame->linesize[0] + x]);
  };
  each([&](std::uint8_t value) { most = std::max<int>(most, value); });
  each([&](std::uint8_t value) {
    if (palette) {
      label.classes.push_back(value);
      label.alpha.push_back(value != 0 && value != kNoLabel ? 255 : 0);
      label.valid.push_back(value == kNoLabel ? 0 : 1);
    } else {
      label.alpha.push_back(most == 1 ? static_cast<std::uint8_t>(value * 255) : value);
    }
  });
  return label;
}

/// Mean IoU over classes at the network's size; nothing for a network without classes.
std::optional<double> class_iou(const EvaluateOptions& options, const JobCallbacks& callbacks,
                                const compiler::Target& target, const std::vector<fs::path>& pictures) {
  const JobOptions& job = options.job;
  JobOptions first = job;
  first.input = pictures.front();
  const std::unique_ptr<pipeline::Network> network = network_of(first, callbacks, target);
  const vision::OutputLayout layout = network->output();
  const ModelSpec& spec = network->spec();
  const bool whole = !job.tile && !job.window && spec.input.fit != Fit::letterbox;
  if (!vision::has_classes(spec.output, layout) || !whole) return std::nullopt;
  InputSpec input = spec.input;
  if (job.resize) input.resize = *job.resize;
  const Isa isa = job.max_isa ? std::min(*job.max_isa, active_isa()) : active_isa();
  const std::int64_t channels = input.order == ColorOrder::gray ? 1 : 3;
  const Shape shape = input.layout == TensorLayout::nhwc
                          ? Shape{1, network->input_height(), network->input_width(), channels}
                          : Shape{1, channels, network->input_height(), network->input_width()};
  const Shape output_shape = spec.output.layout == TensorLayout::nhwc
                                 ? Shape{1, layout.height, layout.width, layout.channels}
                                 : Shape{1, layout.channels, layout.height, layout.width};
  const auto run = network->make_run(std::max(1, job.threads));
  quantise::LabelRule rule;
  rule.kind = spec.output.kind == OutputKind::class_map ? quantise::LabelRule::Kind::map
                                                        : quantise::LabelRule::Kind::classes;
  rule.axis = spec.output.layout == TensorLayout::nhwc ? 3 : 1;
  if (rule.kind == quantise::LabelRule::Kind::map) return std::nullopt;
  quantise::Overlap overlap;
  for (const fs::path& picture : pictures) {
    const auto sampled =
        pipeline::sample_pictures({picture, job.stream, callbacks.cancel}, 1, input, network->input_width(),
                                  network->input_height(), shape, isa);
    const Tensor& tensor = sampled.front().input.at(0);
    std::copy_n(tensor.data<float>(), tensor.count(), run->input());
    Tensor output(DType::f32, output_shape);
    std::copy_n(static_cast<const float*>(run->run()), output.count(), output.data<float>());
    overlap.add(quantise::labels_of(output, rule),
                pipeline::read_labels(options.labels, picture, layout.width, layout.height, false));
  }
  return overlap.mean_iou();
}

}  // namespace

EvaluateReport run_evaluate(const EvaluateOptions& options, const JobCallbacks& callbacks,
                            const compiler::Target& target) {
  EvaluateReport report;
  const TemporaryFolder folder("saccade-masks.");
  const std::vector<fs::path> pictures = pipeline::picture_files({.path = options.job.input});
  JobOptions job = options.job;
  job.input = pictures.front();
  const std::unique_ptr<pipeline::Network> network = network_of(job, callbacks, target);
  // Each job wants a network of its own; they all are the one that was made.
  struct Shared : pipeline::Network {
    const pipeline::Network* network;
    explicit Shared(const pipeline::Network* shared) : network(shared) {}
    const ModelSpec& spec() const override { return network->spec(); }
    std::string identity() const override { return network->identity(); }
    int input_width() const override { return network->input_width(); }
    int input_height() const override { return network->input_height(); }
    vision::OutputLayout output() const override { return network->output(); }
    PrecisionReport precision() const override { return network->precision(); }
    int batch() const override { return network->batch(); }
    std::unique_ptr<pipeline::Network> with_input(int width, int height, int count) const override {
      return network->with_input(width, height, count);
    }
    pipeline::TileRules tile_rules() const override { return network->tile_rules(); }
    const Plan* plan() const override { return network->plan(); }
    std::unique_ptr<pipeline::NetworkRun> make_run(int threads) const override {
      return network->make_run(threads);
    }
  };
  Summary all;
  bool classes = true;
  for (const fs::path& picture : pictures) {
    const Label label = read_label(pipeline::label_file(options.labels, picture));
    classes = classes && !label.classes.empty();
    job.input = picture;
    const fs::path output = folder.path() / "mask.npy";
    report.job = pipeline::run(mask_options(job, output), callbacks,
                               [&] { return std::make_unique<Shared>(network.get()); });
    const MaskArray masks = read_masks(output);
    if (masks.width != label.width || masks.height != label.height)
      throw Error(ErrorCode::shape_mismatch,
                  fmt::format("{}: is {}x{}, its label {}x{}", picture.string(), masks.width, masks.height,
                              label.width, label.height));
    Summary one;
    one.add(masks.at(0), {label.alpha.data(), label.width, label.height}, label.valid);
    all.add(one);
    report.pictures.push_back({picture, one.agreement()});
  }
  report.all = all.agreement();
  if (classes) report.class_mean_iou = class_iou(options, callbacks, target, pictures);
  return report;
}

}  // namespace saccade::accuracy
