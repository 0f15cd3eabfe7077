// `saccade evaluate`: masks beside labels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agreement_output.h"
#include "base/counted.h"
#include "base/json_text.h"
#include "command.h"
#include "saccade/compare.h"
#include "setting_options.h"

namespace saccade::cli {

namespace {

using Json = nlohmann::ordered_json;

void evaluate(const CLI::App& command) {
  const settings::Effective said = effective_settings(command, settings::kRun);
  EvaluateOptions options;
  options.job = agreement_job(said, "saccade evaluate PICTURES --labels DIR");
  refuse_on_command_line(said, {"output", "overwrite"}, "here: no file is written");
  options.labels = options.job.labels;
  if (options.labels.empty())
    throw UsageError("no labels are named; usage: saccade evaluate PICTURES --labels DIR");
  options.job.labels.clear();
  const EvaluateReport report = saccade::evaluate(options);
  if (said.flag("json")) {
    Json json = {{"pictures", report.pictures.size()}, {"all", agreement_json(report.all)}};
    if (report.class_mean_iou) json["class_mean_iou"] = *report.class_mean_iou;
    json["precision"] = precision_name(report.job.precision.used);
    Json pictures = Json::array();
    for (const PictureAgreement& each : report.pictures) {
      Json entry = {{"picture", each.picture.string()}};
      entry.update(agreement_json(each.masks));
      pictures.push_back(std::move(entry));
    }
    json["per_picture"] = std::move(pictures);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  if (!said.flag("quiet"))
    for (const PictureAgreement& each : report.pictures)
      fmt::print("{}: IoU {:.4f}, boundary F {:.4f}, MAE {:.4f}\n", each.picture.string(), each.masks.iou,
                 each.masks.boundary_f, each.masks.mae);
  fmt::print("{}\n{}", counted(report.pictures.size(), "picture"), agreement_text(report.all));
  if (report.class_mean_iou)
    fmt::print("{:<22}{:.4f}  (over classes, at the network's size)\n", "mean IoU of classes",
               *report.class_mean_iou);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("evaluate", "Compare the masks of a model with labels.");
  add_settings(*command, settings::kRun);
  command->callback([command] { evaluate(*command); });
}

}  // namespace saccade::cli
