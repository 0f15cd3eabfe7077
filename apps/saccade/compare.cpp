// `saccade compare`: two models, precisions or settings on the same input, frame by frame and layer by layer.
#include "saccade/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "agreement_output.h"
#include "base/counted.h"
#include "base/json_text.h"
#include "command.h"
#include "find_model.h"
#include "made_folder.h"
#include "pipeline/job.h"
#include "plan_options.h"
#include "run_many.h"
#include "saccade/error.h"
#include "setting_options.h"
#include "settings/nearest.h"

namespace saccade::cli {

namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::string> with;
  int worst = 3, layer_pictures = 2;
  bool layers = true;
};

/// Changes one setting of the other side.
void change(JobOptions& job, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--with '" + text + "' is not SETTING=VALUE, like precision=int8");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  const settings::Setting* setting = settings::find(name, settings::kRun);
  if (setting == nullptr || setting->apply == nullptr) {
    std::vector<std::string> names;
    for (const settings::Setting& each : settings::table())
      if ((each.commands & settings::kRun) != 0 && each.apply != nullptr) names.emplace_back(each.name);
    const std::string best = settings::nearest(name, names);
    throw UsageError(fmt::format("--with {}: '{}' is no setting{}", text, name,
                                 best.empty() ? "" : "; did you mean '" + best + "'?"));
  }
  const std::vector<std::string>& useless = without_use_for_masks();
  if (name == "output" || name == "overwrite" ||
      std::find(useless.begin(), useless.end(), name) != useless.end())
    throw UsageError(fmt::format("--with {}: {} changes no mask", text, name));
  settings::Values values{value};
  if (setting->commas) values = settings::split_commas(value);
  for (const std::string& each : values)
    if (const std::string problem = settings::problem_with(*setting, each); !problem.empty())
      throw UsageError(fmt::format("--with {}: {}", text, problem));
  as_usage([&] { setting->apply(job, values); });
  if (name == "model") job.model = find_model(value);
  if (name == "isa") job.max_isa = usable_isa(value);
}

/// What both jobs had to say, each thing once.
std::vector<std::string> notices_of(const CompareReport& report) {
  std::vector<std::string> notices = report.reference.notices;
  for (const std::string& notice : report.other.notices)
    if (std::find(notices.begin(), notices.end(), notice) == notices.end()) notices.push_back(notice);
  return notices;
}

Json json_of(const CompareReport& report) {
  Json json = {{"frames", report.frames.size()}, {"all", agreement_json(report.all)}};
  if (report.class_change) json["class_change"] = *report.class_change;
  json["precision"] = {{"reference", precision_name(report.reference.precision.used)},
                       {"other", precision_name(report.other.precision.used)}};
  json["model"] = {{"reference", report.reference.spec.name}, {"other", report.other.spec.name}};
  Json frames = Json::array();
  for (const FrameAgreement& frame : report.frames) {
    Json entry = {{"frame", frame.frame}};
    entry.update(agreement_json(frame.masks));
    frames.push_back(std::move(entry));
  }
  json["per_frame"] = std::move(frames);
  json["worst"] = report.worst;
  Json pictures = Json::array();
  for (const std::filesystem::path& path : report.pictures) pictures.push_back(path.string());
  json["pictures"] = std::move(pictures);
  Json layers = Json::array();
  for (const LayerAgreement& layer : report.layers)
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op},
                      {"own_error", layer.own},
                      {"total_error", layer.total}});
  json["layers"] = std::move(layers);
  json["unmatched_layers"] = report.unmatched_layers;
  json["suspects"] = report.suspects;
  if (!report.layers_note.empty()) json["layers_note"] = report.layers_note;
  json["notices"] = notices_of(report);
  return json;
}

