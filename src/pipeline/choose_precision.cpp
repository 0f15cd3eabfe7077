#include "pipeline/choose_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "compiler/measure.h"
#include "ir/graph.h"
#include "ops/infer.h"
#include "pipeline/tensor_names.h"
#include "platform/machine.h"
#include "quantise/derived_model.h"
#include "quantise/selection.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"
#include "saccade/error.h"
#include "vision/mask.h"

namespace saccade::pipeline {

namespace {

// Half of the pictures are for ranges, half for masks. Large networks are slow to calibrate, and their large
// tensors have many numbers each: they get fewer.
constexpr std::size_t kFewestPictures = 4, kMostPictures = 32;
constexpr double kWorkOfAll = 1.2e12;  // multiply-adds of one run on each

std::size_t picture_count(std::int64_t multiply_adds) {
  const double affordable = kWorkOfAll / std::max(1.0, static_cast<double>(multiply_adds));
  return static_cast<std::size_t>(
      std::clamp(affordable, static_cast<double>(kFewestPictures), static_cast<double>(kMostPictures)));
}

std::int64_t work_of(const ir::Graph& prepared) {
  std::int64_t sum = 0;
  for (const ir::Node& node : prepared.nodes) sum += compiler::multiply_adds(prepared, node);
  return sum;
}

/// What the pictures are: their files with what changes when their content does. Empty where some cannot be
/// told.
std::string identity_of(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const std::filesystem::path& file : files) {
    const std::optional<FileStamp> stamp = stamp_of(file);
    if (!stamp) return "";
    text += fmt::format("{} {} {} {} {} {}\n", file.string(), stamp->device, stamp->inode, stamp->size,
                        stamp->modified, stamp->changed);
  }
  return Sha256::hex(std::as_bytes(std::span(text.data(), text.size())));
}

/// Nothing that a decision depends on may be missing here.
std::string key_of(const Model& model, const ModelSpec& spec, const compiler::Target& target,
                   const CompileOptions& options, const PrecisionOptions& wanted, const std::string& pictures,
                   const std::string& labels, Isa isa) {
  std::string key = fmt::format("precision {} {}\nmodel {}\nlimits {}\npictures {} {}\nlabels {}",
                                precision_name(wanted.asked), isa_name(isa), model.impl().identity,
                                runtime::text_of(model.impl().limits), pictures,
                                wanted.pictures.stream.value_or(-1), labels);
  for (const auto& [name, shape] : options.input_shapes)
    key += fmt::format("\n{} {}", name, shape_string(shape));
  const OutputSpec& output = spec.output;
  key +=
      fmt::format("\noutput {} {} {} {} {}", output.tensor, static_cast<int>(output.kind),
                  static_cast<int>(output.layout), output.foreground_channel, wanted.threshold.value_or(-1));
  InputSpec input = spec.input;
  if (wanted.resize) input.resize = *wanted.resize;
  key +=
      fmt::format("\ninput {} {} {} {} {} {}", static_cast<int>(input.order), static_cast<int>(input.layout),
                  input.scale, static_cast<int>(input.resize), static_cast<int>(input.fit), input.pad_value);
  for (std::size_t c = 0; c < 3; ++c) key += fmt::format(" {} {}", input.mean[c], input.stddev[c]);
  key += fmt::format("\nbudget {} {}\ntiming {}\nprocessor {}\ntarget {} {}", wanted.budget.mask_change,
                     wanted.budget.miou_drop.value_or(-1), wanted.timing_threads, platform::cpu_signature(),
                     target.name(), target.choices_depend_on());
  for (const std::string& pass : options.disabled_passes) key += "\nwithout " + pass;
  return key;
}

std::optional<quantise::Decision> remembered(const runtime::PlanCache& cache, const std::string& key) {
  const std::optional<runtime::PlanCache::Entry> entry = cache.find(runtime::PlanCache::Kind::precision, key);
  if (!entry) return std::nullopt;
  try {
    ArchiveReader in(entry->head);
    return quantise::read_decision(in);
  } catch (const Error& error) {
    log::debug("cache", "a decision is of no use: {}", error.what());
    cache.remove(runtime::PlanCache::Kind::precision, key);
    return std::nullopt;
  }
}

quantise::Decision decide(const Model& model, const ModelSpec& spec, const compiler::Target& target,
                          const CompileOptions& options, const PrecisionOptions& wanted, Isa isa) {
  const std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), options);
  const ir::Graph prepared = quantise::prepare(model.graph(), shapes, options.disabled_passes);
  const std::size_t index = output_number(model, spec.output, model.path().string());
  const ir::Value& output = prepared.value(prepared.outputs.at(index));
  quantise::Question question;
  question.asked = wanted.asked;
  question.budget = wanted.budget;
  question.rule = label_rule(spec.output, output.dtype, *output.shape, index, wanted.threshold);
  question.disabled_passes = options.disabled_passes;
  question.machine = {&target, isa, wanted.threads};
  question.timing_threads = wanted.timing_threads;
  question.progress = [&](std::string_view what) {
    if (wanted.pictures.cancel != nullptr && wanted.pictures.cancel->load(std::memory_order_relaxed))
      throw Error(ErrorCode::interrupted, "interrupted while the network was calibrated");
    if (wanted.progress) wanted.progress(what);
  };
  question.progress("reading pictures");
  InputSpec input = spec.input;
  if (wanted.resize) input.resize = *wanted.resize;
  const bool interleaved = input.layout == TensorLayout::nhwc;
  const Shape& shape = shapes.front();
  const auto height = static_cast<int>(shape.at(interleaved ? 1 : 2));
  const auto width = static_cast<int>(shape.at(interleaved ? 2 : 3));
  std::vector<SampledPicture> pictures =
      sample_pictures(wanted.pictures, picture_count(work_of(prepared)), input, width, height, shape, isa);
  // Every other one is kept for comparing masks, so that these are of pictures that were not calibrated on.
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const bool measured = i % 2 == 1;
    if (!wanted.labels.empty() && (measured || pictures.size() == 1)) {
      if (input.fit == Fit::letterbox)
        throw Error(ErrorCode::unsupported,
                    "labels cannot be compared for a model that takes letterboxed pictures");
      const vision::OutputLayout layout = vision::output_layout(spec.output, output.dtype, *output.shape);
      question.truth.push_back(read_labels(wanted.labels, pictures[i].file, layout.width, layout.height,
                                           question.rule.kind == quantise::LabelRule::Kind::threshold));
    }
    (measured ? question.measured : question.calibration).push_back(std::move(pictures[i].input));
  }
  return quantise::decide(model.graph(), shapes, question);
}

}  // namespace

