// Two jobs on the same input: their masks frame by frame, and their networks layer by layer.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "accuracy/layer_errors.h"
#include "accuracy/mask_job.h"
#include "accuracy/run.h"
#include "accuracy/summary.h"
#include "accuracy/worst_frames.h"
#include "base/temporary_folder.h"
#include "pipeline/job.h"
#include "pipeline/model_network.h"
#include "pipeline/sample_pictures.h"
#include "quantise/agreement.h"
#include "quantise/equalise.h"
#include "quantise/selection.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"

namespace saccade::accuracy {

namespace {

/// A side as the layers are looked at.
struct Side {
  pipeline::NetworkChoice choice;
  ModelSpec spec;
  Shape input;
};

Side side_of(const JobOptions& job, const JobCallbacks& callbacks, const compiler::Target& target) {
  const Model model = Model::load(job.model, job.limits, job.plan_cache);
  Side side{pipeline::choose_network(model, target,
                                     {.max_isa = job.max_isa,
                                      .max_memory = job.max_memory,
                                      .tune = job.tune,
                                      .precision = pipeline::precision_options(job, callbacks),
                                      .tile = job.tile,
                                      .window = job.window}),
            model.spec(),
            {}};
  if (job.resize) side.spec.input.resize = *job.resize;
  side.input = side.choice.shapes.input_shapes.front().second;
  return side;
}

std::vector<quantise::Sample> samples_of(const JobOptions& job, const Side& side, int count, Isa isa,
                                         const std::atomic<bool>* cancel) {
  const bool interleaved = side.spec.input.layout == TensorLayout::nhwc;
  const auto height = static_cast<int>(side.input.at(interleaved ? 1 : 2));
  const auto width = static_cast<int>(side.input.at(interleaved ? 2 : 3));
  std::vector<quantise::Sample> samples;
  for (pipeline::SampledPicture& picture :
       pipeline::sample_pictures({job.input, job.stream, cancel}, static_cast<std::size_t>(count),
                                 side.spec.input, width, height, side.input, isa))
    samples.push_back(std::move(picture.input));
  return samples;
}

void compare_layers(const CompareOptions& options, const JobCallbacks& callbacks,
                    const compiler::Target& target, CompareReport& report) {
  const Side a = side_of(options.reference, callbacks, target), b = side_of(options.other, callbacks, target);
  if (a.input != b.input) {
    report.layers_note = fmt::format("the networks take pictures of different shapes: {} and {}",
                                     shape_string(a.input), shape_string(b.input));
    return;
  }
  const Isa isa = options.other.max_isa ? std::min(*options.other.max_isa, active_isa()) : active_isa();
  const int threads = std::max(1, report.other.threads);
  const std::vector<quantise::Sample> samples =
      samples_of(options.reference, a, options.layer_pictures, isa, callbacks.cancel);
  ir::Graph reference = quantise::prepare(a.choice.single.graph(), {a.input});
  ir::Graph other = quantise::prepare(b.choice.single.graph(), {b.input});
  const quantise::Machine machine{&target, isa, threads};
  if (const auto& recipe = b.choice.chosen.recipe) {
    // The powers of two between layers are no errors: the reference gets them too, where it has the layers.
    const bool same = reference.nodes.size() == other.nodes.size();
    if (same) quantise::equalise(reference, recipe->equalisations);
    other = quantise::apply(other, *recipe);
  }
  const bool halves = b.choice.chosen.options.precision == Precision::bf16;
  if (halves) other = in_bf16(other);
  const LayerErrors errors = layer_errors(reference, other, samples, machine);
  const bool rounded = b.choice.chosen.recipe || halves;
  report.unmatched_layers = errors.unmatched;
  for (const LayerError& layer : errors.layers)
    report.layers.push_back({layer.name, layer.op, layer.own, layer.total});
  report.suspects = suspects(errors, rounded);
  if (errors.layers.empty()) report.layers_note = "the networks have no layer in common";

  const ir::Value& result = reference.value(reference.outputs.front());
  if (result.shape != other.value(other.outputs.front()).shape) return;
  const quantise::LabelRule rule =
      pipeline::label_rule(a.spec.output, result.dtype, *result.shape, 0, options.reference.threshold);
  if (rule.kind == quantise::LabelRule::Kind::threshold) return;
  const std::vector<quantise::Sample> first = quantise::run_all(reference, samples, machine);
  const std::vector<quantise::Sample> second = quantise::run_all(other, samples, machine);
  double changed = 0;
  for (std::size_t i = 0; i < samples.size(); ++i)
    changed += quantise::changed_share(quantise::labels_of(first[i].at(0), rule),
                                       quantise::labels_of(second[i].at(0), rule));
  report.class_change = changed / static_cast<double>(samples.size());
}

}  // namespace

CompareReport run_compare(const CompareOptions& options, const JobCallbacks& callbacks,
                          const compiler::Target& target) {
  CompareReport report;
  const TemporaryFolder folder("saccade-masks.");
  CompareOptions limited = options;
  for (JobOptions* job : {&limited.reference, &limited.other})
    job->frames = std::min(job->frames.value_or(options.frames), options.frames);
  MaskResult a = run_masks(limited.reference, callbacks, target, folder.path() / "reference.npy");
  MaskResult b = run_masks(limited.other, callbacks, target, folder.path() / "other.npy");
  report.reference = std::move(a.report);
  report.other = std::move(b.report);
  if (a.masks.count != b.masks.count || a.masks.width != b.masks.width || a.masks.height != b.masks.height)
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("masks cannot be compared: {} of {}x{} and {} of {}x{}", a.masks.count,
                            a.masks.width, a.masks.height, b.masks.count, b.masks.width, b.masks.height));
  Summary all;
  for (std::int64_t i = 0; i < a.masks.count; ++i) {
    Summary one;
    one.add(a.masks.at(i), b.masks.at(i));
    all.add(one);
    report.frames.push_back({i, one.agreement()});
  }
  report.all = all.agreement();

  std::vector<std::int64_t> order(report.frames.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto masks_of = [&](std::int64_t i) -> const MaskAgreement& {
    return report.frames[static_cast<std::size_t>(i)].masks;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    return std::pair(masks_of(x).changed, masks_of(x).mae) > std::pair(masks_of(y).changed, masks_of(y).mae);
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(0, options.worst))));
  std::erase_if(order, [&](std::int64_t i) { return masks_of(i).changed == 0 && masks_of(i).mae == 0; });
  report.worst = order;
  if (!options.worst_folder.empty()) {
    std::vector<std::filesystem::path> read = pipeline::files_to_protect(options.reference);
    for (std::filesystem::path& file : pipeline::files_to_protect(options.other))
      read.push_back(std::move(file));
    report.pictures = write_worst(limited.reference, callbacks, target, order, a.masks, b.masks,
                                  options.worst_folder, read);
  }
  if (options.layer_pictures > 0) compare_layers(options, callbacks, target, report);
  return report;
}

}  // namespace saccade::accuracy