void print_layers(const CompareReport& report) {
  if (!report.layers_note.empty()) fmt::print("layers: {}\n", report.layers_note);
  if (report.layers.empty()) return;
  constexpr std::size_t kShown = 10;
  std::vector<const LayerAgreement*> order;
  for (const LayerAgreement& layer : report.layers) order.push_back(&layer);
  std::stable_sort(order.begin(), order.end(),
                   [](const LayerAgreement* a, const LayerAgreement* b) { return a->own > b->own; });
  fmt::print(
      "\n{} layers, each fed with what the reference computes in front of it{}; largest own errors:\n",
      report.layers.size(),
      report.unmatched_layers > 0 ? fmt::format(" ({} have no counterpart)", report.unmatched_layers) : "");
  fmt::print("{:<48} {:<16} {:>10} {:>10}\n", "layer", "operator", "own", "total");
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i)
    fmt::print("{:<48} {:<16} {:>10.3g} {:>10.3g}\n", order[i]->name, order[i]->op, order[i]->own,
               order[i]->total);
  if (report.suspects.empty()) {
    fmt::print("no layer stands out\n");
  } else {
    fmt::print("stands out: {}\n", report.suspects.front());
    for (std::size_t i = 1; i < std::min(kShown, report.suspects.size()); ++i)
      fmt::print("            {}\n", report.suspects[i]);
  }
}

void compare(const CLI::App& command, const CompareArguments& a) {
  const settings::Effective said = effective_settings(command, settings::kRun);
  CompareOptions options;
  options.reference = agreement_job(said, "saccade compare INPUT --with SETTING=VALUE");
  options.other = options.reference;
  require_one_video(options.reference.input.string(), "compare takes one video or picture");
  if (a.with.empty())
    throw UsageError(
        "nothing differs: name what does with --with SETTING=VALUE, like precision=int8 or model=FILE");
  std::set<std::string> changed;
  for (const std::string& text : a.with) {
    const std::string name = text.substr(0, text.find('='));
    const settings::Setting* setting = settings::find(name, settings::kRun);
    const bool adds =
        setting != nullptr && setting->many && !setting->commas;  // --with limit=A --with limit=B
    if (!changed.insert(name).second && !adds) throw UsageError("--with " + name + " is said twice");
    change(options.other, text);
  }
  if (options.reference.frames) options.frames = *options.reference.frames;
  options.worst = a.worst;
  options.worst_folder = said.text("output");
  std::optional<MadeFolder> made;
  if (!options.worst_folder.empty()) {
    std::vector<std::filesystem::path> read = pipeline::files_to_protect(options.reference);
    for (std::filesystem::path& file : pipeline::files_to_protect(options.other))
      read.push_back(std::move(file));
    require_free_folder(options.worst_folder, said.flag("overwrite"), read);
    made.emplace(options.worst_folder);
  }
  options.layer_pictures = a.layers ? a.layer_pictures : 0;
  const CompareReport report = saccade::compare(options);
  if (said.flag("json")) {
    fmt::print("{}\n", json_text(json_of(report), 2));
    return;
  }
  std::string changes;
  for (const std::string& text : a.with) changes += (changes.empty() ? "" : ", ") + text;
  fmt::print("{}, the other side with {}\n", counted(report.frames.size(), "frame"), changes);
  for (const std::string& notice : notices_of(report)) fmt::print("note    {}\n", notice);
  fmt::print("{}", agreement_text(report.all));
  if (report.class_change)
    fmt::print("{:<22}{:.4f} % of the network's pixels\n", "other class", 100 * *report.class_change);
  for (std::size_t i = 0; i < report.worst.size(); ++i) {
    const FrameAgreement& frame = report.frames[static_cast<std::size_t>(report.worst[i])];
    fmt::print("worst frame {:<10}IoU {:.4f}, {:.3f} % of pixels changed{}\n", frame.frame, frame.masks.iou,
               100 * frame.masks.changed,
               i < report.pictures.size() ? ": " + report.pictures[i].string() : std::string());
  }
  print_layers(report);
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare two models, precisions or settings on the same input, layer by layer too.");
  auto arguments = std::make_shared<CompareArguments>();
  command
      ->add_option("--with", arguments->with,
                   "What differs on the other side: precision=int8, model=FILE; may be repeated")
      ->type_name("SETTING=VALUE")
      ->expected(1)
      ->take_all();
  command->add_option("--worst", arguments->worst, "Frames that differ most, drawn into the folder --output")
      ->check(CLI::Range(0, 1000));
  command->add_flag("--layers,!--no-layers", arguments->layers, "Compare layers too (the default)");
  command->add_option("--layer-pictures", arguments->layer_pictures, "Pictures that layers are compared on")
      ->check(CLI::Range(1, 64));
  add_settings(*command, settings::kRun);
  command->callback([command, arguments] { compare(*command, *arguments); });
}

}  // namespace saccade::cli
