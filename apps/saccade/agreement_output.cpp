#include "agreement_output.h"

#include <fmt/format.h>

#include <system_error>

#include "command.h"
#include "find_model.h"
#include "plan_options.h"
#include "saccade/error.h"
#include "setting_options.h"

namespace saccade::cli {

JobOptions agreement_job(const settings::Effective& said, const std::string& usage) {
const std::vector<std::string>& without_use_for_masks() {
  static const std::vector<std::string> names = {
      "list",           "recursive",    "jobs",       "output-format", "sequence",          "mask-output",
      "mask-depth",     "jpeg-quality", "resumable",  "resume",        "segment-seconds",   "effect",
      "strength",       "opacity",      "background", "decontaminate", "encoder",           "encoder-threads",
      "encoder-option", "crf",          "preset",     "dry-run",       "detect-bottlenecks"};
  return names;
}

  JobOptions job;
  job.plan_cache.enabled = true;
  if (said.values("input").size() != 1) throw UsageError("one input is needed; usage: " + usage);
  refuse_search(said);
  as_usage([&] { said.apply(job); });
  refuse_on_command_line(said, without_use_for_masks(), "here: only masks are made, and no file of them");
  job.input = said.values("input").front();
  job.output.clear();
  if (job.max_isa) job.max_isa = usable_isa(isa_name(*job.max_isa));
  job.model = find_model(said.text("model"));
  return job;
}

std::filesystem::path agreement_folder(const settings::Effective& said) {
  const std::filesystem::path folder = said.text("output");
  if (folder.empty()) return folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(ErrorCode::io,
                fmt::format("{}: cannot create the folder: {}", folder.string(), error.message()));
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (said.flag("overwrite") || !entry.path().filename().string().starts_with("worst-")) continue;
    throw Error(ErrorCode::invalid_argument,
                entry.path().string() + ": exists already; use --overwrite to replace such pictures");
  }
  return folder;
}

nlohmann::ordered_json agreement_json(const MaskAgreement& a) {
  return {{"iou", a.iou},         {"mean_iou", a.mean_iou}, {"dice", a.dice}, {"boundary_f", a.boundary_f},
          {"changed", a.changed}, {"mae", a.mae},           {"mse", a.mse},   {"sad", a.sad}};
}

std::string agreement_text(const MaskAgreement& a) {
  std::string text;
  const auto line = [&](const char* name, double value, const char* note) {
    text += fmt::format("{:<22}{:.4f}{}\n", name, value, note);
  };
  line("IoU", a.iou, "");
  line("mean IoU", a.mean_iou, "  (of foreground and background)");
  line("Dice", a.dice, "");
  line("boundary F", a.boundary_f, "");
  text += fmt::format("{:<22}{:.4f} %\n", "pixels changed", 100 * a.changed);
  line("MAE", a.mae, "  (of alpha)");
  line("SAD", a.sad, "  (thousands a picture)");
  return text;
}

}  // namespace saccade::cli