quantise::LabelRule label_rule(const OutputSpec& spec, DType dtype, const Shape& shape, std::size_t index,
                               std::optional<float> threshold) {
  using Kind = quantise::LabelRule::Kind;
  const vision::OutputLayout layout = vision::output_layout(spec, dtype, shape);
  quantise::LabelRule rule;
  rule.output = index;
  // Pictures of two dimensions have no channels, those of three may have no batch.
  const std::size_t rank = shape.size();
  rule.axis = layout.channels == 1 ? rank : spec.layout == TensorLayout::nhwc ? rank - 1 : rank - 3;
  rule.channel = std::max(0, spec.foreground_channel);
  rule.threshold = threshold.value_or(0.5f);
  if (spec.kind == OutputKind::class_map) {
    rule.kind = Kind::map;
  } else if (vision::has_classes(spec, layout)) {
    rule.kind = Kind::classes;
  } else if (spec.kind == OutputKind::logits) {
    rule.threshold = std::log(rule.threshold / (1 - rule.threshold));
  }
  return rule;
}

ChosenModel choose_precision(const Model& model, const ModelSpec& spec, const compiler::Target& target,
                             const CompileOptions& options, const PrecisionOptions& wanted) {
  ChosenModel chosen{model, options, {}, {}};
  chosen.report.asked = chosen.report.used = wanted.asked;
  if (wanted.asked != Precision::int8 && wanted.asked != Precision::automatic) {
    chosen.options.precision = wanted.asked;
    return chosen;
  }
  const Isa isa = options.max_isa ? std::min(*options.max_isa, active_isa()) : active_isa();
  const auto& cache = model.impl().cache;
  std::string key;
  if (cache != nullptr && !model.impl().identity.empty()) {
    const std::string pictures = identity_of(picture_files(wanted.pictures));
    const std::string labels =
        wanted.labels.empty() ? "none" : identity_of(picture_files({.path = wanted.labels}));
    if (!pictures.empty() && !labels.empty())
      key = key_of(model, spec, target, options, wanted, pictures, labels, isa);
  }
  std::optional<quantise::Decision> decision;
  if (!key.empty()) decision = remembered(*cache, key);
  if (!decision) {
    decision = decide(model, spec, target, options, wanted, isa);
    if (!key.empty()) {
      ArchiveWriter out;
      quantise::write_decision(out, *decision);
      cache->keep(runtime::PlanCache::Kind::precision, key, out.bytes(), {});
    }
  }
  quantise::Decided decided = quantise::as_decided(model, options, *decision);
  chosen.model = std::move(decided.model);
  chosen.options = std::move(decided.compile);
  chosen.report = decision->report;
  if (decision->precision == Precision::int8) chosen.recipe = decision->recipe;
  return chosen;
}

}  // namespace saccade::pipeline
