#include "agreement_output.h"

#include <fmt/format.h>

#include <system_error>

#include "command.h"
#include "find_model.h"
#include "overwrite.h"
#include "plan_options.h"
#include "saccade/error.h"
#include "setting_options.h"

namespace saccade::cli {

const std::vector<std::string>& without_use_for_masks() {
  static const std::vector<std::string> names = {
      "list",           "recursive",    "jobs",       "output-format", "sequence",          "mask-output",
      "mask-depth",     "jpeg-quality", "resumable",  "resume",        "segment-seconds",   "effect",
      "strength",       "opacity",      "background", "decontaminate", "encoder",           "encoder-threads",
      "encoder-option", "crf",          "preset",     "dry-run",       "detect-bottlenecks"};
  return names;
}

JobOptions agreement_job(const settings::Effective& said, const std::string& usage) {
  JobOptions job;
  job.plan_cache.enabled = true;
  if (said.values("input").size() != 1) throw UsageError("one input is needed; usage: " + usage);
  refuse_search(said);
  refuse_on_command_line(said, without_use_for_masks(), "here: only masks are made, and no file of them");
  as_usage([&] { said.apply(job); });
  job.input = said.values("input").front();
  job.output.clear();
  if (job.max_isa) job.max_isa = usable_isa(isa_name(*job.max_isa));
  job.model = find_model(said.text("model"));
  if (std::string file = said.text("config"); !file.empty()) job.protect.emplace_back(std::move(file));
  return job;
}

void require_free_folder(const std::filesystem::path& folder, bool overwrite,
                         const std::vector<std::filesystem::path>& read) {
  std::error_code none;
  std::vector<NamedOutput> pictures;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("worst-"))
      pictures.push_back({entry.path(), "picture of a frame"});
  for (const NamedOutput& picture : pictures) require_free({picture}, overwrite, read);
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
